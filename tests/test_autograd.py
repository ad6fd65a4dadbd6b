"""The engine, leaves, hooks, modes, in-place writes.  With `import torch` the file holds for PyTorch too, but for what is marked."""

import copy
import gc
import threading
import weakref

import pytest
from support.results import leaf

import rushlight as torch
from rushlight.autograd import graph


def test_accumulation_and_leaves():
    x = leaf(1.0, 2.0)
    y = x * 3
    assert x.is_leaf and not y.is_leaf and y.requires_grad
    y.sum().backward()
    first = x.grad
    (x * 2).sum().backward()
    assert x.grad is first and x.grad.tolist() == [5.0, 5.0]


def test_two_leaves_get_gradients_of_their_own():
    a, b = leaf(1.0), leaf(1.0)
    (a + b).backward()
    a.grad.add_(1)
    assert b.grad.tolist() == [1.0]


def test_the_given_gradient_is_not_taken_over():
    x = leaf(1.0, 1.0)
    g = torch.ones(2)
    (x + 0).backward(g)
    x.grad.mul_(5)
    assert g.tolist() == [1.0, 1.0]


def test_a_diamond():
    x = leaf(2.0)
    y = x * x
    (y * y + y).backward()
    assert x.grad.item() == 4 * 8 + 4


def test_only_scalars_start_backward():
    with pytest.raises(RuntimeError, match="scalar outputs"):
        (leaf(1.0, 2.0) * 2).backward()
    with pytest.raises(RuntimeError, match="does not require grad"):
        torch.ones(1).backward()
    with pytest.raises(RuntimeError, match="[Mm]ismatch in shape"):
        (leaf(1.0, 2.0) * 2).backward(torch.ones(3))


def test_freed_and_retained_graphs():
    x = leaf(2.0)
    y = x * x
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [8.0]
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


def test_grad():
    x, y, unused = leaf(2.0), leaf(3.0), leaf(1.0)
    z = x * x * y
    gx, gy = torch.autograd.grad(z, (x, y), retain_graph=True)
    assert (gx.item(), gy.item()) == (12.0, 4.0)
    assert x.grad is None
    with pytest.raises(RuntimeError, match="allow_unused"):
        torch.autograd.grad(z, unused, retain_graph=True)
    assert torch.autograd.grad(z, unused, retain_graph=True, allow_unused=True) == (None,)
    assert torch.autograd.grad(z, unused, retain_graph=True, materialize_grads=True)[0].tolist() == [0.0]
    with pytest.raises(RuntimeError, match="does not require grad"):
        torch.autograd.grad(z, torch.ones(1))
    with pytest.raises(ValueError):
        torch.autograd.grad(z, x, allow_unused=False, materialize_grads=True)


def test_grad_of_an_intermediate_value():
    x = leaf(2.0)
    y = x * x
    z = y * 3
    assert torch.autograd.grad(z, y)[0].tolist() == [3.0]


def test_backward_to_chosen_inputs():
    a, b = leaf(2.0), leaf(3.0)
    (a * b).backward(inputs=[a])
    assert a.grad.tolist() == [3.0] and b.grad is None
    with pytest.raises(RuntimeError, match="cannot be empty"):
        (a * b).backward(inputs=[])


def test_higher_derivatives():
    x = leaf(3.0, dtype=torch.float64)
    (first,) = torch.autograd.grad(x**4, x, create_graph=True)
    (second,) = torch.autograd.grad(first, x, create_graph=True)
    second.backward()
    assert (first.item(), second.item(), x.grad.item()) == (108.0, 108.0, 72.0)


def test_nodes():
    x = leaf(1.0)
    y = (x * 2).exp()
    assert y.grad_fn.name() == "ExpBackward0"
    ((mul, index),) = y.grad_fn.next_functions
    assert (mul.name(), index) == ("MulBackward0", 0)
    accumulate = mul.next_functions[0][0]
    assert accumulate.name().endswith("AccumulateGrad") and accumulate.variable is x
    assert mul.next_functions[0][0] is accumulate
    y.grad_fn.metadata["note"] = 1
    assert y.grad_fn.metadata == {"note": 1}
    assert y.grad_fn(torch.ones(1)).tolist() == y.tolist()


def test_tensor_hooks():
    x = leaf(1.0)
    y = x * 2
    seen = []
    y.register_hook(lambda g: seen.append(g.item()))
    y.register_hook(lambda g: g * 10)
    handle = x.register_hook(lambda g: g + 1)
    (y * 3).backward()
    assert seen == [3.0] and x.grad.item() == 61.0
    handle.remove()
    x.grad = None
    (x * 2).backward()
    assert x.grad.item() == 2.0
    with pytest.raises(RuntimeError):
        torch.ones(1).register_hook(print)


