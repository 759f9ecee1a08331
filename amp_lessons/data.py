"""Two small data sets that several lessons use. Nothing is downloaded."""

import torch


def load_digits(device="cpu"):
    """Give 1,797 handwritten digits as (train_x, train_y, test_x, test_y).

    train_x (1400, 64) and test_x (397, 64): float32, 8 by 8 pixels row by row, 0 is white and 1 is ink.
    train_y (1400,) and test_y (397,): int64, the digit 0 to 9. Shuffled, the same way at every call.

    Source: the test part of UCI "Optical Recognition of Handwritten Digits" (Alpaydin and Kaynak, 1998),
    as it comes with scikit-learn.
    """
    from sklearn import datasets  # imported here because it is slow and only this function needs it

    digits = datasets.load_digits()
    images = torch.tensor(digits.data, dtype=torch.float32) / 16  # scikit-learn counts ink from 0 to 16
    labels = torch.tensor(digits.target, dtype=torch.int64)
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(0))
    images, labels = images[order].to(device), labels[order].to(device)
    return images[:1400], labels[:1400], images[1400:], labels[1400:]


def plate_displacement(side=64, device="cpu"):
    """Give a grid of points on a plate and how far each point moved: (points, displacement).

    side: points along one edge, a whole number from 2.
    points (side², 2): float32, x and y in metres, from -1 to 1.
    displacement (side², 1): float32, in metres: 0.003 · sin(3x) · cos(2y), so at most 3 mm.

    ValueError if side is not a whole number from 2.
    """
    if isinstance(side, bool) or not isinstance(side, int) or side < 2:
        raise ValueError(f"side is the number of points along an edge, a whole number from 2; got {side!r}.")
    edge = torch.linspace(-1, 1, side)
    x, y = torch.meshgrid(edge, edge, indexing="ij")
    points = torch.stack([x.flatten(), y.flatten()], dim=1)
    displacement = 0.003 * torch.sin(3 * points[:, :1]) * torch.cos(2 * points[:, 1:])
    return points.to(device), displacement.to(device)
