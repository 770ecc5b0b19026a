"""TGFF, STG and WfCommons files: read, and refused with a place when they are not of the form."""

from __future__ import annotations

import json

import pytest

from headway.errors import FileError, Place, Problem
from headway.files.graph_draft import Draft
from headway.files.load_graphs import parse_graph
from headway.model.taskgraph import CycleError, UnknownTaskError

TGFF = """\
# as TGFF 3.5 writes it
@HYPERPERIOD 1275
@TASK_GRAPH 0 {
\tPERIOD 1275

\tTASK t0_0\tTYPE 1
\tTASK t0_1\tTYPE 0

\tARC a0_0 \tFROM t0_0  to  t0_1 TYPE 2
\tHARD_DEADLINE d0_0 ON t0_1 AT 400
}
@TASK_GRAPH 1 {
\tPERIOD 2550
\tTASK t1_0\tTYPE 1
}
@CPU 0 {
# price
95.5
#----------------
# type  exec_time
0 61.5
1 53
}
@COMMUN 0 {
# type exec_time
2 7.25
}
"""
STG = """\
         3
         0          0          0
         1         20          1          0
         2          5          1          1
         3          8          2          1          2
         4          0          1          3
# Standard Task Graph Set Project
"""


def test_tgff() -> None:
    graph = parse_graph(TGFF, "a.tgff").graph
    found = [(task.name, task.work, task.period, task.deadline) for task in graph.tasks]
    assert found == [
        ("t0_0", 53.0, 1275.0, None),
        ("t0_1", 61.5, 1275.0, 400.0),
        ("t1_0", 53.0, 2550.0, None),
    ]
    assert [(e.sender, e.receiver, e.volume) for e in graph.edges] == [("t0_0", "t0_1", 7.25)]


def test_tgff_names_that_stand_in_several_graphs_get_the_graphs_number() -> None:
    graph = parse_graph(TGFF.replace("t1_0", "t0_0"), "a.tgff").graph
    assert [task.name for task in graph.tasks] == ["g0_t0_0", "g0_t0_1", "g1_t0_0"]


def test_the_tables_of_e3s() -> None:
    """Columns by name, quantities without a header, rows that are not valid."""
    text = """\
@COMMUN_QUANT 0 {
2 4E3
}
@TASK_GRAPH 0 {
PERIOD 0.0009
TASK src TYPE 1
TASK sink TYPE 0
ARC a FROM src TO sink TYPE 2
}
@PROC 0 {
# price buffered
33 0
# type version valid task_time preempt_time
0 0 1 0.5 0.1
1 0 0 9 0.1
}
@PROC 1 {
# type version valid task_time preempt_time
1 0 1 0.25 0.1
}
"""
    graph = parse_graph(text, "e.tgff").graph
    assert [task.work for task in graph.tasks] == [0.25, 0.5]
    assert (graph.edges[0].volume, graph.period) == (4000.0, 0.0009)


def test_stg_without_and_with_communication_costs() -> None:
    graph = parse_graph(STG, "s.stg").graph
    assert [(task.name, task.work) for task in graph.tasks] == [("t1", 20), ("t2", 5), ("t3", 8)]
    assert [(e.sender, e.receiver) for e in graph.edges] == [
        ("t1", "t2"),
        ("t1", "t3"),
        ("t2", "t3"),
    ]
    with_costs = "2\n0 0 0\n1 3 1 0 0\n2 4 1 1 9\n3 0 1 2 0\n"
    assert parse_graph(with_costs, "s.stg").graph.edges[0].volume == 9


WORKFLOW = {
    "name": "flow",
    "schemaVersion": "1.5",
    "workflow": {
        "specification": {
            "tasks": [
                {"id": "a", "name": "A", "parents": [], "children": ["b"], "outputFiles": ["f"]},
                {"id": "b", "name": "B", "parents": ["a"], "children": [], "inputFiles": ["f"]},
            ],
            "files": [{"id": "f", "sizeInBytes": 3_000_000}],
        },
        "execution": {
            "tasks": [{"id": "a", "runtimeInSeconds": 2.5}, {"id": "b", "runtimeInSeconds": 0}]
        },
    },
}
OLD_WORKFLOW = {
    "name": "flow",
    "workflow": {
        "tasks": [
            {
                "name": "a",
                "runtime": 2.5,
                "files": [{"link": "output", "name": "f", "size": 3_000_000}],
                "children": ["b"],
            },
            {
                "name": "b",
                "runtime": 0,
                "files": [{"link": "input", "name": "f", "size": 3_000_000}],
            },
        ]
    },
}