def test_node_hooks():
    x = leaf(1.0)
    y = x * 2
    seen = []
    y.grad_fn.register_prehook(lambda outputs: (outputs[0] * 5,))
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append((inputs[0].item(), outputs[0].item())))
    y.backward()
    assert seen == [(10.0, 5.0)] and x.grad.item() == 10.0


def test_post_accumulate_hooks():
    x = leaf(1.0)
    seen = []
    handle = x.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad.item()))
    (x * 2).backward()
    handle.remove()
    (x * 2).backward()
    assert seen == [2.0]
    x.register_post_accumulate_grad_hook(lambda t: t.grad)
    with pytest.raises(RuntimeError, match="hooks should return None"):
        (x * 2).backward()


def test_grad_mode_on_a_class_is_that_of_making_an_object():
    with pytest.warns(FutureWarning, match="Decorating classes is deprecated"):

        @torch.no_grad()
        class Made:
            def __init__(self):
                self.recorded = torch.is_grad_enabled()

    assert not Made().recorded


def test_retain_grad():
    x = leaf(1.0)
    y = x * 2
    y.retain_grad()
    assert y.retains_grad
    (y * 3).backward()
    assert y.grad.item() == 3.0


def test_modes():
    x = leaf(1.0)
    with torch.no_grad():
        y = x * 2
        with torch.enable_grad():
            z = x * 2
    assert not y.requires_grad and z.requires_grad

    @torch.no_grad()
    def function():
        return x * 2

    @torch.no_grad()
    def generator():
        yield x * 2
        yield torch.is_grad_enabled()

    assert not function().requires_grad
    values = generator()
    assert not next(values).requires_grad and torch.is_grad_enabled() and next(values) is False
    with torch.set_grad_enabled(False):
        assert not torch.is_grad_enabled()
    assert torch.is_grad_enabled()
    with torch.inference_mode():
        inside = x * 2
    assert inside.is_inference() and not inside.requires_grad
    with pytest.raises(RuntimeError):
        inside.add_(1)


def test_requires_grad_rules():
    with pytest.raises(RuntimeError, match="floating point"):
        torch.ones(2, dtype=torch.int64).requires_grad_()
    y = leaf(1.0) * 2
    with pytest.raises(RuntimeError, match="leaf"):
        y.requires_grad = False
    assert not y.detach().requires_grad
    x = leaf(1.0)
    with pytest.raises(RuntimeError, match="leaf"):
        x.add_(1)
    with torch.no_grad():
        x.add_(1)
    assert x.tolist() == [2.0]
    with pytest.raises(RuntimeError):
        x.grad = torch.ones(3)
    with pytest.raises(TypeError):
        x.grad = 3.0


def test_detach_shares_memory_and_versions():
    x = leaf(1.0, 2.0)
    y = x * 1
    d = y.detach()
    z = y * y
    d.mul_(2)
    assert y.tolist() == [2.0, 4.0]
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_data_is_not_counted():
    x = leaf(1.0)
    y = x * 1
    z = y * y
    y.data.mul_(3)
    z.backward()
    assert x.grad.item() == 6.0


def test_in_place():
    x = leaf(1.0, 2.0)
    y = x * 1
    y.mul_(3).add_(1)
    y += 1
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
    y = x * 1
    y.sin_()
    y.sum().backward()
    assert torch.allclose(x.grad, 3 + x.detach().cos())


def test_in_place_on_a_view_reaches_the_base():
    x = leaf(1.0, 2.0, 3.0, 4.0)
    y = x * 1
    y[1:3].mul_(10)
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 10.0, 10.0, 1.0]


def test_in_place_on_a_base_reaches_the_view():
    x = leaf(1.0, 2.0)
    y = x * 1
    view = y[0]
    y.mul_(5)
    view.backward()
    assert view.item() == 5.0 and x.grad.tolist() == [5.0, 0.0]


def test_views_of_views():
    x = leaf(*map(float, range(6)))
    y = (x * 1).reshape(2, 3)
    y.t()[1].mul_(7)
    y[1, 2] = 0
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 7.0, 1.0, 1.0, 7.0, 0.0]


