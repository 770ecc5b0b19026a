"""A query as a project of Spark Declarative Pipelines: the files that ``spark-pipelines`` takes.

The project stands for itself: it carries the compiled plan and the user's own modules, and needs
Headway installed, not the folder that the query came from. Written again with ``--force`` it
replaces what it wrote, by its mark; what pipelines wrote there (tables, checkpoints) stays.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from headway.engine.nodes.executables import modules_of, user_modules
from headway.engine.run_folder import remove, write_whole
from headway.errors import FileError, Place
from headway.model.codec import plan_to_json
from headway.model.plan import Plan
from headway.model.quantities import format_duration
from headway.model.query import Criticality, Source
from headway.spark.pipelines.described_sql import described
from headway.spark.pipelines.pipeline_datasets import (
    Content,
    Dataset,
    DatasetKind,
    PipelinePart,
    pipeline_parts,
)

SPEC, README, PLAN, MODULES = "spark-pipeline.yml", "README.md", "plan.json", "modules"
DEFINITIONS = "transformations"
MARK = "Written by `headway pipeline`"
_WIDTH = 96


@dataclass(frozen=True, slots=True)
class PipelineProject:
    """What was written, and what there is to know of it."""

    folder: Path
    files: tuple[Path, ...]
    datasets: tuple[Dataset, ...]

    @property
    def command(self) -> str:
        return f"cd {shlex.quote(str(self.folder))} && spark-pipelines run"


def write_project(
    plan: Plan, folder: Path, *, source_folder: str | None, force: bool = False
) -> PipelineProject:
    """Writes the project; ``source_folder`` is where the recordings of the sources are, None: in
    tables of their names. FileError where the folder has something in it that is not a project, or
    without ``force``; UnsupportedError for what a batch on Spark cannot do."""
    parts = pipeline_parts(plan)
    _make_room(folder, force)
    modules = modules_of(set(user_modules(plan))).entries()
    own = {name: text for name, text in modules.items() if not name.startswith("headway/")}
    name = plan.query.name.replace(".", "_")
    contents = {
        "": {
            SPEC: _spec(name, folder),
            PLAN: plan_to_json(plan),
            README: _readme(plan, parts, source_folder, bool(own)),
        },
        DEFINITIONS: {f"{name}.py": _definitions(plan, parts, source_folder)},
    }
    written: list[Path] = []
    for place, content in own.items():
        where = folder / MODULES / place
        written += write_whole(where.parent, {where.name: content})
    for below, texts in contents.items():
        encoded = {one: text.encode() for one, text in texts.items()}
        written += write_whole(folder / below if below else folder, encoded)
    return PipelineProject(
        folder, tuple(written), tuple(d for part in parts for d in part.datasets)
    )


def _make_room(folder: Path, force: bool) -> None:
    """Removes the definitions and modules of an earlier project."""
    there = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    if not folder.exists() or (folder.is_dir() and not there):
        return
    ours = _is_marked(folder / SPEC)
    if not ours or not force:
        raise FileError(
            "the project's folder is not empty" if folder.is_dir() else "this is no folder",
            place=Place(str(folder)),
            got=", ".join(there[:5]) + (", …" if len(there) > 5 else ""),
            want="name another one, or add --force to replace the project"
            if ours
            else "name another one: what is there was not written by `headway pipeline`",
        )
    for path in (folder / DEFINITIONS).glob("*.py"):
        if _is_marked(path):
            path.unlink()
    remove(folder / MODULES)


def _is_marked(path: Path) -> bool:
    try:
        with path.open(encoding="utf-8") as text:
            return MARK in text.readline()
    except (OSError, UnicodeDecodeError):
        return False


# ---------------------------------------------------------------- the files


def _spec(name: str, folder: Path) -> str:
    storage = (folder.absolute() / "storage").as_uri()
    return f"""\
# {MARK}. The checkpoints of streaming tables are in `storage`: any file system of Spark's will do.
name: {name}
storage: {storage}
configuration:
  # Readers other than Spark then take times for UTC.
  spark.sql.parquet.outputTimestampType: TIMESTAMP_MICROS
