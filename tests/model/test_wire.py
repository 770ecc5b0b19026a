"""Frame times: the published CAN formula, and the other media by hand."""

from __future__ import annotations

import pytest

from headway.model.vehicle import Bus, BusKind, Link, can_frame_bits, frame_times, transfer_time


def bus(
    kind: BusKind,
    bit_rate: int = 1_000_000,
    *,
    data_bit_rate: int | None = None,
    identifier_bits: int = 11,
) -> Bus:
    return Bus(
        name="b",
        kind=kind,
        bit_rate=bit_rate,
        nodes=(),
        data_bit_rate=data_bit_rate,
        identifier_bits=identifier_bits,
    )


@pytest.mark.parametrize(
    ("payload", "identifier_bits", "bits"),
    [
        (8, 11, 135),  # 34 + 64 + 13 + floor(97 / 4): the well-known worst case
        (8, 29, 160),
        (0, 11, 55),  # 34 + 13 + floor(33 / 4)
        (1, 11, 65),
        (0, 29, 80),
    ],
)
def test_can_frames_with_the_most_stuff_bits(payload: int, identifier_bits: int, bits: int) -> None:
    assert can_frame_bits(payload, identifier_bits) == bits


def test_a_tuple_takes_as_many_can_frames_as_it_needs() -> None:
    can = bus(BusKind.CAN)
    assert frame_times(8, can) == (135_000,)
    assert frame_times(20, can) == (135_000, 135_000, 95_000)
    assert frame_times(0, can) == (55_000,)
    assert transfer_time(20, can) == 365_000
    assert frame_times(8, bus(BusKind.CAN, 500_000, identifier_bits=29)) == (320_000,)


def test_times_are_rounded_up() -> None:
    assert frame_times(8, bus(BusKind.CAN, 3_000_000)) == (45_000,)
    assert frame_times(8, bus(BusKind.CAN, 7_000_000)) == (19_286,)  # 19,285.7


def test_can_fd_has_two_speeds_and_longer_frames() -> None:
    fd = bus(BusKind.CAN_FD, 1_000_000, data_bit_rate=5_000_000)
    slow = (30 * 5 // 4 + 13) * 1_000
    assert frame_times(64, fd) == (slow + ((8 + 512) * 5 // 4 + 28) * 200,)
    assert frame_times(9, fd) == frame_times(12, fd)  # lengths above 8 come in steps
    assert len(frame_times(65, fd)) == 2
    assert transfer_time(54, fd) < transfer_time(54, bus(BusKind.CAN))


def test_ethernet_frames_have_a_least_and_a_most() -> None:
    ethernet = bus(BusKind.ETHERNET, 100_000_000)
    assert frame_times(1, ethernet) == frame_times(46, ethernet) == (8 * 84 * 10,)
    assert frame_times(1500, ethernet) == (8 * 1538 * 10,)
    assert len(frame_times(1501, ethernet)) == 2


def test_a_link_carries_the_bytes_alone() -> None:
    link = Link(name="l", ends=("a", "b"), speed=1_000_000)
    assert frame_times(12, link) == (96_000,)