def test_a_buffer_filled_row_by_row():
    w = leaf(1.0, 2.0, 3.0)
    buffer = torch.zeros(2, 3)
    early = buffer[1]
    buffer[0] = w * 2
    buffer[1].copy_(w * 3)
    assert buffer.requires_grad and early.requires_grad
    (buffer.sum() + early.sum()).backward()
    assert w.grad.tolist() == [8.0, 8.0, 8.0]


def test_masked_assignment_in_the_middle():
    x, y = leaf(1.0, -2.0, 3.0, -4.0), leaf(10.0, 20.0)
    z = x * 2
    z[z < 0] = y * 3
    (z * torch.tensor([1.0, 2.0, 3.0, 4.0])).sum().backward()
    assert x.grad.tolist() == [2.0, 0.0, 6.0, 0.0]
    assert y.grad.tolist() == [6.0, 12.0]


def test_in_place_errors():
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="view of a leaf"):
        x[0].mul_(2)
    with torch.no_grad():
        view = (x * 1)[0]
    parts = (x * 1).unbind()
    with pytest.raises(RuntimeError, match="multiple views"):
        parts[0].mul_(2)
    del view
    with pytest.raises(RuntimeError, match="single memory location"):
        torch.ones(1).expand(3).add_(1)
    with pytest.raises(RuntimeError, match="shape"):
        torch.ones(2).add_(torch.ones(3, 2))
    with pytest.raises(RuntimeError, match="can't be cast"):
        torch.ones(2, dtype=torch.int64).add_(1.5)


def test_a_saved_input_changed_in_place():
    x = leaf(1.0)
    y = x.exp()
    z = y * y
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()
    y = x.exp()
    y.add_(1)  # exp keeps its result
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_broadcast_and_types_come_back():
    a = leaf(1.0, 2.0)
    b = torch.ones(3, 1, 2, dtype=torch.float64, requires_grad=True)
    (a * b).sum().backward()
    assert a.grad.dtype == torch.float32 and a.grad.tolist() == [3.0, 3.0]
    assert b.grad.dtype == torch.float64 and b.grad.shape == (3, 1, 2)


def test_complex_gradients():
    z = torch.tensor([1 + 2j], requires_grad=True)
    (z * z.conj()).real.sum().backward()
    assert z.grad.tolist() == [2 + 4j]
    with pytest.raises(RuntimeError, match="real scalar"):
        (z * 2).sum().backward()
    x = leaf(2.0)
    (x * (1 + 1j)).abs().sum().backward()
    assert abs(x.grad.item() - 2**0.5) < 1e-6


def test_saved_tensor_hooks():
    packed = []

    def pack(t):
        packed.append(t.shape)
        return t.detach().clone()

    x = leaf(1.0, 2.0)
    with graph.saved_tensors_hooks(pack, lambda t: t * 2):
        y = x * x
    y.sum().backward()
    assert len(packed) == 2 and x.grad.tolist() == [4.0, 8.0]
    with graph.disable_saved_tensors_hooks("not now"), pytest.raises(RuntimeError, match="not now"):
        graph.saved_tensors_hooks(pack, pack).__enter__()


def test_checkpoint():
    from rushlight.utils.checkpoint import checkpoint, checkpoint_sequential

    calls = []

    def function(x):
        calls.append(1)
        return (x * x).exp()

    for reentrant in (True, False):
        x = leaf(0.5, 1.0)
        calls.clear()
        checkpoint(function, x, use_reentrant=reentrant).sum().backward()
        assert len(calls) == 2
        expected = leaf(0.5, 1.0)
        (expected * expected).exp().sum().backward()
        assert torch.allclose(x.grad, expected.grad)
    y = leaf(0.5)
    checkpoint_sequential([torch.exp, torch.sin, torch.exp], 2, y, use_reentrant=False).backward()
    assert y.grad is not None


def test_anomaly_names_the_forward_line():
    x = leaf(0.0)
    with pytest.warns(UserWarning) as caught, torch.autograd.detect_anomaly():
        y = x.sqrt() * 0  # the line to be named
        with pytest.raises(RuntimeError, match="returned nan values"):
            y.backward()
    assert any("the line to be named" in str(each.message) for each in caught)


