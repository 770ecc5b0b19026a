"""The loader's form, on a made-up segment."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from headway.errors import FileError
from headway_studies.beyond.comma2k19 import load_radar, load_segment
from headway_studies.beyond.geodesy import geodetic_to_ecef


def save(path: Path, array: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        np.save(file, np.asarray(array))


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Two points 10 m apart to the north, at the equator, and two fixes on them."""
    latitudes = np.array([0.0, 10 / 110_574.3])
    ecef = geodetic_to_ecef(latitudes, np.zeros(2), np.zeros(2))
    fixes = np.zeros((2, 6))
    fixes[:, 0], fixes[:, 2] = latitudes, 10.0
    save(tmp_path / "global_pose/frame_times", [1.0, 2.0])
    save(tmp_path / "global_pose/frame_positions", ecef)
    save(tmp_path / "global_pose/frame_velocities", ecef * 0 + [0.0, 0.0, 10.0])
    save(tmp_path / "processed_log/GNSS/live_gnss_ublox/t", [1.0, 2.0])
    save(tmp_path / "processed_log/GNSS/live_gnss_ublox/value", fixes)
    save(tmp_path / "processed_log/CAN/speed/t", [1.0000004, 1.5])
    save(tmp_path / "processed_log/CAN/speed/value", [[10.0], [10.0]])
    return tmp_path


def test_everything_is_on_one_map(directory: Path) -> None:
    segment = load_segment(directory)
    assert segment.speed.times.tolist() == [1_000_000, 1_500_000]
    np.testing.assert_allclose(segment.gnss.position, segment.reference.position, atol=1e-6)
    np.testing.assert_allclose(segment.reference.position, [[0, 0], [0, 10]], atol=1e-3)
    np.testing.assert_allclose(segment.reference.velocity, [[0, 10], [0, 10]], atol=1e-6)
    middle = segment.reference.position_at(np.array([1_500_000]))
    np.testing.assert_allclose(middle, [[0, 5]], atol=1e-3)


def test_a_folder_may_be_packed_into_a_file(directory: Path) -> None:
    """Also when it is damaged, or holds something else."""
    plain = load_segment(directory)
    speed = directory / "processed_log/CAN/speed"
    arrays = {path.name: np.load(path) for path in speed.iterdir()}
    for path in speed.iterdir():
        path.unlink()
    packed = speed.with_suffix(".npz")
    np.savez_compressed(packed, **arrays)
    again = load_segment(directory)
    np.testing.assert_array_equal(again.speed.times, plain.speed.times)
    np.testing.assert_array_equal(again.speed.speed, plain.speed.speed)
    np.savez_compressed(packed, t=arrays["t"])
    with pytest.raises(FileError, match=r"CAN/speed/value is not a readable NumPy file"):
        load_segment(directory)
    packed.write_bytes(packed.read_bytes()[:100])
    with pytest.raises(FileError, match=r"CAN/speed/t is not a readable NumPy file"):
        load_segment(directory)


def test_a_missing_file_is_named(directory: Path) -> None:
    (directory / "processed_log/CAN/speed/t").unlink()
    with pytest.raises(FileError, match=r"CAN/speed/t is not a readable NumPy file"):
        load_segment(directory)


def test_no_code_is_run_from_a_file(directory: Path) -> None:
    path = directory / "global_pose/frame_times"
    with path.open("wb") as file:
        np.save(file, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(FileError, match=r"frame_times is not a readable NumPy file"):
        load_segment(directory)


def test_a_wrong_shape_is_named(directory: Path) -> None:
    save(directory / "global_pose/frame_positions", [1.0, 2.0])
    with pytest.raises(FileError, match=r"got an array of float64 with shape \(2,\); expected"):
        load_segment(directory)


def test_times_and_values_that_do_not_belong_together_are_named(directory: Path) -> None:
    save(directory / "processed_log/CAN/speed/value", [[10.0]])
    with pytest.raises(
        FileError, match=r"shape \(1, 1\); expected floats with 1 columns and 2 rows"
    ):
        load_segment(directory)
    save(directory / "processed_log/CAN/speed/t", np.zeros(0))
    with pytest.raises(FileError, match=r"no columns and at least one row"):
        load_segment(directory)


def test_the_radar_is_read_in_the_data_sets_decoding(directory: Path) -> None:
    tracks = [[12.7, -0.5, -2.0, np.nan, np.nan, 535.0, 0.0]] * 2
    save(directory / "processed_log/CAN/radar/t", [1.0, 1.05])
    save(directory / "processed_log/CAN/radar/value", tracks)
    radar = load_radar(directory)
    assert (radar.forward[1], radar.left[1], radar.opening[1]) == (12.7, -0.5, -2.0)
    assert (radar.seconds.tolist(), radar.track.tolist()) == ([1.0, 1.05], [535.0, 535.0])
