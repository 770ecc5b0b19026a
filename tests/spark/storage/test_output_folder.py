"""A batch's folder on stores that rename whole and on stores that do not: whole or not there, and
nothing touched that Headway did not write."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.spark.storage.hadoop_places import BUCKET, VIEWFS, mount

from headway.errors import FileError
from headway.spark.storage.file_stores import FileStore, NotThere, Publishing, file_store
from headway.spark.storage.locations import Location
from headway.spark.storage.output_folder import OutputFolder, complete_files

WAYS: dict[str, tuple[str, Publishing]] = {
    "local": ("local", Publishing.RENAME),
    "local, by manifest": ("local", Publishing.MANIFEST),
    VIEWFS: (VIEWFS, Publishing.RENAME),
    BUCKET: (BUCKET, Publishing.MANIFEST),
}


@dataclass(frozen=True)
class Where:
    """``folder`` is on this machine what ``at`` is in the store."""

    at: Location
    store: FileStore
    folder: Path

    def results(self, *names: str, force: bool = False, text: str = "result") -> None:
        with OutputFolder(self.at, self.store, force=force) as run:
            for name in names:
                self.write(run, name, text)
            run.write_summary({})

    def write(self, run: OutputFolder, name: str, text: str = "result") -> None:
        """As Spark does: files in a folder, none with a name that was there before."""
        self.store.write_whole(run.part(name) / f"part-{text}", text)

    def contents(self) -> dict[str, str]:
        files = [path for path in self.folder.rglob("*") if path.is_file()]
        plain = [path for path in files if not path.name.endswith(".crc")]
        return {str(path.relative_to(self.folder)): path.read_text() for path in plain}

    def visible(self) -> dict[str, list[str]]:
        """To a reader of the manifest."""
        found = complete_files(self.at, self.store)
        return {name: [self.store.read_text(at) for at in files] for name, files in found.items()}


@pytest.fixture(params=WAYS)
def where(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Where:
    kind, publish = WAYS[request.param]
    held = tmp_path / "held"
    root = Location.of(held if kind == "local" else mount(spark, kind, held))
    return Where(root / "out put%", file_store(root, spark, publish), held / "out put%")


class Killed(BaseException):
    """Stands for the end of the process: nothing is cleaned up after it."""


def kill_before(monkeypatch: pytest.MonkeyPatch, where: Where, operation: str, name: str) -> None:
    """The process ends when ``operation`` is asked for something of that name."""
    real: Callable[..., None] = getattr(type(where.store), operation)

    def ended(store: FileStore, at: Location, *more: object, **options: object) -> None:
        if at.name == name:
            raise Killed
        real(store, at, *more, **options)

    monkeypatch.setattr(type(where.store), operation, ended)
    monkeypatch.setattr(OutputFolder, "__exit__", _only_complete(OutputFolder.__exit__))


def _only_complete(leave: Callable[..., None]) -> Callable[..., None]:
    def exit_(run: OutputFolder, kind: object, error: object, traceback: object) -> None:
        if error is None:
            leave(run, kind, error, traceback)

    return exit_


def test_a_folder_appears_whole_or_not_at_all(where: Where) -> None:
    def fail() -> None:
        with OutputFolder(where.at, where.store) as folder:
            where.write(folder, "alarm.parquet")
            folder.write_text("chart.html", "bars")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert not where.folder.exists()
    with OutputFolder(where.at, where.store) as folder:
        where.write(folder, "alarm.parquet")
        folder.write_text("chart.html", "bars")
        folder.write_summary({"query": "hello"})
        with pytest.raises(NotThere):
            where.visible()
    assert set(where.contents()) == {"alarm.parquet/part-result", "chart.html", "summary.json"}
    summary = json.loads(where.contents()["summary.json"])
    assert summary["files"] == ["alarm.parquet", "chart.html", "summary.json"]
    assert (summary["query"], summary["written_by"]) == ("hello", "headway")
    assert where.visible() == {"alarm.parquet": ["result"]}
    with pytest.raises(FileError, match=r"not empty; got alarm\.parquet, chart.html, summary\.jso"):
        OutputFolder(where.at, where.store)


def test_a_run_that_fails_leaves_the_earlier_results(where: Where) -> None:
    where.results("alarm.parquet", "old.parquet", text="old")
    before = where.contents()

    def fail() -> None:
        with OutputFolder(where.at, where.store, force=True) as folder:
            where.write(folder, "alarm.parquet", "new")
            where.write(folder, "more.parquet", "new")
            assert where.visible() == {"alarm.parquet": ["old"], "old.parquet": ["old"]}
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert where.contents() == before
    assert where.visible() == {"alarm.parquet": ["old"], "old.parquet": ["old"]}


def test_force_replaces_only_what_an_earlier_run_wrote(where: Where) -> None:
    where.results("old.parquet", "both.parquet", text="old")
    (where.folder / "mine.parquet").write_text("mine")
    where.results("both.parquet", "new.parquet", force=True, text="new")
    assert where.visible() == {"both.parquet": ["new"], "new.parquet": ["new"]}
    left = {"both.parquet/part-new", "new.parquet/part-new", "summary.json", "mine.parquet"}
    assert set(where.contents()) == left
    with pytest.raises(FileError, match=r"mine\.parquet: here lies something .*; move it away"):
        where.results("other.parquet", "mine.parquet", force=True)
    assert set(where.contents()) == left
    assert where.contents()["mine.parquet"] == "mine"


def test_a_part_that_is_dropped_or_begun_again(where: Where) -> None:
    with OutputFolder(where.at, where.store) as run:
        where.write(run, "_quarantine")
        where.write(run, "alarm.parquet", "half")
        run.drop("_quarantine")
        where.write(run, "alarm.parquet", "whole")
        run.write_summary({})
    assert where.visible() == {"alarm.parquet": ["whole"]}
    assert set(where.contents()) == {"alarm.parquet/part-whole", "summary.json"}


def test_a_foreign_summary_is_not_believed(where: Where) -> None:
    listed = {"thesis.txt": "years", "summary.json": '{"files": ["thesis.txt", "summary.json"]}'}
    where.folder.mkdir(parents=True)
    for name, text in listed.items():
        (where.folder / name).write_text(text)
    with pytest.raises(FileError, match=r"summary\.json: here lies something that no run of Head"):
        where.results("alarm.parquet", force=True)
    assert where.contents() == listed


@pytest.mark.parametrize("text", ["mine", "{}\n", '["late.parquet"]\n', '"late.parquet"\n'])
def test_a_foreign_journal_is_not_believed(where: Where, text: str) -> None:
    where.folder.mkdir(parents=True)
    (where.folder / "_headway.part").write_text(text)
    before = where.contents()
    with pytest.raises(FileError, match=r"_headway\.part: here lies something that no run"):
        where.results("late.parquet")
    assert where.contents() == before


def test_a_foreign_part_is_never_deleted(where: Where) -> None:
    foreign = where.folder / "late.parquet.part"
    foreign.mkdir(parents=True)
    (foreign / "data").write_text("mine")
    (where.folder / ".film.0123456789ab.part").write_text("downloading")
    before = where.contents()
    if where.store.renames_whole:
        with pytest.raises(FileError, match=r"late\.parquet\.part: here lies something that no r"):
            where.results("early.parquet", "late.parquet")
        assert where.contents() == before
    where.results("other.parquet")
    assert before.items() <= where.contents().items()


def test_a_file_in_the_way_is_told(where: Where) -> None:
    where.folder.parent.mkdir(parents=True, exist_ok=True)
    where.folder.write_text("a file")
    with pytest.raises(FileError, match="cannot write here: this is a file; name a folder that"):
        OutputFolder(where.at, where.store, force=True)
    assert where.folder.read_text() == "a file"


def test_a_run_that_is_killed_before_it_is_complete(
    where: Where, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader of the manifest sees nothing of it; the next run needs no --force."""
    killed = OutputFolder(where.at, where.store)
    where.write(killed, "big.parquet")
    where.write(killed, "late.parquet", "half")
    killed.write_text("chart.html", "half")
    with pytest.raises(NotThere):
        where.visible()
    kill_before(monkeypatch, where, "write_whole", "part-never")
    with pytest.raises(Killed):
        where.results("late.parquet", "never.parquet", text="never")
    monkeypatch.undo()
    where.results("late.parquet")
    assert where.visible() == {"late.parquet": ["result"]}
    assert set(where.contents()) == {"late.parquet/part-result", "summary.json"}
    there = [path.name for path in where.folder.iterdir() if path.suffix != ".crc"]
    assert sorted(there) == ["late.parquet", "summary.json"]