@pytest.mark.parametrize("workflow", [WORKFLOW, OLD_WORKFLOW])
@pytest.mark.parametrize("indent", [None, 2, "\t"])
def test_wfcommons(workflow: dict[str, object], indent: int | str | None) -> None:
    graph = parse_graph(json.dumps(workflow, indent=indent), "w.json").graph
    assert [(task.name, task.work) for task in graph.tasks] == [("a", 2.5), ("b", 0.0)]
    assert [(e.sender, e.receiver, e.volume) for e in graph.edges] == [("a", "b", 3.0)]


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("", "a.tgff", "a.tgff:1:1: no task graph in this file"),
        ("@TASK_GRAPH 0 {\nTASK a\n}", "a.tgff", "a.tgff:2:1: no 'TYPE' with a word after it"),
        ("@TASK_GRAPH 0 {\nTASK a TYPE x\n}", "a.tgff", "a.tgff:2:13: not a type; got 'x'"),
        ("@TASK_GRAPH 0 {\nTASK a TYPE 0\n", "a.tgff", "a.tgff:2:1: a block is not closed"),
        ("TASK a TYPE 0\n", "a.tgff", "a.tgff:1:1: outside a block"),
        (
            "@TASK_GRAPH 0 {\nTASK a TYPE 0\nTASK a TYPE 0\n}",
            "a.tgff",
            "a.tgff:3:6: the task 'a' stands twice; keep one; the other is at line 2, column 6",
        ),
        (
            "@TASK_GRAPH 0 {\nTASK a TYPE 0\nHARD_DEADLINE d ON b AT 3\n}",
            "a.tgff",
            "a.tgff:3:20: a deadline on an unknown task; got 'b'",
        ),
        ("", "a.stg", "a.stg:1:1: the file is empty"),
        ("x\n", "a.stg", "a.stg:1:1: not the number of tasks; got 'x'"),
        ("1\n1 2\n", "a.stg", "a.stg:2:1: a line is too short"),
        ("1\n1 2 3 4\n", "a.stg", "a.stg:2:5: the number of predecessors does not fit"),
        ("5\n1 2 0\n", "a.stg", "a.stg:1:1: the number of tasks does not fit the 1 lines"),
        ('{"workflow": 3}', "a.json", "a.json:1:14: no mapping 'workflow'"),
        ('{"workflow": {}}', "a.json", "a.json:1:14: no list 'tasks'"),
        ('{"workflow": {"tasks": [{}]}}', "a.json", "a.json:1:25: no 'id'"),
        (
            '{"workflow": {"tasks": [{"id": "a", "runtime": -1}]}}',
            "a.json",
            "a.json:1:48: not a number of at least 0",
        ),
        (
            '{"workflow": {"tasks": [{"id": "a", "runtime": .nan}]}}',
            "a.json",
            "a.json:1:48: the number is not finite; got .nan",
        ),
        (
            '{"workflow": {"tasks": [{"id": "a", "runtime": 1e300}]}}',
            "a.json",
            "a.json:1:48: too large a number; got 1e300; write a number from 0 to 1e+12",
        ),
        (
            '{"workflow": {"tasks": [{"id": "a", "runtime": 1, "files":'
            ' [{"id": "f", "size": 1e19}]}]}}',
            "a.json",
            "a.json:1:81: too large a number; got 1e19; write a number from 0 to 1e+18",
        ),
        ("1\n1 1e300 0\n", "a.stg", "a.stg:2:3: too large for a processing time; got '1e300'"),
        (
            "@TASK_GRAPH 0 {\nPERIOD 1e300\nTASK a TYPE 0\n}",
            "a.tgff",
            "a.tgff:2:8: too large for a period; got '1e300'",
        ),
        (
            '{"workflow": {"specification": {"tasks": [{"id": "a"}]}}}',
            "a.json",
            "a.json:1:43: the task 'a' has no running time; give its 'runtimeInSeconds' in"
            " 'execution' of the workflow",
        ),
        (
            '{"workflow": {"specification": {"tasks": [{"id": "a"}]}, "execution":'
            ' {"tasks": [{"id": "a"}]}}}',
            "a.json",
            "a.json:1:43: the task 'a' has no running time",
        ),
        (
            '{"workflow": {"tasks": [{"id": "a"}]',
            "a.json",
            "a.json:1:37: not JSON: expecting ',' delimiter; see json.org for the form",
        ),
        (
            '{"graph": "g",\n "tasks": {"a": "\x01"}}',
            "a.json",
            "a.json:2:18: not JSON: invalid control character at; see json.org for the form",
        ),
        ('{"graph": [', "a.yaml", "a.yaml:1:12: not YAML: "),
    ],
)
def test_what_is_not_of_the_form(text: str, name: str, message: str) -> None:
    with pytest.raises(FileError) as caught:
        parse_graph(text, name)
    assert str(caught.value).startswith(message)


