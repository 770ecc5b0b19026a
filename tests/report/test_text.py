"""Text widths and shortening."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headway.report.svg import fit, plain, width_of


def test_short_texts_stay_and_long_ones_keep_both_ends() -> None:
    assert fit("map1", 100, 12) == "map1"
    short = fit("surrounding_vehicles.relative_position", 120, 12)
    assert short.startswith("surr")
    assert short.endswith("tion")
    assert "…" in short


@given(st.text(), st.floats(13, 400), st.booleans())
def test_what_fits_is_never_wider(text: str, width: float, bold: bool) -> None:
    assert width_of(fit(text, width, 10, bold=bold), 10, bold=bold) <= width


def test_characters_that_xml_forbids_or_that_turn_the_direction_are_replaced() -> None:
    assert plain("a\x00b\ud800c\u202ed") == "a�b�c�d"
    assert plain("Überhol-Assistent 追い越し") == "Überhol-Assistent 追い越し"
