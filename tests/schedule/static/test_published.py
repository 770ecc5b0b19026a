"""Other published results: HEFT and CPOP on the graph of their paper, HVLB_CC's experiment 5."""

from __future__ import annotations

from fractions import Fraction

import pytest
from tests.schedule.static.cases import paper_graph, paper_network, topcuoglu

from headway.schedule.static import (
    ExactAlpha,
    Instance,
    Options,
    algorithm_named,
    metrics_of,
    precision,
    schedule,
    schedule_holes,
    violations,
)
from headway.schedule.static.heft import Heft
from headway.schedule.static.insertion import Mean, MeanCosts

ALONE = Options(contention=False)
TABLE_4 = {
    "n1": (26, 17, 20),
    "n2": (26, 17, 20),
    "n3": (14, 9, 11),
    "n4": (12, 8, 10),
    "n5": (17, 11, 13),
    "n6": (30, 20, 24),
    "n7": (9, 6, 7),
    "n8": (27, 18, 22),
    "n9": (27, 18, 22),
    "n10": (30, 20, 24),
}


@pytest.mark.parametrize(("name", "makespan"), [("heft", 80), ("cpop", 86)])
def test_on_the_graph_of_the_heft_paper(name: str, makespan: int) -> None:
    graph, network = topcuoglu()
    result = schedule(graph, network, name, ALONE)
    assert result.makespan == makespan
    assert result.schedule is not None
    assert not violations(graph, network, result.schedule)


def test_upward_ranks_of_the_heft_paper() -> None:
    """Table 3 of the paper."""
    costs = MeanCosts(Instance(*topcuoglu(), ALONE))
    ranks, scale = costs.upward(), costs.unit * costs.instance.scale
    printed = [108, 77, 80, 80, 69, 63.333, 42.667, 35.667, 44.333, 14.667]
    assert [float(rank / scale) for rank in ranks] == pytest.approx(printed, abs=0.001)


def test_heft_by_sagas_means_has_the_same_makespan() -> None:
    result = Heft(Mean.TIME_WITH_SELF).run(Instance(*topcuoglu(), ALONE), ExactAlpha())
    assert result.makespan == 80


def test_contention_costs_heft_more_than_it_costs_hvlb() -> None:
    """What HEFT plans without contention it cannot have with it."""
    makespans = {
        name: float(algorithm_named(name).run(Instance(*topcuoglu()), ExactAlpha()).makespan or 0)
        for name in ("heft", "cpop", "hvlb-cc-b")
    }
    assert makespans == {"heft": 108, "cpop": 93, "hvlb-cc-b": 82}


def test_holes_of_experiment_5() -> None:
    """Section 5.7: holes of 9, 5 and 12 behind n2, n5 and n8.

    In table 4 n1 and n2 are alike in every respect, so which of the two is placed first, and gets
    the hole, is only a tie; for the paper's numbers it must be n2, against the lower number first
    that the example of figure 5 needs."""
    names = ("n2", "n1", *list(TABLE_4)[2:])
    times = {name: dict(zip(("p1", "p2", "p3"), TABLE_4[name], strict=True)) for name in names}
    graph, network = paper_graph(150, times), paper_network()
    options = Options(whole_link_times=True)
    result = schedule(graph, network, "hvlb-cc-ic", options)
    assert result.schedule is not None
    holes = schedule_holes(Instance(graph, network, options), result.schedule)
    assert [holes[name] for name in ("n2", "n5", "n8")] == [9, 5, 12]

    def at_most_precise(task: str) -> Fraction:
        slot = result.schedule.of_task[task] if result.schedule else None
        assert slot is not None
        rates = [Fraction(number, 10) for number in range(10, 21)]
        return max(
            rate for rate in rates if precision(holes[task], slot.finish - slot.start, rate) == 1
        )

    assert at_most_precise("n2") == Fraction("1.5")
    assert at_most_precise("n5") == Fraction("1.4")


def test_precision_without_a_hole_is_one_over_the_arrival_rate() -> None:
    assert precision(Fraction(0), Fraction(17), Fraction(2)) == Fraction(1, 2)
    assert precision(Fraction(9), Fraction(17), Fraction("1.6")) == Fraction(26, 1) / (
        17 * Fraction("1.6")
    )
    assert precision(Fraction(9), Fraction(17), Fraction("1.5")) == 1


def test_metrics_of_the_example() -> None:
    """The critical path of figure 3 is n1 n4 n7 n10 (12 + 14 + 17 + 10 at best)."""
    instance = Instance(paper_graph(), paper_network(), Options(whole_link_times=True))
    result = schedule(paper_graph(), paper_network(), "hsv-cc", instance.options)
    assert result.schedule is not None
    found = metrics_of(instance, result.schedule)
    assert found.slr == found.makespan / 53
    assert found.speedup == 107 / found.makespan
    busy = sum(slot.finish - slot.start for slot in result.schedule.tasks)
    assert found.load_balance == 3 * found.makespan / busy