def test_what_is_of_the_form_but_no_graph() -> None:
    with pytest.raises(UnknownTaskError, match=r"s\.stg:3:7: edges\.t9->t2: unknown task"):
        parse_graph("2\n1 1 0\n2 1 1 9\n", "s.stg")
    with pytest.raises(CycleError, match=r"s\.stg:3:7: edges: tasks wait"):
        parse_graph("2\n1 1 1 2\n2 1 1 1\n", "s.stg")
    with pytest.raises(UnknownTaskError, match=r"w\.json:1:\d+: edges\.a->x: unknown task"):
        parse_graph(
            '{"workflow": {"tasks": [{"id": "a", "runtime": 1, "children": ["x"]}]}}', "w.json"
        )


HEAD = "@TASK_GRAPH 0 {\nTASK a TYPE 0\nTASK b TYPE 0\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        # words that are missing, or at the end where another should follow
        (HEAD + "TASK\n}", "a.tgff:4:1: no 'TASK' with a word after it; got 'TASK'"),
        (HEAD + "ARC x FROM a TO\n}", "a.tgff:4:1: no 'TO' with a word after it"),
        (HEAD + "ARC x TO b TYPE 0\n}", "a.tgff:4:1: no 'FROM' with a word after it"),
        (HEAD + "HARD_DEADLINE d ON a\n}", "a.tgff:4:1: no 'AT' with a word after it"),
        (HEAD + "SOFT_DEADLINE d AT 3\n}", "a.tgff:4:1: no 'ON' with a word after it"),
        (HEAD + "PERIOD\n}", "a.tgff:4:1: no 'PERIOD' with a word after it"),
        # words that are no numbers, or none of the kind
        (HEAD + "PERIOD -1\n}", "a.tgff:4:8: not a period; got '-1'"),
        (HEAD + "PERIOD 1_0\n}", "a.tgff:4:8: not a period; got '1_0'"),
        (HEAD + "PERIOD inf\n}", "a.tgff:4:8: not a period; got 'inf'"),
        (HEAD + "TASK c TYPE 1.0\n}", "a.tgff:4:13: not a type; got '1.0'"),
        (HEAD + "TASK c TYPE -1\n}", "a.tgff:4:13: not a type; got '-1'"),
        (HEAD + "ARC x FROM a TO b TYPE z\n}", "a.tgff:4:24: not a type; got 'z'"),
        # lines and blocks that are out of place
        (HEAD + "WORK 3\n}", "a.tgff:4:1: not a line of a task graph; got 'WORK'"),
        (HEAD + "@CPU 0 {\n}", "a.tgff:4:1: a block inside another; got '@CPU'"),
        (HEAD + "}\n}\nTASK c TYPE 0", "a.tgff:6:1: outside a block"),
        # tables
        (
            HEAD + "}\n@CPU 0 {\n# type time\n0\n}",
            "a.tgff:7:1: a row of 1 numbers under 2 columns; got '0'; write type time",
        ),
        (
            HEAD + "}\n@CPU 0 {\n# type time\n0 1 2\n}",
            "a.tgff:7:1: a row of 3 numbers under 2 columns",
        ),
        (HEAD + "}\n@CPU 0 {\n# type time\n0 x\n}", "a.tgff:7:3: not a number of a table"),
        (HEAD + "}\n@CPU 0 {\n# type time\n0.5 1\n}", "a.tgff:7:1: not a type; got '0.5'"),
    ],
)
def test_malformed_words_of_tgff(text: str, message: str) -> None:
    with pytest.raises(FileError) as caught:
        parse_graph(text, "a.tgff")
    assert str(caught.value).startswith(message)


