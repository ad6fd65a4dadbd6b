"""Edges of the gradient graph as outputs and inputs of `grad` and `backward`, dicts of inputs, and hooks on several tensors."""

from __future__ import annotations

import pytest

import rushlight as torch
import rushlight.nn.functional as F
from rushlight.autograd import graph


def chain():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    middle = x * 2
    return x, middle, (middle * middle).sum()


def test_gradients_with_respect_to_edges_of_inner_nodes_and_leaves():
    x, middle, loss = chain()
    (inner,) = torch.autograd.grad(loss, graph.get_gradient_edge(middle), retain_graph=True)
    assert inner.tolist() == [4, 8, 12]
    inner, outer = torch.autograd.grad(loss, [graph.get_gradient_edge(middle), graph.get_gradient_edge(x)], retain_graph=True)
    assert inner.tolist() == [4, 8, 12] and outer.tolist() == [8, 16, 24]
    torch.autograd.backward(loss, inputs=[graph.get_gradient_edge(x)])
    assert x.grad.tolist() == [8, 16, 24]


def test_gradients_of_edges():
    x, middle, loss = chain()
    edge, last = graph.get_gradient_edge(middle), graph.get_gradient_edge(loss)
    del middle, loss  # the edges keep the graph alive
    (found,) = torch.autograd.grad(last, x, retain_graph=True)
    assert found.tolist() == [8, 16, 24]
    (found,) = torch.autograd.grad(edge, x, torch.tensor([1.0, 10.0, 100.0]), retain_graph=True)
    assert found.tolist() == [2, 20, 200]
    with pytest.raises(RuntimeError, match="implicitly created only for scalar outputs"):
        torch.autograd.grad(edge, x, retain_graph=True)
    torch.autograd.backward([edge, last], [torch.ones(3), None])
    assert x.grad.tolist() == [10, 18, 26]


def test_an_edge_of_one_of_several_outputs():
    x = torch.tensor([3.0, 1.0, 2.0], requires_grad=True)
    first, second = x.split([1, 2])
    edge = graph.get_gradient_edge(second)
    assert edge.output_nr == 1 and edge.node is second.grad_fn
    (found,) = torch.autograd.grad((second * torch.tensor([5.0, 7.0])).sum() + first.sum(), edge)
    assert found.tolist() == [5, 7]


def test_an_unused_edge():
    x, middle, _ = chain()
    other = graph.get_gradient_edge(x * 3)
    assert torch.autograd.grad(middle.sum(), other, allow_unused=True, retain_graph=True) == (None,)
    with pytest.raises(RuntimeError, match="materialize_grads cannot be used when the given input is a GradientEdge"):
        torch.autograd.grad(middle.sum(), other, materialize_grads=True)


def test_two_tensors_with_one_history_get_the_same_gradient():
    x, middle, loss = chain()
    again = middle.view_as(middle)
    twice = torch.autograd.grad(loss, [graph.get_gradient_edge(middle), middle], retain_graph=True)
    assert [each.tolist() for each in twice] == [[4, 8, 12], [4, 8, 12]]
    assert torch.autograd.grad(loss, again, allow_unused=True) == (None,)


def test_a_dict_of_inputs():
    x, middle, loss = chain()
    found = torch.autograd.grad(loss, {"x": x, "middle": middle}, retain_graph=True)
    assert {name: each.tolist() for name, each in found.items()} == {"x": [8, 16, 24], "middle": [4, 8, 12]}
    batched = torch.autograd.grad(middle, {"x": x}, torch.eye(3), is_grads_batched=True, retain_graph=True)
    assert batched["x"].tolist() == [[2, 0, 0], [0, 2, 0], [0, 0, 2]]
    torch.autograd.backward(loss, inputs={"x": x})
    assert x.grad.tolist() == [8, 16, 24]
    with pytest.raises(RuntimeError, match="cannot be empty"):
        torch.autograd.grad(loss, {})


def test_metadata_of_a_node():
    _, middle, _ = chain()
    (found,) = middle.grad_fn._input_metadata
    assert found.shape == (3,) and found.dtype is torch.float32


def test_a_hook_on_several_tensors_waits_only_for_gradients_that_are_computed():
    x, middle, loss = chain()
    unused = torch.ones(3, requires_grad=True) * 3
    seen = []
    handle = graph.register_multi_grad_hook([middle, x, unused], lambda gradients: seen.append([each is not None for each in gradients]))
    loss.backward(retain_graph=True)
    assert seen == [[True, True, False]]
    torch.autograd.grad(loss, middle, retain_graph=True)
    assert seen[1:] == [[True, False, False]]
    (loss + unused.sum()).backward(retain_graph=True)
    assert seen[2:] == [[True, True, True]]
    handle.remove()
    loss.backward()
    assert len(seen) == 3