def test_a_kill_between_data_and_manifest_leaves_what_was_there(
    where: Where, monkeypatch: pytest.MonkeyPatch
) -> None:
    where.results("alarm.parquet", text="old")
    step = ("rename", "more.parquet.part") if where.store.renames_whole else (
        "write_whole", "summary.json")  # fmt: skip
    kill_before(monkeypatch, where, *step)
    with pytest.raises(Killed):
        where.results("alarm.parquet", "more.parquet", force=True, text="new")
    monkeypatch.undo()
    if where.store.renames_whole:  # the old summary is gone and the new one has not come
        with pytest.raises(NotThere):
            where.visible()
    else:
        assert where.visible() == {"alarm.parquet": ["old"]}
    with pytest.raises(FileError, match="not empty"):
        where.results("alarm.parquet")
    where.results("alarm.parquet", force=True, text="newest")
    assert where.visible() == {"alarm.parquet": ["newest"]}
    assert set(where.contents()) == {"alarm.parquet/part-newest", "summary.json"}


def test_a_kill_between_the_manifest_and_the_removal_of_old_files(
    where: Where, monkeypatch: pytest.MonkeyPatch
) -> None:
    where.results("alarm.parquet", text="old")
    name = "_headway.part" if where.store.renames_whole else "part-old"
    kill_before(monkeypatch, where, "remove", name)
    with pytest.raises(Killed):
        where.results("alarm.parquet", force=True, text="new")
    monkeypatch.undo()
    assert where.visible() == {"alarm.parquet": ["new"]}
    where.results("alarm.parquet", force=True, text="newest")
    assert where.visible() == {"alarm.parquet": ["newest"]}
    assert set(where.contents()) == {"alarm.parquet/part-newest", "summary.json"}