def test_functional():
    from rushlight.autograd import functional

    x = torch.tensor([1.0, 2.0])
    assert functional.jacobian(lambda x: x**2, x).tolist() == [[2.0, 0.0], [0.0, 4.0]]
    assert functional.hessian(lambda x: (x**3).sum(), x).tolist() == [[6.0, 0.0], [0.0, 12.0]]
    value, product = functional.vjp(lambda x: x**2, x, torch.tensor([1.0, 1.0]))
    assert value.tolist() == [1.0, 4.0] and product.tolist() == [2.0, 4.0]
    value, product = functional.jvp(lambda x: x**2, x, torch.tensor([1.0, 1.0]))
    assert product.tolist() == [2.0, 4.0]
    assert functional.vhp(lambda x: (x**3).sum(), x, torch.ones(2))[1].tolist() == [6.0, 12.0]
    assert functional.hvp(lambda x: (x**3).sum(), x, torch.ones(2))[1].tolist() == [6.0, 12.0]
    a, b = functional.jacobian(lambda x, y: x * y.sum(), (x, torch.ones(3)))
    assert a.shape == (2, 2) and b.shape == (2, 3)


def test_deep_graphs_need_no_recursion():
    x = leaf(1.0)
    y = x
    for _ in range(100_000):
        y = y + 1
    y.backward()
    assert x.grad.item() == 1.0
    del y


def test_a_graph_is_freed_without_the_garbage_collector():
    gc.collect()
    gc.disable()
    try:
        x = leaf(1.0, 2.0)
        y = (x * 2).exp().tanh() * x
        z = y.sum()
        references = [weakref.ref(y), weakref.ref(y.grad_fn), weakref.ref(z.grad_fn)]
        z.backward()
        del y, z
        assert [each() for each in references] == [None] * 3
    finally:
        gc.enable()


def test_threads():
    x = torch.ones(100, requires_grad=True)

    def work():
        for _ in range(50):
            (x * 2).sum().backward()

    with torch.no_grad():
        threads = [threading.Thread(target=work) for _ in range(4)]  # grad mode is each thread's own
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    assert x.grad.tolist() == [400.0] * 100


def test_backward_inside_backward():
    class Inner(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            with torch.enable_grad():
                t = ctx.saved_tensors[0].detach().requires_grad_()
                (t * t).sum().backward()
            return g * t.grad

    x = leaf(3.0)
    Inner.apply(x).backward()
    assert x.grad.item() == 6.0


def test_deepcopy_of_tensors():
    x = leaf(1.0)
    y = copy.deepcopy(x)
    assert y.requires_grad and y is not x and y.data_ptr() != x.data_ptr()
    with pytest.raises(RuntimeError, match="deepcopy"):
        copy.deepcopy(x * 2)


def test_multi_grad_hook():
    a, b = leaf(1.0), leaf(2.0)
    seen = []
    handle = graph.register_multi_grad_hook((a, b), lambda grads: seen.append([g.item() for g in grads]))
    (a * b).backward()
    handle.remove()
    (a * b).backward()
    assert seen == [[2.0, 1.0]]


def test_a_variable_is_a_leaf_of_its_own() -> None:
    x = torch.ones(2, requires_grad=True)
    variable = torch.autograd.Variable(x, requires_grad=True)
    (variable * 2).sum().backward()
    assert variable is not x and x.grad is None and variable.grad.tolist() == [2, 2]
    variable.data.add_(1)
    assert x.tolist() == [2, 2] and isinstance(x, torch.autograd.Variable) and not torch.autograd.Variable(x).requires_grad


def test_retained_gradients_are_those_of_the_written_value() -> None:
    a = torch.tensor([1.0], requires_grad=True).clone()
    a.retain_grad()
    a.mul_(2)
    assert a.retains_grad
    a.sum().backward()
    assert a.grad.tolist() == [1]
    base = torch.tensor([1.0], requires_grad=True).clone()
    first, second = base[:], base[:]
    first.retain_grad()
    second.retain_grad()
    first.mul_(2)
    (first + second).sum().backward()
    assert first.grad.tolist() == [1] and second.grad.tolist() == [1]


def test_hooks_on_a_leafs_gradient_run_while_backward_goes_on() -> None:
    order: list[str] = []

    class Marked(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, name):
            ctx.name = name
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            order.append(ctx.name)
            return grad, None

    first, second = (torch.ones(2, requires_grad=True) for _ in range(2))
    first.register_post_accumulate_grad_hook(lambda leaf: order.append(f"first {leaf.grad.tolist()}"))
    second.register_post_accumulate_grad_hook(lambda leaf: order.append(f"second {leaf.grad.tolist()}"))
    x = Marked.apply(first * 1.0, "early")
    x = Marked.apply(x * second, "middle") * second  # used twice: its gradient is whole after both
    Marked.apply(x, "late").sum().backward()
    assert order == ["late", "middle", "second [2.0, 2.0]", "early", "first [1.0, 1.0]"]