def test_what_tgff_may_leave_out() -> None:
    """No table: 1 for works and volumes. Words in any case. A table's comment that names nothing, a
    row before the columns, and one that is not valid are read over; the first table wins."""
    graph = parse_graph(HEAD + "arc x from a to b type 3\naperiodic\n}", "a.tgff").graph
    assert [task.work for task in graph.tasks] == [1.0, 1.0]
    assert [edge.volume for edge in graph.edges] == [1.0]
    tables = (
        "}\n@WIRING 0 {\n0 9\n}\n@CPU 0 {\n# made by hand\n7 7 7\n# TYPE | VALID | SPEED | SIZE\n"
        "0 1 2 3\n0 0 2 4\n}\n@CPU 1 {\n# type size\n0 5\n}\n"
    )
    graph = parse_graph(HEAD + "ARC x FROM a TO b TYPE 0\n" + tables, "a.tgff").graph
    assert [task.work for task in graph.tasks] == [3.0, 3.0]
    assert [edge.volume for edge in graph.edges] == [9.0]
    named = "}\n@CPU 0 {\n# type price speed\n0 8 2\n}\n"
    graph = parse_graph(HEAD + named, "a.tgff").graph
    assert [task.work for task in graph.tasks] == [8.0, 8.0], "the first column after the type"


def test_periods_of_tgff() -> None:
    """One period of all graphs is the graph's; where they differ each task has its own."""
    two = (
        "@TASK_GRAPH 0 {\nPERIOD 5\nTASK a TYPE 0\n}\n@TASK_GRAPH 1 {\nPERIOD %d\nTASK b TYPE 0\n}"
    )
    same = parse_graph(two % 5, "a.tgff").graph
    assert (same.period, [task.period for task in same.tasks]) == (5.0, [None, None])
    other = parse_graph(two % 6, "a.tgff").graph
    assert (other.period, [task.period for task in other.tasks]) == (None, [5.0, 6.0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2\n0 0 0\n1 1 0\n2 1 0\n3 5 0\n", "s.stg:5:3: a dummy task takes time; got '5'"),
        ("2\n0 5 0\n1 1 0\n2 1 0\n3 0 0\n", "s.stg:2:3: a dummy task takes time; got '5'"),
        ("0\n", "s.stg:1:1: not the number of tasks; got '0'; write a whole number of at least 1"),
        ("2\n1 1 0\n1 1 0\n", "s.stg:1:1: the number of tasks does not fit the 2 lines"),
        ("2\n1 1 0\n2 1 0\n3 1 0\n", "s.stg:1:1: the number of tasks does not fit the 3 lines"),
        ("1\n1 1 1 1 1 1\n", "s.stg:2:5: the number of predecessors does not fit the 3 numbers"),
        ("2\n1 1 0\n2 1 1 1 x\n", "s.stg:3:9: not a communication cost; got 'x'"),
        ("1\n1 nan 0\n", "s.stg:2:3: not a processing time; got 'nan'"),
    ],
)
def test_malformed_words_of_stg(text: str, message: str) -> None:
    with pytest.raises(FileError) as caught:
        parse_graph(text, "s.stg")
    assert str(caught.value).startswith(message)