@pytest.mark.parametrize("ways", [tuple(Publishing), tuple(reversed(Publishing))])
def test_the_other_way_takes_up_what_the_first_left(
    tmp_path: Path, ways: tuple[Publishing, Publishing]
) -> None:
    at = Location.of(tmp_path / "out")
    first, second = (Where(at, file_store(at, None, way), at.path) for way in ways)
    killed = OutputFolder(at, first.store)
    first.write(killed, "alarm.parquet", "half")
    second.results("alarm.parquet", force=True, text="whole")
    assert set(second.contents()) == {"alarm.parquet/part-whole", "summary.json"}
    first.results("alarm.parquet", force=True, text="again")
    assert first.visible() == second.visible() == {"alarm.parquet": ["again"]}
    assert set(first.contents()) == {"alarm.parquet/part-again", "summary.json"}


def test_a_journal_elsewhere_is_not_believed(tmp_path: Path) -> None:
    target, out = tmp_path / "profile", tmp_path / "out"
    target.write_text(json.dumps({"written_by": "headway"}) + "\n")
    out.mkdir()
    (out / "_headway.part").symlink_to(target)
    with pytest.raises(FileError, match=r"_headway\.part: here lies something that no run"):
        OutputFolder(Location.of(out))
    assert target.read_text() == json.dumps({"written_by": "headway"}) + "\n"