def test_a_hook_on_several_tensors_begins_anew_after_a_backward_that_failed():
    x, middle, loss = chain()
    failing = [True]

    def fail(gradient):
        if failing[0]:
            raise ValueError("stop")

    x.register_hook(fail)
    seen = []
    graph.register_multi_grad_hook([middle, x], lambda gradients: seen.append(len(gradients)))
    with pytest.raises(ValueError, match="stop"):
        loss.backward(retain_graph=True)
    failing[0] = False
    loss.backward()
    assert seen == [2]


def test_hooks_of_the_node_that_accumulates_into_a_leaf():
    x = torch.ones(3, requires_grad=True)
    heard = []
    accumulator = x.expand_as(x).grad_fn.next_functions[0][0]
    accumulator.register_hook(lambda inputs, outputs: heard.append(("after", len(inputs), outputs[0].tolist(), x.grad.tolist())))
    accumulator.register_prehook(lambda gradients: (gradients[0] * 10,))
    x.register_hook(lambda gradient: heard.append(("tensor", gradient.tolist())))
    x.register_post_accumulate_grad_hook(lambda leaf: heard.append(("accumulated", leaf.grad.tolist())))
    del accumulator
    (x * 2).sum().backward()
    assert heard == [("tensor", [2, 2, 2]), ("accumulated", [20, 20, 20]), ("after", 0, [20, 20, 20], [20, 20, 20])]
    heard.clear()
    (found,) = torch.autograd.grad((x * 3).sum(), x)  # nothing is accumulated
    assert heard == [("tensor", [3, 3, 3])] and found.tolist() == [3, 3, 3]


def test_a_node_whose_output_is_asked_for_does_not_run_its_own_hooks():
    x, middle, loss = chain()
    heard = []
    middle.register_hook(lambda gradient: heard.append("tensor"))
    middle.grad_fn.register_prehook(lambda gradients: heard.append("before"))
    middle.grad_fn.register_hook(lambda inputs, outputs: heard.append("after"))
    torch.autograd.grad(loss, middle, retain_graph=True)
    assert heard == ["tensor"]
    torch.autograd.grad(loss, x)
    assert heard == ["tensor", "tensor", "before", "after"]


def test_materialized_gradients_can_be_differentiated_where_a_graph_is_asked_for():
    x, a = torch.tensor(0.5, requires_grad=True), torch.tensor(1.0, requires_grad=True)
    (first,) = torch.autograd.grad(x * a, x, create_graph=True)
    (second,) = torch.autograd.grad(first, x, create_graph=True, materialize_grads=True)
    (third,) = torch.autograd.grad(second, x, materialize_grads=True)
    assert second.item() == third.item() == 0


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_bounds_of_activations_of_half_precision_are_not_rounded_in_the_gradient(dtype):
    at = torch.tensor([0.1, 0.3, -0.3, 0.7], dtype=torch.float32).to(dtype)
    for function in (
        lambda x: F.threshold(x, 0.1, 20.0),
        lambda x: F.hardtanh(x, -0.3, 0.7),
        lambda x: F.hardshrink(x, 0.3),
        lambda x: F.softshrink(x, 0.3),
    ):
        narrow, wide = at.clone().requires_grad_(), at.float().requires_grad_()
        function(narrow).sum().backward()
        function(wide).sum().backward()
        assert narrow.grad.tolist() == wide.grad.tolist()


def test_not_a_number_is_not_counted_by_distances():
    x = torch.tensor([[float("nan"), 1.0], [0.0, 0.0], [1.0, 2.0]])
    assert [str(each) for each in torch.pdist(x, 0.0).tolist()] == ["nan", "nan", "2.0"]
    assert [str(each) for each in torch.cdist(x, x, 0.0)[0].tolist()] == ["nan"] * 3


def test_variances_of_a_gaussian_loss_may_be_shared_along_one_dimension():
    mean, target = torch.zeros(2, 3, 4), torch.ones(2, 3, 4)
    for shape in ((2, 3, 1), (2, 1, 4), (1, 3, 4), (2, 3)):
        assert F.gaussian_nll_loss(mean, target, torch.ones(shape)).item() == 0.5
    for shape in ((3, 4), (1, 1, 4), (1,), (2, 3, 2)):
        with pytest.raises(ValueError, match="var is of incorrect size"):
            F.gaussian_nll_loss(mean, target, torch.ones(shape))
