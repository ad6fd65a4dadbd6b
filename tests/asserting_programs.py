"""Programs with ``assert``, in a file of their own: pytest rewrites the statement in files of tests."""

import rushlight as torch


def positive(x, y):
    x.add_(1)
    noise = torch.rand(2)
    assert y.sum() > 0, "the sum must be positive"
    y.mul_(2)
    return x + y + noise


def caught(x):
    try:
        assert (x > 0).all()
    except AssertionError:
        return x - 1
    return x + 1


def squares(x):
    y = x * x
    assert y.sum() > 0
    return (y * 3).sum()