def of_one_task(**task: object) -> str:
    return json.dumps({"workflow": {"tasks": [{"id": "a", "runtime": 1, **task}]}})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (of_one_task(runtime=True), "not a number of at least 0"),
        (of_one_task(runtime="1"), "not a number of at least 0"),
        (of_one_task(runtime=[1]), "not a number of at least 0"),
        (of_one_task(runtime=1.1e12), "too large a number; got 1100000000000.0"),
        (of_one_task(parents="b"), "'parents' must be a list"),
        (of_one_task(children=[[]]), "'children' must list names"),
        (of_one_task(children=[""]), "'children' must list names"),
        (of_one_task(inputFiles={"f": 1}), "'inputFiles' must be a list"),
        (of_one_task(files=[3]), "an entry of 'files' is no mapping"),
        (of_one_task(files=[{"size": 1}]), "no 'id'"),
        (of_one_task(files=[{"id": "f", "size": -1}]), "not a number of at least 0"),
        (of_one_task(files=[{"id": "f", "link": [], "size": 1}]), "'link' must be text"),
        (of_one_task(id=""), "'id' must be text"),
        ('{"workflow": {"tasks": [3]}}', "an entry of 'tasks' is no mapping"),
        ('{"workflow": {"tasks": 3}}', "no list 'tasks'"),
        ('{"workflow": {"specification": 3}}', "a mapping is wanted"),
        ('{"name": [], "workflow": {"tasks": []}}', "'name' must be text"),
        (
            '{"workflow": {"specification": {"tasks": [], "files": 3}}}',
            "no list 'files'",
        ),
        (
            '{"workflow": {"specification": {"tasks": []}, "execution": {"tasks": {}}}}',
            "no list 'tasks'",
        ),
    ],
)
def test_malformed_words_of_wfcommons(text: str, message: str) -> None:
    with pytest.raises(FileError) as caught:
        parse_graph(text, "w.json")
    (problem,) = caught.value.problems
    assert f"{problem.what}; got {problem.got}".startswith(message)
    assert problem.place is not None
    assert problem.place.line == 1


def test_what_wfcommons_may_leave_out() -> None:
    """A running time of 1e12 is the largest; a file without a size carries nothing; files that only
    one of two reads or writes are no message; an edge that both tell of is one."""
    text = json.dumps(
        {
            "workflow": {
                "tasks": [
                    {
                        "name": "a",
                        "runtime": 1e12,
                        "children": ["b"],
                        "files": [
                            {"link": "output", "name": "f"},
                            {"link": "output", "name": "g", "size": 2_000_000},
                            {"link": "output", "name": "h", "size": 500_000},
                            {"link": "output", "name": "of a alone", "size": 7_000_000},
                        ],
                    },
                    {
                        "name": "b",
                        "runtime": 1,
                        "parents": ["a"],
                        "files": [
                            {"link": "input", "name": "f"},
                            {"link": "input", "name": "g", "size": 2_000_000},
                            {"link": "input", "name": "h", "size": 500_000},
                            {"link": "input", "name": "of b alone", "size": 9_000_000},
                        ],
                    },
                ]
            }
        }
    )
    graph = parse_graph(text, "w.json").graph
    assert graph.name == "workflow"
    assert [(task.name, task.work) for task in graph.tasks] == [("a", 1e12), ("b", 1.0)]
    assert [(e.sender, e.receiver, e.volume) for e in graph.edges] == [("a", "b", 2.5)]


def test_the_longest_name() -> None:
    text = "@TASK_GRAPH 0 {\nTASK %s TYPE 0\n}"
    assert parse_graph(text % ("a" * 120), "a.tgff").graph.tasks[0].name == "a" * 120
    with pytest.raises(FileError, match=r"a\.tgff:2:6: not a name; .* use at most 120 printable"):
        parse_graph(text % ("a" * 121), "a.tgff")


def test_a_problem_of_a_part_that_stands_nowhere_is_at_the_beginning() -> None:
    draft = Draft("g.stg", name="g")
    draft.places["tasks.a"] = Place("g.stg", 7, 3)
    known, part, unknown = draft.attach_all(
        [Problem("one", at="tasks.a"), Problem("two", at="tasks.a.work"), Problem("x", at="links")]
    )
    assert (known.place, part.place) == (Place("g.stg", 7, 3), Place("g.stg", 7, 3))
    assert unknown.place == Place("g.stg", 1, 1)
