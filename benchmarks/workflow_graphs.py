"""Made-up instances of eleven kinds of task graphs, in the formats of WfCommons and STG.

Nine have the structure of WfCommons' recorded workflows (which task reads what, as
https://wfcommons.org/instances and the papers of the applications describe it), two are random
graphs as the Standard Task Graph Set has them, with communication. Running times and file sizes are
drawn: lognormal about a mean for each type of task, because recorded ones are skewed. None of it is
copied from a recording.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

MEGABYTE = 1_000_000


@dataclass
class Workflow:
    """A workflow in the making: tasks with a running time (s), files between them (MB)."""

    name: str
    random: Random
    times: dict[str, float] = field(default_factory=dict)
    sizes: dict[tuple[str, str], float] = field(default_factory=dict)

    def task(self, kind: str, seconds: float) -> str:
        name = f"{kind}_{len(self.times):05}"
        self.times[name] = round(seconds * self.random.lognormvariate(0, 0.5), 3)
        return name

    def tasks(self, kind: str, seconds: float, count: int) -> list[str]:
        return [self.task(kind, seconds) for _ in range(count)]

    def feed(self, senders: list[str], receivers: list[str], megabytes: float) -> None:
        """Each of the receivers reads a file of each of the senders."""
        for sender in senders:
            for receiver in receivers:
                size = megabytes * self.random.lognormvariate(0, 0.7)
                self.sizes[sender, receiver] = round(size, 3)

    def text(self) -> str:
        """WfFormat 1.5."""
        parents: dict[str, list[str]] = {name: [] for name in self.times}
        children: dict[str, list[str]] = {name: [] for name in self.times}
        for sender, receiver in self.sizes:
            parents[receiver].append(sender)
            children[sender].append(receiver)
        specified = [
            {
                "name": name.rpartition("_")[0],
                "id": name,
                "parents": parents[name],
                "children": children[name],
                "inputFiles": [f"{parent}-{name}" for parent in parents[name]],
                "outputFiles": [f"{name}-{child}" for child in children[name]],
            }
            for name in self.times
        ]
        files = [
            {"id": f"{sender}-{receiver}", "sizeInBytes": round(size * MEGABYTE)}
            for (sender, receiver), size in self.sizes.items()
        ]
        ran = [{"id": name, "runtimeInSeconds": time} for name, time in self.times.items()]
        workflow = {
            "specification": {"tasks": specified, "files": files},
            "execution": {"makespanInSeconds": 0, "tasks": ran},
        }
        content = {"name": self.name, "schemaVersion": "1.5", "workflow": workflow}
        return json.dumps(content)


# ---------------------------------------------------------------- kinds of workflows


def blast(flow: Workflow, size: int) -> None:
    split = flow.tasks("split_fasta", 5, 1)
    searches = flow.tasks("blastall", 120, size - 3)
    flow.feed(split, searches, 1)
    for kind in ("cat_blast", "cat"):
        flow.feed(searches, flow.tasks(kind, 10, 1), 3)


def bwa(flow: Workflow, size: int) -> None:
    prepared = [flow.task("bwa_index", 80), flow.task("fastq_reduce", 30)]
    aligned = flow.tasks("bwa", 40, size - 4)
    flow.feed(prepared, aligned, 10)
    for kind in ("cat_bwa", "cat"):
        flow.feed(aligned, flow.tasks(kind, 8, 1), 4)


def cycles(flow: Workflow, size: int) -> None:
    plots = []
    for _ in range(max(1, size // 12)):
        baseline = flow.tasks("baseline_cycles", 15, 1)
        base = flow.tasks("cycles", 20, 4)
        flow.feed(baseline, base, 5)
        more = flow.tasks("fertilizer_increase_cycles", 20, 4)
        for one, other in zip(base, more, strict=True):
            flow.feed([one], [other], 8)
        parsed = flow.tasks("fertilizer_increase_output_parser", 4, 1)
        flow.feed(more, parsed, 2)
        summary = flow.tasks("cycles_output_summary", 3, 1)
        flow.feed(base, summary, 2)
        plots += [*parsed, *summary]
    flow.feed(plots, flow.tasks("cycles_plots", 60, 1), 1)


def epigenomics(flow: Workflow, size: int) -> None:
    merged = []
    for _ in range(4):
        split = flow.tasks("fastqSplit", 30, 1)
        mapped = []
        for _ in range(max(1, (size // 4 - 3) // 4)):
            before = split
            for kind, seconds, megabytes in (
                ("filterContams", 3, 12),
                ("sol2sanger", 1, 8),
                ("fast2bfq", 2, 6),
                ("map", 120, 2),
            ):
                after = flow.tasks(kind, seconds, 1)
                flow.feed(before, after, megabytes)
                before = after
            mapped += before
        lane = flow.tasks("mapMerge", 12, 1)
        flow.feed(mapped, lane, 3)
        merged += lane
    last = flow.tasks("mapMerge_all", 30, 1)
    flow.feed(merged, last, 20)
    index = flow.tasks("maqIndex", 40, 1)
    flow.feed(last, index, 40)
    flow.feed(index, flow.tasks("pileup", 50, 1), 60)


def genome(flow: Workflow, size: int) -> None:
    populations = 7
    for _ in range(2):
        parts = flow.tasks("individuals", 90, max(1, (size // 2 - 2 - 2 * populations)))
        merged = flow.tasks("individuals_merge", 60, 1)
        flow.feed(parts, merged, 5)
        sifting = flow.tasks("sifting", 20, 1)
        overlap = flow.tasks("mutation_overlap", 50, populations)
        frequency = flow.tasks("frequency", 150, populations)
        for reader in (overlap, frequency):
            flow.feed(merged, reader, 30)
            flow.feed(sifting, reader, 2)


def montage(flow: Workflow, size: int) -> None:
    images = max(4, size // 5)
    projected = flow.tasks("mProject", 12, images)
    fits = []
    for number in range(images):
        for beside in sorted({(number + step) % images for step in (1, 7, 13)} - {number}):
            fit = flow.tasks("mDiffFit", 2, 1)
            flow.feed([projected[number], projected[beside]], fit, 4)
            fits += fit
    concat = flow.tasks("mConcatFit", 20, 1)
    flow.feed(fits, concat, 0.01)
    model = flow.tasks("mBgModel", 60, 1)
    flow.feed(concat, model, 1)
    corrected = flow.tasks("mBackground", 3, images)
    flow.feed(model, corrected, 0.1)
    for one, other in zip(projected, corrected, strict=True):
        flow.feed([one], [other], 8)
    table = flow.tasks("mImgtbl", 4, 1)
    flow.feed(corrected, table, 0.2)
    added = flow.tasks("mAdd", 40, 1)
    flow.feed(table, added, 1)
    flow.feed(corrected, added, 8)
    flow.feed(added, flow.tasks("mViewer", 15, 1), 120)


def seismology(flow: Workflow, size: int) -> None:
    parts = flow.tasks("sG1IterDecon", 30, size - 1)
    flow.feed(parts, flow.tasks("wrapper_siftSTFByMisfit", 25, 1), 0.5)


def soykb(flow: Workflow, size: int) -> None:
    calls: list[str] = []
    samples = max(1, (size - 6) // 14)
    for _ in range(samples):
        before: list[str] = []
        for kind, seconds in (
            ("alignment_to_reference", 60),
            ("sort_sam", 15),
            ("dedup", 15),
            ("add_replace", 12),
            ("realign_target_creator", 30),
            ("indel_realign", 20),
        ):
            after = flow.tasks(kind, seconds, 1)
            flow.feed(before, after, 25)
            before = after
        called = flow.tasks("haplotype_caller", 80, 8)
        flow.feed(before, called, 25)
        calls += called
    merged = flow.tasks("merge_gvcfs", 50, 1)
    flow.feed(calls, merged, 3)
    genotyped = flow.tasks("genotype_gvcfs", 90, 1)
    flow.feed(merged, genotyped, 60)
    for kind in ("select_variants_indel", "select_variants_snp"):
        selected = flow.tasks(kind, 20, 1)
        flow.feed(genotyped, selected, 30)
        flow.feed(selected, flow.tasks("filtering", 15, 1), 20)


def srasearch(flow: Workflow, size: int) -> None:
    index = flow.tasks("bowtie2-build", 40, 1)
    found = []
    for _ in range(max(1, (size - 2) // 3)):
        fetched = flow.tasks("prefetch", 30, 1)
        dumped = flow.tasks("fasterq-dump", 25, 1)
        flow.feed(fetched, dumped, 40)
        aligned = flow.tasks("bowtie2", 60, 1)
        flow.feed(dumped, aligned, 60)
        flow.feed(index, aligned, 6)
        found += aligned
    flow.feed(found, flow.tasks("merge", 20, 1), 2)


WORKFLOWS: dict[str, Callable[[Workflow, int], None]] = {
    "1000genome": genome,
    "blast": blast,
    "bwa": bwa,
    "cycles": cycles,
    "epigenomics": epigenomics,
    "montage": montage,
    "seismology": seismology,
    "soykb": soykb,
    "srasearch": srasearch,
}

# ---------------------------------------------------------------- the Standard Task Graph Set


def stg(random: Random, size: int, *, layered: bool) -> str:
    """With communication: a task's line has, for each predecessor, its number and the time of the
    message. ``layered``: predecessors are from the layer before, else from anywhere before."""
    width = max(2, round(size**0.5 / 2))
    lines = [f"{size}", "0 0 0"]
    for task in range(1, size + 1):
        first = ((task - 1) // width - 1) * width + 1
        earlier = range(first, first + width) if layered else range(1, task)
        candidates = [one for one in earlier if one >= 1]
        wanted = random.randint(1, 4)
        before = sorted(random.sample(candidates, min(wanted, len(candidates)))) or [0]
        messages = " ".join(f"{one} {random.randint(1, 20) if one else 0}" for one in before)
        lines.append(f"{task} {random.randint(1, 50)} {len(before)} {messages}")
    read = {int(part) for line in lines[2:] for part in line.split()[3::2]}
    ends = [task for task in range(1, size + 1) if task not in read]
    lines.append(f"{size + 1} 0 {len(ends)} " + " ".join(f"{one} 0" for one in ends))
    return "\n".join(lines) + "\n"


def write_graphs(folder: Path, sizes: list[int], seed: int = 0) -> list[Path]:
    """An instance of each kind and size."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for size in sizes:
        for name, kind in WORKFLOWS.items():
            flow = Workflow(f"{name}-{size}", Random(f"{name} {size} {seed}"))
            kind(flow, size)
            written.append(folder / f"{flow.name}.json")
            written[-1].write_text(flow.text(), encoding="utf-8")
        for name, layered in (("stg-random", False), ("stg-layered", True)):
            text = stg(Random(f"{name} {size} {seed}"), size, layered=layered)
            written.append(folder / f"{name}-{size}.stg")
            written[-1].write_text(text, encoding="utf-8")
    return written
