"""Writes an Amalthea model of the size of the WATERS 2017 challenge, made up.

    python benchmarks/waters_like.py build/waters.amxmi [SEED]

Periods, runnables per period and mean execution times follow S. Kramer, D. Ziegenbein and
A. Hamann, "Real world automotive benchmarks for free", WATERS 2015 (tables III and IV), scaled to
leave room on four cores of 200 MHz; which runnable reads which label is drawn. Three event chains
go through tasks of different periods, two of them with limits.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

RUNNABLES = {1: 41, 2: 28, 5: 23, 10: 307, 20: 308, 50: 46, 100: 247, 200: 15, 1000: 44}
"""period in ms -> runnables"""
MICROSECONDS = {
    1: 5.0,
    2: 4.2,
    5: 11.0,
    10: 10.1,
    20: 8.7,
    50: 17.6,
    100: 10.5,
    200: 2.6,
    1000: 0.4,
}
"""their mean execution times"""
ISRS = {700: 3, 900: 3, 1500: 3, 4900: 2}
"""least distance in us -> how many"""
ISR_MICROSECONDS = 5.0
CORES = {0: (1, 2, 5), 1: (), 2: (10,), 3: (20, 50, 100, 200, 1000)}
"""core -> periods; interrupts are on core 1"""
CHAINS = {
    "EffectChain_1": ((100, 10, 2), None),
    "EffectChain_2": ((2, 50, 1000), "Age"),
    "EffectChain_3": ((1, 20), "Reaction"),
}
LIMIT_MS = {"Age": 4000, "Reaction": 200}
MEGAHERTZ = 200
SCALE = 0.6
WRITTEN, READ = 8, 3
"""labels that a runnable writes and reads"""
KEY = "http://app4mc.eclipse.org/amalthea/0.9.3"
XSI = "http://www.w3.org/2001/XMLSchema-instance"


def tasks() -> Iterator[tuple[str, int, float, int]]:
    """(name, runnables, mean us of each, core)"""
    core_of = {period: core for core, periods in CORES.items() for period in periods}
    for period, count in RUNNABLES.items():
        yield f"Task_{period}ms", count, MICROSECONDS[period], core_of[period]
    for _, number in isrs():
        yield f"ISR_{number}", 5, ISR_MICROSECONDS, 1


def isrs() -> Iterator[tuple[int, int]]:
    """(least distance, number)"""
    number = 0
    for least, count in ISRS.items():
        for _ in range(count):
            number += 1
            yield least, number


def model(seed: int) -> Iterator[str]:
    draw = random.Random(seed)
    yield f'<am:Amalthea xmlns:am="{KEY}" xmlns:xsi="{XSI}">'
    yield "<swModel>"
    named: dict[str, list[str]] = {}
    number = 0
    for name, count, _, _ in tasks():
        named[name] = [f"Runnable_{number + one}" for one in range(count)]
        number += count
        yield f'<tasks name="{name}" stimuli="every_{name}?type=Stimulus">'
        yield '<callGraph><items xsi:type="am:Group">'
        for one in named[name]:
            yield f'<items xsi:type="am:RunnableCall" runnable="{one}?type=Runnable"/>'
        yield "</items></callGraph></tasks>"
    label = 0
    for name, _, mean, _ in tasks():
        cycles = mean * MEGAHERTZ * SCALE
        for one in named[name]:
            yield f'<runnables name="{one}"><callGraph>'
            for _ in range(READ):
                yield _access(f"Label_{draw.randrange(number * WRITTEN)}", "read")
            yield '<items xsi:type="am:Ticks">'
            kind = "am:DiscreteValueWeibullEstimatorsDistribution"
            bounds = f'lowerBound="{int(cycles * 0.4)}" upperBound="{int(cycles * 1.3)}"'
            yield f'<default xsi:type="{kind}" {bounds} average="{int(cycles)}"/></items>'
            for _ in range(WRITTEN):
                yield _access(f"Label_{label}", "write")
                label += 1
            yield "</callGraph></runnables>"
    yield from (f'<labels name="Label_{one}"/>' for one in range(label))
    yield "</swModel><hwModel>"
    yield '<definitions xsi:type="am:ProcessingUnitDefinition" name="TriCore"/>'
    yield '<structures name="ecu">'
    for core in CORES:
        yield (
            f'<modules xsi:type="am:ProcessingUnit" name="CORE{core}" '
            'frequencyDomain="clock?type=FrequencyDomain" '
            'definition="TriCore?type=ProcessingUnitDefinition"/>'
        )
    yield '</structures><domains xsi:type="am:FrequencyDomain" name="clock">'
    yield f'<defaultValue value="{MEGAHERTZ}" unit="MHz"/></domains></hwModel><stimuliModel>'
    for period in RUNNABLES:
        yield f'<stimuli xsi:type="am:PeriodicStimulus" name="every_Task_{period}ms">'
        yield f'<recurrence value="{period}" unit="ms"/></stimuli>'
    for least, isr in isrs():
        yield f'<stimuli xsi:type="am:SporadicStimulus" name="every_ISR_{isr}"><stimulusDeviation>'
        yield f'<lowerBound value="{least}" unit="us"/><upperBound value="{4 * least}" unit="us"/>'
        yield "</stimulusDeviation></stimuli>"
    yield "</stimuliModel>"
    yield from _chains(named)
    yield "<mappingModel>"
    for name, _, _, core in tasks():
        yield f'<taskAllocation task="{name}?type=Task" scheduler="S{core}?type=TaskScheduler"/>'
    for core in CORES:
        unit = f"CORE{core}?type=ProcessingUnit"
        yield (
            f'<schedulerAllocation scheduler="S{core}?type=TaskScheduler" responsibility="{unit}"/>'
        )
    yield "</mappingModel></am:Amalthea>"


def _access(label: str, access: str) -> str:
    return f'<items xsi:type="am:LabelAccess" data="{label}?type=Label" access="{access}"/>'


def _chains(named: dict[str, list[str]]) -> Iterator[str]:
    yield "<eventModel>"
    for chain, (periods, _) in CHAINS.items():
        for period in periods:
            runnable = named[f"Task_{period}ms"][0]
            yield (
                f'<events xsi:type="am:RunnableEvent" name="{chain}_{period}" '
                f'entity="{runnable}?type=Runnable" eventType="start"/>'
            )
    yield "</eventModel><constraintsModel>"
    for chain, (periods, _) in CHAINS.items():
        ends = f'stimulus="{chain}_{periods[0]}?e" response="{chain}_{periods[-1]}?e"'
        yield f'<eventChains name="{chain}" {ends}>'
        for one, other in pairwise(periods):
            yield '<segments xsi:type="am:EventChainContainer">'
            yield f'<eventChain stimulus="{chain}_{one}?e" response="{chain}_{other}?e"/>'
            yield "</segments>"
        yield "</eventChains>"
    for chain, (_, kind) in CHAINS.items():
        if kind is not None:
            yield (
                f'<timingConstraints xsi:type="am:EventChainLatencyConstraint" name="of_{chain}" '
                f'scope="{chain}?type=EventChain" type="{kind}">'
                f'<maximum value="{LIMIT_MS[kind]}" unit="ms"/></timingConstraints>'
            )
    yield "</constraintsModel>"


def main() -> None:
    path = Path(sys.argv[1])
    path.parent.mkdir(parents=True, exist_ok=True)
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    path.write_text("\n".join(model(seed)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