libraries:
  - glob:
      include: {DEFINITIONS}/**
"""


def _definitions(plan: Plan, parts: tuple[PipelinePart, ...], source_folder: str | None) -> str:
    lines = [
        f'"""{MARK}: the query {plan.query.name} as datasets of a pipeline.',
        "",
        "The SQL in the comments is for reading; what is computed is in plan.json. Change the",
        "sources here, the rest in the query.",
        '"""',
        "",
        "from pathlib import Path",
        "",
        "from headway.spark.pipelines.pipeline_query import PipelineQuery",
        "from pyspark import pipelines as dp",
        "",
        "# `spark` is the pipeline's session; it is given to this file by spark-pipelines.",
        "query = PipelineQuery(spark, Path(__file__).resolve().parents[1])  # noqa: F821",
        "",
        *_sources(plan, parts, source_folder),
    ]
    for part in parts:
        for dataset in part.datasets:
            lines += ["", "", *_dataset(part, dataset)]
    return "\n".join(lines) + "\n"


def _sources(plan: Plan, parts: tuple[PipelinePart, ...], folder: str | None) -> list[str]:
    lines = [
        "# Sources: DataFrames with `timestamp`, the columns below, and where there are `vehicle`,",
        "# `arrived_at` and `position` (what breaks ties of arrival). A table or a topic of yours",
        "# will do as well as what stands here.",
    ]
    if folder is not None:
        lines.append(f"INPUT = {folder!r}")
    for source in plan.query.sources:
        lines += ["", f"# {source.name}: {_columns(source)}"]
        for part in parts:
            if source.name in part.graph.sources:
                lines.append(_given(source.name, part.kind, folder))
    return lines


def _columns(source: Source) -> str:
    return source.schema.describe() or "no columns"


def _given(source: str, kind: DatasetKind, folder: str | None) -> str:
    streaming = kind is DatasetKind.STREAMING_TABLE
    give = "arriving" if streaming else "recorded"
    if folder is None:
        read = "readStream" if streaming else "read"
        return f'query.{give}("{source}", spark.{read}.table("{source}"))  # noqa: F821'
    files = "new_files" if streaming else "files"
    return f'query.{give}("{source}", query.{files}("{source}", INPUT))'


def _dataset(part: PipelinePart, dataset: Dataset) -> list[str]:
    lines = []
    for name in dataset.operators:
        schema = dict(part.plan.schemas)[name]
        lines += _comment(f"{name}:", described(part.graph.operators[name], schema))
    if dataset.content is Content.ENGINE:
        lines.append(
            "# Needs the order of arrival: the engine computes it inside the tasks, vehicle by"
        )
        lines.append(f"# vehicle, and gives {', '.join(dataset.streams)} (`#exit` says which).")
    properties = _properties(dataset)
    arguments = [f'name="{dataset.name}"', f"comment={_told(dataset)!r}", *properties]
    function = dataset.name if dataset.name.isidentifier() else "dataset"
    return [
        *lines,
        f"@dp.{dataset.kind.value}(",
        *(f"    {argument}," for argument in arguments),
        ")",
        f"def {function}():",
        f'    return query.dataset("{dataset.name}")',
    ]


def _comment(head: str, lines: list[str]) -> list[str]:
    """Folded, so that no line of a long query is cut off by an editor."""
    found = [f"# {head}"]
    for line in lines:
        words = line.split(" ")
        current = "#    "
        for word in words:
            if len(current) + len(word) + 1 > _WIDTH and current.strip("# "):
                found.append(current)
                current = "#      "
            current += f" {word}"
        found.append(current)
    return found


def _told(dataset: Dataset) -> str:
    if dataset.output is None:
        return f"{', '.join(dataset.streams)}, for the datasets that read it"
    hard = "hard" if dataset.output.criticality is Criticality.HARD else "soft"
    if dataset.output.deadline is None:
        return f"Output {dataset.output.name} of {dataset.streams[0]}"
    deadline = format_duration(dataset.output.deadline)
    of = f"Output {dataset.output.name} of {dataset.streams[0]}"
    return f"{of}; {hard} deadline in the vehicle: {deadline}"


def _properties(dataset: Dataset) -> list[str]:
    if dataset.output is None:
        return []
    stands = {"headway.output": dataset.output.name, "headway.stream": dataset.output.stream}
    return [f"table_properties={stands!r}"]


def _readme(
    plan: Plan, parts: tuple[PipelinePart, ...], source_folder: str | None, modules: bool
) -> str:
    rows = [
        f"| `{dataset.name}` | {_KINDS[dataset.kind]} | {_told(dataset)} | "
        f"{', '.join((*dataset.sources, *dataset.reads))} |"
        for part in parts
        for dataset in part.datasets
    ]
    where = f"the recordings in `{source_folder}`" if source_folder else "tables of their names"
    own = "\n`modules/` holds your own Python that the query names.\n" if modules else ""
    table = "\n".join(rows)
    return f"""\
# {plan.query.name}

{MARK}: the query as a [Spark Declarative Pipeline]({_GUIDE}). Its sources are read from {where};
`{DEFINITIONS}/` says so and is the place to change it.

    spark-pipelines dry-run        # checks the graph
    spark-pipelines run            # computes what is new and what is to be computed anew

Every Python of Spark needs `pip install 'headway[spark,connect]'`; on a cluster `--py-files` may
bring Headway and `{MODULES}/` instead. `--remote sc://HOST` runs it on a Spark Connect server.
Without a catalog of your own the tables lie in `spark-warehouse/`, and Spark forgets their names
when it ends and refuses to write them again; `--conf spark.sql.catalogImplementation=hive` keeps
them in a small database beside it.

| dataset | kind | holds | computed from |
|---|---|---|---|
{table}

An output has the columns `vehicle`, `timestamp` and its own. A streaming table takes each input
once and appends. A materialized view is computed from all tuples in each run, which is right
whatever came late or was corrected; its results are those of a batch (`headway run`). Tuples that
are late, shed or do not fit are left out as there, but not listed.
{own}"""


_GUIDE = "https://spark.apache.org/docs/latest/declarative-pipelines-programming-guide.html"
_KINDS = {
    DatasetKind.STREAMING_TABLE: "streaming table",
    DatasetKind.MATERIALIZED_VIEW: "materialized view",
}
