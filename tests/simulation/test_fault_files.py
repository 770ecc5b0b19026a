"""Fault files: what they mean, what is refused and where; and the command that takes them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.cli.invoke import EXAMPLES, headway

from headway.errors import FileError
from headway.model.quantities import MILLISECOND
from headway.simulation.fault_plan import FaultKind, draw
from headway.simulation.load_faults import load_faults, parse_faults

TYRES = EXAMPLES / "tyre_watch"
ARGUMENTS = (
    TYRES / "query.yaml", "--vehicle", TYRES / "vehicle.yaml", "--input", TYRES / "recording",
)  # fmt: skip


def test_a_file_says_what_may_happen() -> None:
    spec = parse_faults(
        "faults: f\nwithin: 0.5\nnetwork: {runs: 0.25, jitter: 2 ms, loss: 0.1, window: 2048}\n"
        "clocks: {drift: 20.5, offset: 3 ms}\n"
        "crash: {chance: 0.5, most: 3, shortest: 10 ms, longest: 20 ms, returns: 0.0}\n"
        "slow: {chance: 1, factor: 4.0}\nreset: {chance: 0.0}\n".replace(
            "chance: 1,", "chance: 1.0,"
        )
    )
    assert (spec.name, spec.within, spec.rough) == ("f", 0.5, 0.25)
    assert (spec.manners.jitter, spec.manners.loss, spec.manners.window) == (2_000_000, 0.1, 2048)
    assert (spec.drift, spec.offset) == (20_500, 3 * MILLISECOND)
    rates = dict(spec.rates)
    assert list(rates) == [FaultKind.RESET, FaultKind.CRASH, FaultKind.SLOW]
    crash = rates[FaultKind.CRASH]
    assert (crash.chance, crash.most, crash.returns) == (0.5, 3, 0.0)
    assert (crash.shortest, crash.longest) == (10 * MILLISECOND, 20 * MILLISECOND)
    assert rates[FaultKind.SLOW].factor == 4.0


def test_what_is_drawn_stays_within_what_is_said() -> None:
    spec = load_faults(TYRES / "faults.yaml")
    rates, span = dict(spec.rates), 10_000 * MILLISECOND
    seen = set()
    for seed in range(300):
        plan = draw(spec, seed, ["a", "b", "c"], [("a", "b")], span)
        assert plan == draw(spec, seed, ["a", "b", "c"], [("a", "b")], span)
        kinds = [fault.kind for fault in plan.faults]
        assert list(plan.faults) == sorted(plan.faults, key=lambda fault: fault.at)
        for fault in plan.faults:
            rate = rates[fault.kind]
            seen.add(fault.kind)
            assert kinds.count(fault.kind) <= rate.most
            assert 0 <= fault.at < span * spec.within
            assert fault.until is None or rate.shortest <= fault.until - fault.at <= rate.longest
            assert fault.until is not None or fault.kind.ends_process
            assert fault.nodes == ("a", "b") if fault.kind.on_link else len(fault.nodes) == 1
            assert 1 <= fault.factor <= rate.factor
        assert all(abs(drift) <= spec.drift for _, drift in plan.drifts)
        assert all(abs(offset) <= spec.offset for _, offset in plan.offsets)
    assert seen == set(FaultKind)


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ("within: 0.5\n", 1, "the key 'faults' is missing"),
        ("", 1, "the file is empty"),
        ("faults: f\ncrush: {chance: 0.5}\n", 2, "did you mean 'crash'"),
        ("faults: f\ncrash: {chance: 1.5}\n", 2, "the number is out of range"),
        ("faults: f\ncrash: {chance: often}\n", 2, "a number is wanted"),
        ("faults: f\ncrash: {most: 2}\n", 2, "the key 'chance' is missing"),
        ("faults: f\ncrash: {chance: 0.5, most: 0}\n", 2, "the number is out of range"),
        ("faults: f\nreset: {chance: 0.5, longest: 1 s}\n", 2, "unknown key 'longest'"),
        ("faults: f\npause: {chance: 0.5, longest: 5}\n", 2, "a duration is wanted"),
        ("faults: f\npause: {chance: 0.5, longest: 50 ms}\n", 2, "it ends before it has lasted"),
        ("faults: f\nnetwork:\n  loss: 0.9\n", 3, "the number is out of range"),
        ("faults: f\nwithin: 0\n", 2, "the number is out of range"),
        ("faults: &a f\nwithin: *a\n", 1, "anchor"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_line(text: str, line: int, told: str) -> None:
    with pytest.raises(FileError, match=re.escape(told)) as caught:
        parse_faults(text, "f.yaml")
    place = caught.value.problems[0].place
    assert place is not None
    assert (place.file, place.line) == ("f.yaml", line)


# -------------------------------------------------------------------- the command


def test_the_command_says_what_befell_and_what_held(tmp_path: Path) -> None:
    faults = TYRES / "faults.yaml"
    run = ("simulate", *ARGUMENTS, "--faults", faults, "--seeds", "3", "--seed", "5")
    outcome = headway(*run, "--out", tmp_path)
    assert outcome.code == 0, outcome.err
    assert "3 seeds" in outcome.out
    assert "✓ Every property holds under every seed." in outcome.out
    page = (tmp_path / "seed-5.html").read_text(encoding="utf-8")
    assert "<svg" in page
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
    trace = (tmp_path / "seed-5.trace.txt").read_bytes()
    data = json.loads(headway(*run, "--json", "--out", tmp_path / "again").out)
    assert data["seeds"] == 3
    assert data["failed"] == []
    assert (tmp_path / "again" / "seed-5.trace.txt").read_bytes() == trace
    assert json.loads(headway(*run, "--json").out)["hash"] == data["hash"]


def test_a_failing_seed_is_named_and_its_page_shows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headway.engine.nodes.peers.Peers._look_after", lambda *_: None)
    (tmp_path / "f.yaml").write_text("faults: none\n", encoding="utf-8")
    run = ("simulate", *ARGUMENTS, "--faults", tmp_path / "f.yaml", "--seeds", "2")
    outcome = headway(*run, "--out", tmp_path)
    assert outcome.code == 1
    assert "✗ seed 0: nobody is lost without a cause" in outcome.out
    assert "--seed 0 --seeds 1 --out DIR" in outcome.out
    page = (tmp_path / "seed-0.html").read_text(encoding="utf-8")
    assert "properties do not hold" in page
    assert "nobody is lost without a cause" in page
    data = json.loads(headway(*run, "--json").out)
    assert data["failed"] == [0, 1]
    assert data["failures"][0]["violations"][0]["rule"] == "nobody is lost without a cause"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--heartbeat", "soon"), "--heartbeat: not a duration"),
        (("--give-up", "0 s"), "--give-up: not a duration"),
        (("--policy", "best"), "policy"),
    ],
)
def test_bad_options_are_told(options: tuple[str, ...], told: str) -> None:
    outcome = headway("simulate", *ARGUMENTS, "--faults", TYRES / "faults.yaml", *options)
    assert outcome.code == 2
    assert told in outcome.err


def test_without_greenlet_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "greenlet", None)
    outcome = headway("simulate", *ARGUMENTS, "--faults", TYRES / "faults.yaml", "--seeds", "1")
    assert outcome.code == 2
    assert "pip install 'headway[simulation]'" in outcome.err
