"""The data sets: sizes, dtypes, ranges, and the same at every call."""

import math

import pytest
import torch

from amp_lessons.data import load_digits, plate_displacement


def test_digits():
    train_x, train_y, test_x, test_y = load_digits()
    assert (train_x.shape, train_y.shape) == ((1400, 64), (1400,))
    assert (test_x.shape, test_y.shape) == ((397, 64), (397,))
    assert {train_x.dtype, test_x.dtype} == {torch.float32}
    assert {train_y.dtype, test_y.dtype} == {torch.int64}
    assert (train_x.min().item(), train_x.max().item()) == (0.0, 1.0)
    for labels in (train_y, test_y):
        assert labels.unique().tolist() == list(range(10))
        shares = torch.bincount(labels) / len(labels)
        assert shares.min() > 0.06, "shuffled, so every digit makes up about a tenth"


def test_digits_are_the_same_at_every_call_and_leave_the_seed_alone():
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    first = load_digits()
    assert torch.rand(1) == expected
    for once, again in zip(first, load_digits()):
        assert torch.equal(once, again)


def test_no_digit_is_in_both_parts():
    train_x, _, test_x, _ = load_digits()
    everything = torch.cat([train_x, test_x])
    assert len(everything.unique(dim=0)) == len(everything)


def test_plate():
    points, displacement = plate_displacement()
    assert (points.shape, displacement.shape) == ((4096, 2), (4096, 1))
    assert points.dtype == displacement.dtype == torch.float32
    assert points.min() == -1
    assert points.max() == 1
    assert len(points.unique(dim=0)) == 4096
    for index in (0, 1000, 4095):
        x, y = points[index].tolist()
        assert displacement[index].item() == pytest.approx(
            0.003 * math.sin(3 * x) * math.cos(2 * y), abs=1e-8
        )
    assert 0.00297 < displacement.abs().max() <= 0.003


def test_plate_of_another_size():
    points, displacement = plate_displacement(side=2)
    assert points.tolist() == [[-1, -1], [-1, 1], [1, -1], [1, 1]]
    assert displacement.shape == (4, 1)


@pytest.mark.parametrize("side", [1, 0, -4, 2.5, "64", None, True])
def test_a_bad_side_says_what_is_needed(side):
    with pytest.raises(ValueError, match="whole number from 2"):
        plate_displacement(side=side)


def test_on_another_device():
    assert {tensor.device.type for tensor in (*load_digits("meta"), *plate_displacement(8, "meta"))} == {
        "meta"
    }
