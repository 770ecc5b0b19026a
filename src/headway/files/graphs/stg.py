"""STG: the Standard Task Graph Set of Waseda University.

http://www.kasahara.cs.waseda.ac.jp/schedule/format_e.html. The first number counts the tasks,
without the dummy entry and exit. A line for each task follows: number, processing time, how many
predecessors, their numbers; in files with communication costs a cost follows each predecessor's
number. ``#`` starts a comment.
"""

from __future__ import annotations

from headway.errors import FileError, Place, Problem
from headway.files.graphs.draft import Draft
from headway.files.graphs.words import Word, lines_of_words
from headway.model.taskgraph import Edge, Task


def read_stg(text: str, file: str, *, volume: float = 0.0) -> Draft:
    """The graph, its dummy tasks left out; ``volume`` is for messages without a cost."""
    lines = list(lines_of_words(text, file))
    if not lines:
        raise FileError(
            Problem(
                "the file is empty", place=Place(file, 1, 1), want="start with the number of tasks"
            )
        )
    count = lines[0][0].whole("the number of tasks", least=1)
    numbered = {_task(line): line for line in lines[1:]}
    with_dummies = len(lines) == count + 3
    if len(lines) - 1 not in (count, count + 2) or len(numbered) != len(lines) - 1:
        raise lines[0][0].refusal(
            f"the number of tasks does not fit the {len(lines) - 1} lines that follow",
            "write a line for each task, with or without a dummy entry and a dummy exit",
        )
    first = min(numbered)
    dummies = {first, max(numbered)} if with_dummies else set()
    for dummy in sorted(dummies):
        if numbered[dummy][1].number("a processing time") != 0:
            raise numbered[dummy][1].refusal("a dummy task takes time", "write 0")
    draft = Draft(file, name=_stem(file))
    for number, line in numbered.items():
        if number not in dummies:
            work = line[1].number("a processing time")
            draft.add_task(Task(name=f"t{number}", work=work), line[0].place)
    for number, line in numbered.items():
        for sender, cost in _predecessors(line, volume):
            before = sender.whole("the number of a task")
            if number in dummies or before in dummies:
                continue
            edge = Edge(sender=f"t{before}", receiver=f"t{number}", volume=cost)
            draft.add_edge(edge, sender.place)
    return draft


def _task(line: list[Word]) -> int:
    if len(line) < 3:
        raise line[0].refusal(
            "a line is too short", "write number, processing time, number of predecessors"
        )
    return line[0].whole("the number of a task")


def _predecessors(line: list[Word], volume: float) -> list[tuple[Word, float]]:
    count, rest = line[2].whole("the number of predecessors"), line[3:]
    if len(rest) == count:
        return [(word, volume) for word in rest]
    if len(rest) == 2 * count:
        costs = [word.number("a communication cost") for word in rest[1::2]]
        return list(zip(rest[::2], costs, strict=True))
    raise line[2].refusal(
        f"the number of predecessors does not fit the {len(rest)} numbers that follow",
        "write that many task numbers, or pairs of a task number and a communication cost",
    )


def _stem(file: str) -> str:
    return file.replace("\\", "/").rpartition("/")[2].partition(".")[0] or "graph"
