"""Which mistakes are planted, and which places are left alone."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest
from tests.mutation.__main__ import drawn, main, survivors
from tests.mutation.modules import SUBJECTS, files_of_tests, modules
from tests.mutation.mutants import Mutant, mutants_of

ROOT = Path(__file__).parents[2]


def changed(text: str) -> list[str]:
    """Every mutant of a text, as the text it becomes."""
    source = text.encode()
    return [one.applied(source).decode() for one in mutants_of("module.py", source)]


@pytest.mark.parametrize(
    ("text", "mutants"),
    [
        ("a < b", ["a <= b"]),
        ("a >= b", ["a > b"]),
        ("(a) is not (b)", ["(a) is (b)"]),
        ("a not in b", ["a in b"]),
        ("a < b <= c", ["a <= b <= c", "a < b < c"]),
        ("back + within", ["back - within"]),
        ("misses / jobs", ["misses * jobs"]),
        ("a and b or c", ["a or b or c", "a and b and c"]),
        ("not (a or b)", ["(a or b)", "not (a and b)"]),
        ("-capacity", ["capacity"]),
        ("x = min(a, b)", ["x = max(a, b)"]),
        ("x = math.ceil(a)", ["x = math.floor(a)"]),
        ("x = True", ["x = False"]),
        ("x = 0", ["x = 1"]),
        ("x = 8000", []),
        ("total += work", ["pass", "total -= work"]),
        ("queue.append(job)", ["pass"]),
        ("lambda t, r: (t, r)", ["lambda t, r: (r, t)"]),
        ("a if b else c", ["a if False else c", "a if True else c"]),
        ("[a for a in b if c]", ["[a for a in b if True]"]),
        ("f(Kind.LATE); g(Kind.SHED)", None),
        ("raise Wrong(a + 1)", []),
        ("assert a < 1", []),
        ("x = zip(a, b, strict=True)", []),
        ('"""A text."""', []),
        ("f'{a + 1}'", []),
        ("name + 'é'", []),
        ("é = a < b", ["é = a <= b"]),
        ("x: Annotated[int, 1] = y", []),
    ],
)
def test_a_line(text: str, mutants: list[str] | None) -> None:
    found = changed(text)
    if mutants is None:
        assert "f(Kind.SHED); g(Kind.SHED)" in found
        assert "f(Kind.LATE); g(Kind.LATE)" in found
    else:
        assert found == mutants


def test_names_of_functions() -> None:
    """As Python names them, which is how the tests that enter them are found."""
    source = b"""
LIMIT = 1
class A:
    size = 2
    def f(self, default=3):
        def g():
            return 4
        return 5
"""
    within = {one.before: one.within for one in mutants_of("module.py", source)}
    assert within == {"1": "", "2": "", "3": "", "4": "A.f.<locals>.g", "5": "A.f"}


def test_a_changed_source_is_refused() -> None:
    (mutant,) = mutants_of("module.py", b"a < b")
    with pytest.raises(ValueError, match=r"module\.py:1 comparison: the source has changed"):
        mutant.applied(b"b > a")


def test_every_mutant_of_the_modules() -> None:
    """Each is one change of one place, and parses."""
    for path in ("src/headway/engine/kernel.py", "src/headway/compiler/latency/tuple_ages.py"):
        source = (ROOT / path).read_bytes()
        mutants = mutants_of(path, source)
        assert len(mutants) > 40
        texts = [one.applied(source) for one in mutants]
        assert len(set(texts)) == len(texts)
        original = ast.dump(ast.parse(source))
        assert all(ast.dump(ast.parse(text)) != original for text in texts[::9])


def test_a_sample() -> None:
    """The same from one seed, others from another, subjects and their modules in turn."""
    subjects = modules(ROOT)
    sample = drawn(ROOT, subjects, 2 * len(SUBJECTS), 1)
    assert sample == drawn(ROOT, subjects, 2 * len(SUBJECTS), 1)
    assert sample != drawn(ROOT, subjects, 2 * len(SUBJECTS), 2)
    assert Counter(subjects[one.path] for one in sample) == dict.fromkeys(SUBJECTS, 2)
    assert len({one.path for one in sample}) == len(sample)


def test_a_sample_of_more_than_there_are() -> None:
    subjects = {"src/headway/schedule/online/pcs.py": "policies"}
    every = drawn(ROOT, subjects, 10_000, 1)
    assert len(every) == len(set(every)) > 3


def test_what_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="no subject 'wheels'; there are policies"):
        modules(ROOT, ("wheels",))
    assert set(modules(ROOT, ("bounds",)).values()) == {"bounds"}
    assert "tests/schedule/test_key_rules.py" in files_of_tests(ROOT)
    with pytest.raises(SystemExit):
        main(["--subject", "wheels"])
    assert "invalid choice: 'wheels'" in capsys.readouterr().err


def test_survivors_again(tmp_path: Path) -> None:
    """Found again though lines have moved; what was killed, or is gone, is not tried."""
    module = tmp_path / "module.py"
    module.write_text("def f(a, b):\n    return a < b\n\n\ndef g(a, b):\n    return a < b\n")
    one, other = mutants_of("module.py", module.read_bytes())

    def told(mutant: Mutant, verdict: str, before: str = " < ") -> dict[str, object]:
        return {
            "module": mutant.path,
            "function": mutant.within,
            "line": mutant.line,
            "kind": mutant.kind,
            "before": before,
            "after": mutant.after,
            "verdict": verdict,
        }

    results = {"tried": [told(one, "killed"), told(other, "survived"), told(one, "survived", "?")]}
    results["tried"].append({**told(one, "survived"), "module": "moved.py"})
    module.write_text("import os\n\n" + module.read_text())
    (again,) = survivors(tmp_path, results)
    assert (again.within, again.line, again.after) == ("g", 8, " <= ")
