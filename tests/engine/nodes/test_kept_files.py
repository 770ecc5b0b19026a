"""What is written down beside a node's outputs: torn, damaged, gone on with."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path

import pytest
from tests.engine.nodes.study import study_plan

from headway.engine.nodes.executables import slices_of
from headway.engine.nodes.kept_files import (
    DamagedFile,
    Journal,
    after_mark,
    sealed,
    unsealed,
    whole_lines,
)
from headway.engine.nodes.node_machine import THIS_MACHINE
from headway.engine.nodes.node_process import NodeProcess, NodeSettings
from headway.engine.nodes.node_records import EventLog
from headway.engine.nodes.node_slice import NodeSlice
from headway.engine.nodes.node_state import FORM, NodeState
from headway.engine.nodes.run_keeper import NONE, journals, read_taken
from headway.engine.nodes.wire_format import FrameKind, Sent, encode_mark
from headway.errors import FileError
from headway.model.quantities import SECOND


def journal(folder: Path) -> Journal:
    return Journal(THIS_MACHINE, folder / "n.taken.0")


def test_any_change_of_a_line_is_found() -> None:
    line = sealed('{"a": [1, 2.5, "text"]}')
    assert unsealed(line, Path("f")) == {"a": [1, 2.5, "text"]}
    for place in range(len(line) - 1):
        for bit in range(7):
            changed = line[:place] + chr(ord(line[place]) ^ 1 << bit) + line[place + 1 :]
            with pytest.raises(DamagedFile, match=r"^f: the checksum does not fit$"):
                unsealed(changed, Path("f"))


def test_a_line_cut_short_is_cut_off_in_the_file_too(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_text("one\ntwo\nthr")
    assert whole_lines(THIS_MACHINE, path, 4) == ("two\n", 8)
    assert path.read_text() == "one\ntwo\n"
    assert whole_lines(THIS_MACHINE, path) == ("one\ntwo\n", 8)
    assert whole_lines(THIS_MACHINE, tmp_path / "none") == ("", 0)


def test_only_what_was_flushed_is_there(tmp_path: Path) -> None:
    one = journal(tmp_path)
    one.begin(1)
    one.add(["clock", 5])
    one.flush()
    one.add(["clock", 6])
    one.close()
    assert journal(tmp_path).read() == ([["checkpoint", 1], ["clock", 5]], "")


def test_from_the_first_bad_line_on_nothing_is_believed_nor_kept(tmp_path: Path) -> None:
    one = journal(tmp_path)
    one.begin(1)
    for n in range(4):
        one.add(["clock", n])
    one.flush()
    one.close()
    lines = one.path.read_text().splitlines(keepends=True)
    one.path.write_text("".join([*lines[:3], lines[3].replace("clock", "block"), *lines[4:]]))
    entries, damage = journal(tmp_path).read()
    assert entries == [["checkpoint", 1], ["clock", 0], ["clock", 1]]
    assert damage == f"{one.path}: the checksum does not fit in line 4"
    assert journal(tmp_path).read() == (entries, "")


def test_what_stands_behind_the_mark_of_a_checkpoint() -> None:
    entries: list[list[object]] = [
        ["checkpoint", 1],
        ["a"],
        ["checkpoint", 2],
        ["b"],
        ["checkpoint", 3],
        ["c"],
    ]
    assert after_mark(entries, 1) == [["a"], ["b"], ["c"]]
    assert after_mark(entries, 2) == [["b"], ["c"]]
    assert after_mark(entries, 3) == [["c"]]
    assert after_mark(entries, 4) is None


def write(folder: Path, number: int, *entries: list[object]) -> None:
    one = journals(THIS_MACHINE, folder, "n")[number]
    (_, first), *rest = entries
    assert isinstance(first, int)
    one.begin(first)
    for entry in rest:
        one.add(entry)
    one.flush()
    one.close()


def test_a_checkpoint_that_was_begun_and_not_written_loses_nothing(tmp_path: Path) -> None:
    """The journal of the last one on disk is read first, whatever the files are called."""
    write(tmp_path, 1, ["checkpoint", 4], ["post", "mark", "s", 1, None])
    write(tmp_path, 0, ["checkpoint", 5], ["post", "mark", "s", 2, None])
    kept = read_taken(THIS_MACHINE, tmp_path, "n", 4)
    assert [entry[3] for entry in kept.entries] == [1, 2]
    assert (kept.journal, kept.alone, kept.last, kept.damage) == (0, False, 5, "")
    after = read_taken(THIS_MACHINE, tmp_path, "n", 5)
    assert [entry[3] for entry in after.entries] == [2]
    assert (after.journal, after.alone, after.last) == (0, True, 5)


def test_a_hole_in_the_first_journal_makes_the_second_one_useless(tmp_path: Path) -> None:
    write(tmp_path, 1, ["checkpoint", 4], ["post", 1], ["post", 2])
    write(tmp_path, 0, ["checkpoint", 5], ["post", 3])
    path = tmp_path / "n.taken.1"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(lines[0] + lines[1] + "0" + lines[2])
    kept = read_taken(THIS_MACHINE, tmp_path, "n", 4)
    assert kept.entries == [["post", 1]]
    assert (kept.journal, kept.last) == (1, 4)
    assert kept.damage == f"{path}: the checksum does not fit in line 3"
    assert not (tmp_path / "n.taken.0").exists()


def test_without_a_journal_a_checkpoint_is_no_more_than_itself(tmp_path: Path) -> None:
    kept = read_taken(THIS_MACHINE, tmp_path, "n", 4)
    assert (kept.entries, kept.journal) == ([], NONE)
    assert "nothing since checkpoint 4" in kept.damage


def beginning(part: NodeSlice, **changed: object) -> str:
    """A checkpoint of that node, as far as its form goes."""
    links = {"links": {}, "finished": [], "gaps": 0, "duplicates": 0}
    content: dict[str, object] = {
        "form": FORM,
        "number": 1,
        "fingerprint": part.fingerprint,
        "incarnation": "1",
        "epoch": 0,
        "start": 0,
        "seen": [0, 0],
        "run": {},
        "node": {"outputs": {}},
        "senders": {},
        "links": links,
    }
    return sealed(json.dumps(content | changed))


PART = slices_of(study_plan())[0]


def read(folder: Path, text: str | None) -> NodeState:
    if text is not None:
        (folder / f"{PART.node}.state").write_text(text)
    log = EventLog(PART.node)
    state = NodeState(THIS_MACHINE, folder, PART.node, PART.fingerprint, log, SECOND)
    state.read({stream.name: stream for stream in PART.wire_streams()})
    return state


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "there is none"),
        ("", "the checksum does not fit"),
        (beginning(PART)[:-20], "the checksum does not fit"),
        (sealed("[1]"), "TypeError"),
        (sealed("{}"), "KeyError('form')"),
        (beginning(PART, form=7), f"of form 7, not {FORM}"),
        (beginning(PART, fingerprint="another"), "of another plan"),
        (beginning(PART, senders={"a": 3}), "TypeError"),
        (beginning(PART, seen=[1]), "ValueError"),
    ],
)
def test_what_is_no_checkpoint_of_this_node_is_named_and_removed(
    text: str | None, why: str, tmp_path: Path
) -> None:
    state = read(tmp_path, text)
    assert state.kept is None
    (damage,) = state.damage
    assert damage.startswith(f"{tmp_path / PART.node}.state: ")
    assert why in damage
    assert not (tmp_path / f"{PART.node}.state").exists()


def test_what_was_given_is_new_only_beyond_that(tmp_path: Path) -> None:
    """As often as it was given, whatever the order; by stream."""
    stream = next(one for one in PART.wire_streams() if one.name == "near")
    row = Sent((1, 2, float("nan")), 3, False)
    mark = ["near", int(FrameKind.MARK), b64encode(encode_mark(77)).decode(), 0]
    frame = ["near", int(FrameKind.ROWS), b64encode(stream.codec.encode([row, row])).decode(), 2]
    sent = Journal(THIS_MACHINE, tmp_path / f"{PART.node}.sent")
    sent.begin(1)
    for entry in (mark, frame):
        sent.add(entry)
    sent.flush()
    sent.close()
    state = read(tmp_path, beginning(PART))
    assert state.kept is not None
    assert [state.is_new("near", row) for _ in range(3)] == [False, False, True]
    assert state.is_new("scaled", row)
    assert state.is_new("near", 78)
    assert not state.is_new("near", 77)
    assert state.is_new("near", None)
    assert (state.not_again, state.left_over()) == (3, 0)


def test_a_state_that_cannot_be_taken_up_is_said_in_words(tmp_path: Path) -> None:
    """Its checksum fits, but somebody else has written it."""
    (tmp_path / f"{PART.node}.state").write_text(beginning(PART))
    addresses = dict.fromkeys(("front", "rear", "centre"), ("127.0.0.1", 0))
    settings = NodeSettings(addresses=addresses, key=bytes(32), outputs=tmp_path, resume=True)
    process = NodeProcess(PART, settings)
    try:
        with pytest.raises(FileError, match="this state cannot be taken up: KeyError: 'kernel'"):
            process.run(0, 0)
    finally:
        process.log.close()
        assert process._peers is not None
        process._peers.finish()
