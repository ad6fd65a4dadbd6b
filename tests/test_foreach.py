"""``torch._foreach_*``, ``torch._fused_*``: what each op gives tensor by tensor."""

from __future__ import annotations

import pytest

import rushlight as torch
from rushlight.compat import foreach, foreach_utils
from rushlight.compat.names import PRIVATE_ATTRIBUTES


def tensors(*, positive: bool = False):
    made = [torch.arange(1.0, 4.0) / 4, torch.full((2, 2), 0.5), torch.tensor(0.25)]
    return made if positive else [each - 0.4 for each in made]


def same(found, expected):
    assert len(found) == len(expected)
    for a, b in zip(found, expected):
        assert torch.equal(a, b) and a.dtype is b.dtype


def test_every_name_is_there():
    names = PRIVATE_ATTRIBUTES["torch"]["rushlight.compat.foreach"].split()
    assert all(callable(getattr(foreach, name)) for name in names)
    assert {name for name in vars(foreach) if name.startswith(("_foreach", "_fused"))} <= set(names)


@pytest.mark.parametrize("name", foreach.UNARY)
def test_unary(name):
    given = tensors(positive=True)
    expected = [getattr(torch, name)(each) for each in given]
    same(getattr(foreach, f"_foreach_{name}")(given), expected)
    assert getattr(foreach, f"_foreach_{name}_")(given) is given
    same(given, expected)


@pytest.mark.parametrize("name", foreach.BINARY)
def test_binary(name):
    def plain(a, b):
        function = {"maximum": torch.clamp_min, "minimum": torch.clamp_max}.get(name) if not isinstance(b, torch.Tensor) else None
        return (function or getattr(torch, name))(a, b)

    others = tensors(positive=True)
    forms = [2.0, [1.5, 2.0, 0.5], others, *([torch.tensor(2.0)] if name in foreach.WITH_TENSOR else [])]
    for other in forms:
        given = tensors(positive=True)
        expected = [plain(each, other[i] if isinstance(other, list) else other) for i, each in enumerate(given)]
        same(getattr(foreach, f"_foreach_{name}")(given, other), expected)
        assert getattr(foreach, f"_foreach_{name}_")(given, other) is given
        same(given, expected)


def test_other_forms():
    a, b, c = tensors(), tensors(positive=True), tensors(positive=True)
    same(foreach._foreach_add(a, b, alpha=2), [torch.add(x, y, alpha=2) for x, y in zip(a, b)])
    same(foreach._foreach_pow(2.0, a), [torch.pow(2.0, x) for x in a])
    same(foreach._foreach_lerp(a, b, 0.5), [torch.lerp(x, y, 0.5) for x, y in zip(a, b)])
    same(foreach._foreach_lerp(a, b, weights=c), [torch.lerp(x, y, z) for x, y, z in zip(a, b, c)])
    for scalars in ([1.0, 2.0, 3.0], torch.tensor([1.0, 2.0, 3.0])):
        same(foreach._foreach_addcmul(a, b, c, scalars), [torch.addcmul(x, y, z, value=v) for x, y, z, v in zip(a, b, c, (1.0, 2.0, 3.0))])
    same(foreach._foreach_addcdiv(a, b, c, value=0.5), [torch.addcdiv(x, y, z, value=0.5) for x, y, z in zip(a, b, c)])
    same(foreach._foreach_norm(a, ord=1), [x.abs().sum() for x in a])
    same(foreach._foreach_max(a), [x.max() for x in a])
    foreach._foreach_copy_(a, b)
    same(a, b)
    same(foreach._foreach_zero_(a), [torch.zeros_like(x) for x in a])


def test_gradients_flow():
    leaves = [each.requires_grad_() for each in tensors(positive=True)]
    sum(each.sum() for each in foreach._foreach_mul(leaves, [2.0, 3.0, 4.0])).backward()
    assert [each.grad.flatten()[0].item() for each in leaves] == [2.0, 3.0, 4.0]


def test_mistakes():
    a = tensors()
    with pytest.raises(RuntimeError, match="Tensor list must have same number of elements as scalar list"):
        foreach._foreach_add(a, [1.0])
    with pytest.raises(RuntimeError, match="Tensor list must have at least one tensor"):
        foreach._foreach_add([], 1)
    with pytest.raises(RuntimeError, match="Tensor lists must have the same number of tensors, got 3 and 1"):
        foreach._foreach_add(a, a[:1])
    with pytest.raises(RuntimeError, match="scalar tensor expected to be 0 dim but it has 1 dimensions and 2 elements"):
        foreach._foreach_add(a, torch.ones(2))


@pytest.mark.parametrize("name", ["Adam", "AdamW", "SGD", "Adagrad"])
def test_fused_steps_are_those_of_the_optimizers(name):
    options = {"SGD": {"lr": 0.1, "momentum": 0.9}}.get(name, {"lr": 0.1})
    values, grads = tensors(), tensors(positive=True)
    plain = [each.clone().requires_grad_() for each in values]
    optimizer = getattr(torch.optim, name)(plain, **options)
    state = [[torch.zeros_like(each) for each in values] for _ in range(3)]
    for step in (1, 2):
        for each, grad in zip(plain, grads):
            each.grad = grad.clone()
        optimizer.step()
        steps = [torch.tensor(float(step)) for _ in values]
        if name == "SGD":
            foreach._fused_sgd_(values, grads, state[0], weight_decay=0, momentum=0.9, lr=0.1, dampening=0, nesterov=False, maximize=False,
                                is_first_step=step == 1)  # fmt: skip
        elif name == "Adagrad":
            foreach._fused_adagrad_(values, grads, state[0], steps, lr=0.1, lr_decay=0, weight_decay=0, eps=1e-10, maximize=False)
        else:
            getattr(foreach, f"_fused_{name.lower()}_")(
                values, grads, state[0], state[1], state[2], steps, lr=0.1, beta1=0.9, beta2=0.999,
                weight_decay=0.01 if name == "AdamW" else 0, eps=1e-8, amsgrad=False, maximize=False,
            )  # fmt: skip
    for a, b in zip(values, plain):
        assert torch.allclose(a, b.detach(), rtol=1e-5)


def test_tensors_are_grouped():
    first = [torch.ones(1), torch.ones(1, dtype=torch.float64), torch.ones(2)]
    groups = foreach_utils._group_tensors_by_device_and_dtype([first, list(range(3))], with_indices=True)
    assert {str(key[1]): places for key, (_, places) in groups.items()} == {"torch.float32": [0, 2], "torch.float64": [1]}
    assert groups[torch.device("cpu"), torch.float32][0][1] == [0, 2]
