"""Programs over ``func``, for any package that speaks PyTorch's language: run by the tests and by their recorder.

A program takes the package and returns tensors in nested containers.  A bad call takes the package and is refused.
"""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

import numpy as np

Program = Callable[[Any], Any]
PROGRAMS: dict[str, Program] = {}
BAD_CALLS: dict[str, Program] = {}


def program(function: Program) -> Program:
    PROGRAMS[function.__name__] = function
    return function


def bad(name: str) -> Callable[[Program], Program]:
    def register(function: Program) -> Program:
        BAD_CALLS[name] = function
        return function

    return register


def real(torch: Any, *shape: int, seed: int = 0) -> Any:
    return torch.tensor(np.random.default_rng((seed, *shape)).normal(size=shape).astype(np.float32).tolist()).reshape(shape)


def layers(torch: Any, sizes: tuple[int, ...] = (3, 4, 2)) -> dict[str, Any]:
    found = {}
    for index, (a, b) in enumerate(zip(sizes, sizes[1:])):
        found[f"weight{index}"], found[f"bias{index}"] = real(torch, b, a, seed=index), real(torch, b, seed=index)
    return found


def network(torch: Any, parameters: dict[str, Any], x: Any) -> Any:
    count = len(parameters) // 2
    for index in range(count):
        x = torch.nn.functional.linear(x, parameters[f"weight{index}"], parameters[f"bias{index}"])
        x = torch.tanh(x) if index + 1 < count else x
    return x


def loss(torch: Any, parameters: dict[str, Any], x: Any, y: Any) -> Any:
    return torch.nn.functional.cross_entropy(network(torch, parameters, x), y)


# -- derivatives -------------------------------------------------------------------------------------------------


@program
def grad_of_grad(torch: Any) -> Any:
    f = torch.func
    x = torch.tensor(0.7)
    return f.grad(torch.sin)(x), f.grad(f.grad(torch.sin))(x), f.grad(f.grad(f.grad(torch.sin)))(x)


@program
def grad_with_argnums_and_aux(torch: Any) -> Any:
    x, y = real(torch, 3), real(torch, 3, seed=1)

    def function(x: Any, y: Any, *, scale: float) -> Any:
        return (x * y.exp()).sum() * scale, {"product": x * y}

    one = torch.func.grad(function, has_aux=True)(x, y, scale=2.0)
    both = torch.func.grad_and_value(function, argnums=(1, 0), has_aux=True)(x, y, scale=2.0)
    return one, both, torch.func.grad(lambda x, y: (x * y).sum(), argnums=-1)(x, y)


@program
def grad_of_containers(torch: Any) -> Any:
    parameters = layers(torch)
    return torch.func.grad(lambda p: loss(torch, p, real(torch, 5, 3), torch.tensor([0, 1, 1, 0, 1])))(parameters)


@program
def grad_and_what_is_captured(torch: Any) -> Any:
    weight = real(torch, 3).requires_grad_()
    x = real(torch, 3, seed=1)
    found = torch.func.grad(lambda x: (weight * x * x).sum())(x)
    unrelated = torch.func.grad(lambda x: (x * x).sum() + weight.sum())(x)
    assert found.requires_grad and not unrelated.requires_grad and weight.grad is None
    found.sum().backward()
    return found.detach(), weight.grad


@program
def grad_and_no_grad(torch: Any) -> Any:
    def function(x: Any) -> Any:
        with torch.no_grad():
            constant = x**2
        return (x * constant).sum()

    x = real(torch, 3).requires_grad_()
    with torch.no_grad():
        outside = torch.func.grad(lambda x: (x**3).sum())(x)
    assert not outside.requires_grad
    inside = torch.func.grad(function)(x)
    return outside, inside.detach(), torch.func.jvp(function, (x.detach(),), (torch.ones(3),))


@program
def grad_is_differentiable_outside(torch: Any) -> Any:
    x = real(torch, 3).requires_grad_()
    (torch.func.grad(lambda x: (x**3).sum())(x) * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    return x.grad


@program
def products_with_jacobians(torch: Any) -> Any:
    x, y = real(torch, 3), real(torch, 3, seed=1)
    function = lambda x, y: {"a": (x * y).sin(), "b": (x.sum(), y)}
    value, pull = torch.func.vjp(function, x, y)
    cotangent = {"a": torch.ones(3), "b": (torch.tensor(2.0), y)}
    pushed = torch.func.jvp(function, (x, y), (y, x))
    again = torch.func.jvp(lambda x: torch.func.jvp(torch.exp, (x,), (y,))[1], (x,), (y,))
    return value, pull(cotangent), pull(cotangent), pushed, again


@program
def vjp_with_aux(torch: Any) -> Any:
    value, pull, aux = torch.func.vjp(lambda x: (x.cos(), x * 2), real(torch, 2, 2), has_aux=True)
    return value, aux, pull(torch.ones(2, 2)), torch.func.jvp(lambda x: (x * x, x), (aux,), (value,), has_aux=True)


@program
def jacobians(torch: Any) -> Any:
    f = torch.func
    x, y = real(torch, 3), real(torch, 2, seed=1)
    function = lambda x, y: (torch.outer(x, y).sin(), {"sum": x.sum() * y})
    return (
        f.jacrev(function, argnums=(0, 1))(x, y), f.jacfwd(function, argnums=(0, 1))(x, y), f.jacrev(function)(x, y),
        f.jacfwd(function, argnums=1)(x, y), f.jacrev(torch.exp, chunk_size=2)(x),
        f.jacrev(lambda d: d["a"] * d["b"].sum())({"a": x, "b": y}), f.jacrev(lambda x: (x * x, x + 1), has_aux=True)(x),
        f.jacfwd(lambda x: (x * x, x + 1), has_aux=True)(x),
    )  # fmt: skip


@program
def hessians(torch: Any) -> Any:
    f = torch.func
    x, y = real(torch, 3), real(torch, 3, seed=1)
    function = lambda x, y: (x**3 * y).sum() + (x * y).sin().sum()
    parameters = layers(torch, (2, 2, 2))
    return (
        f.hessian(function, argnums=(0, 1))(x, y), f.jacrev(f.jacrev(function))(x, y), f.jacfwd(f.jacfwd(function))(x, y),
        f.jacrev(f.jacfwd(function))(x, y),
        f.hessian(lambda p: loss(torch, p, real(torch, 3, 2), torch.tensor([0, 1, 1])))(parameters),
    )  # fmt: skip


@program
def linear_approximation(torch: Any) -> Any:
    value, push = torch.func.linearize(lambda x: (x.sin(), x.sum()), real(torch, 3))
    return value, push(torch.ones(3)), push(real(torch, 3, seed=1))


@program
def forward_mode(torch: Any) -> Any:
    dual = torch.autograd.forward_ad
    x, tangent = real(torch, 3), real(torch, 3, seed=1)
    with dual.dual_level():
        a = dual.make_dual(x, tangent)
        b = dual.make_dual(x * 2, tangent * 3)
        first, second = dual.unpack_dual((a * b).sin()), dual.unpack_dual(a.exp())
        plain = dual.unpack_dual(x)
        written = x.clone()
        written.mul_(a)
        third = dual.unpack_dual(written)
    assert plain.tangent is None
    return first.tangent, second.tangent, third.tangent


# -- vmap --------------------------------------------------------------------------------------------------------


@program
def vmap_dimensions(torch: Any) -> Any:
    x, y = real(torch, 2, 3, 4), real(torch, 4, seed=1)
    Pair = collections.namedtuple("Pair", ["first", "second"])
    return (
        torch.vmap(lambda a: a.sum(0))(x), torch.vmap(lambda a: a.sum(0), in_dims=1, out_dims=1)(x),
        torch.vmap(lambda a, b: a @ b, in_dims=(1, None))(x, y),
        torch.vmap(lambda d: {"twice": d["a"] * 2, "pair": (d["b"][0], d["a"].sum())}, in_dims=({"a": 0, "b": [-1]},),
                   out_dims={"twice": 1, "pair": (0, 0)})({"a": x[..., 0], "b": [x[:, 0].T]}),
        torch.vmap(lambda a: Pair(a, a * 2).second)(x), torch.vmap(lambda a, k: a * k, in_dims=(0, None))(x, 3),
        torch.vmap(lambda a: (a, torch.ones(2)), out_dims=(0, None))(x), torch.vmap(lambda a: torch.ones(2))(x),
        torch.vmap(lambda a: (a.sin(), a.sum()), chunk_size=1, out_dims=(1, 0))(x),
    )  # fmt: skip


@program
def vmap_of_vmap(torch: Any) -> Any:
    x, y = real(torch, 2, 3), real(torch, 4, 3, seed=1)
    products = torch.vmap(torch.vmap(torch.dot, in_dims=(None, 0)), in_dims=(0, None))(x, y)
    outer = torch.vmap(lambda a: torch.vmap(lambda b: torch.outer(a, b) + a.sum())(y))(x)
    deep = torch.vmap(torch.vmap(torch.vmap(torch.exp)), in_dims=1)(real(torch, 2, 3, 2))
    return products, outer, deep, torch.vmap(torch.vmap(lambda a, b: torch.stack([a, b]).sum()), in_dims=(0, 0))(x, x)


@program
def per_sample_gradients(torch: Any) -> Any:
    f = torch.func
    parameters, x, y = layers(torch), real(torch, 5, 3), torch.tensor([0, 1, 1, 0, 1])
    gradient = f.grad(lambda p, x, y: loss(torch, p, x, y))
    return f.vmap(gradient, in_dims=(None, 0, 0))(parameters, x, y), f.vmap(f.grad_and_value(gradient_norm(torch)))(x)


def gradient_norm(torch: Any) -> Any:
    return lambda x: torch.func.grad(lambda x: (x**3).sum())(x).square().sum()


@program
def per_sample_gradients_of_a_convolution(torch: Any) -> Any:
    functions = torch.nn.functional
    # In double precision: normalizing four numbers magnifies rounding, PyTorch's own in float32 is 4e-6.
    weight, bias = real(torch, 4, 2, 3, 3).double(), real(torch, 4).double()

    def function(weight: Any, bias: Any, x: Any) -> Any:
        x = functions.max_pool2d(torch.relu(functions.conv2d(x.unsqueeze(0), weight, bias, padding=1)), 2)
        return functions.layer_norm(x, (2, 2)).square().mean() + functions.conv_transpose2d(x, weight).sum()

    x = real(torch, 3, 2, 4, 4).double()
    return torch.func.vmap(torch.func.grad(function, argnums=(0, 1, 2)), in_dims=(None, None, 0))(weight, bias, x)


@program
def compositions(torch: Any) -> Any:
    f = torch.func
    x, y = real(torch, 2, 3), real(torch, 3, seed=1)
    function = lambda x, y: (x * y).sin()
    return (
        f.grad(lambda y: f.vmap(function, in_dims=(0, None))(x, y).sum())(y), f.vmap(f.jacrev(function), in_dims=(0, None))(x, y),
        f.vmap(f.jacfwd(function, argnums=1), in_dims=(0, None))(x, y), f.jacrev(f.vmap(function, in_dims=(0, None)))(x, y),
        f.vmap(f.hessian(lambda x: (x**3).sum()))(x), f.grad(lambda x: f.vmap(f.grad(lambda a: (a**3).sum()))(x).sum())(x),
        f.vmap(lambda x: f.jvp(lambda a: a.exp(), (x,), (y,)))(x), f.vmap(lambda t: f.jvp(torch.exp, (y,), (t,))[1])(x),
        f.vmap(lambda c: f.vjp(torch.exp, y)[1](c)[0])(x),
    )  # fmt: skip


@program
def gradients_through_vmap(torch: Any) -> Any:
    x, weight = real(torch, 4, 3).requires_grad_(), real(torch, 3, 2).requires_grad_()
    torch.vmap(lambda a: torch.tanh(a @ weight).prod())(x).sum().backward()
    return x.grad, weight.grad


@program
def in_place_under_vmap(torch: Any) -> Any:
    x = real(torch, 2, 3)

    def write(a: Any) -> Any:
        result = torch.zeros_like(a)
        result[0] = a[1]
        result[1:] += a[:2] * 2
        view = result[1]
        view.mul_(3)
        return result.add_(1).clamp_(-2, 2), a.new_ones(2).mul_(a[:2])

    seen = torch.ones(2, 3)
    torch.vmap(lambda a: a.mul_(2))(seen)
    return torch.vmap(write)(x), seen


@program
def indices_under_vmap(torch: Any) -> Any:
    x, rows = real(torch, 3, 4, 2), torch.tensor([0, 3, 1])
    table = real(torch, 5, 2, seed=1)
    put = torch.vmap(lambda a, i: torch.index_put(a, (i.reshape(1),), torch.ones(2)))(x, rows)
    return (
        torch.vmap(lambda a, i: a[i])(x, rows), torch.vmap(lambda i: table[i])(rows), torch.vmap(lambda a, i: a[i, 1])(x, rows), put,
        torch.vmap(lambda a: a[torch.tensor([[0, 1], [3, 3]]), :])(x), torch.vmap(lambda a: a[:, torch.tensor([1, 0, 0])])(x),
        torch.vmap(lambda i: torch.nn.functional.embedding(i, table))(rows),
        torch.vmap(lambda a, i: a.gather(0, i.reshape(1, 1).expand(1, 2)))(x, rows),
        torch.vmap(lambda a, i: a.index_select(0, i.reshape(1)))(x, rows), torch.vmap(lambda a: torch.where(a > 0, a, 0.0))(x),
    )  # fmt: skip


@program
def types_under_vmap(torch: Any) -> Any:
    scalars = torch.ones(2, dtype=torch.float64)
    kinds = [
        torch.vmap(lambda a: a * torch.ones(3))(scalars), torch.vmap(lambda a: a * torch.ones((), dtype=torch.float32))(scalars),
        torch.vmap(lambda a: a + torch.ones(3, dtype=torch.int32))(torch.ones(2, dtype=torch.int64)),
        torch.vmap(lambda a: a / 2)(torch.ones(2, dtype=torch.int64)),
    ]  # fmt: skip
    return [each.double() for each in kinds], [torch.tensor(float(str(each.dtype)[-2:])) for each in kinds]


@program
def ensembles(torch: Any) -> Any:
    f = torch.func
    models = [layers(torch) for _ in range(2)]
    stacked = {name: torch.stack([models[0][name], models[1][name] * 2]) for name in models[0]}
    x = real(torch, 5, 3)
    return f.vmap(lambda p, x: network(torch, p, x), in_dims=(0, None))(stacked, x)


# -- custom Functions --------------------------------------------------------------------------------------------


def product_function(torch: Any, **body: Any) -> Any:
    """``x * w`` and ``x + w``, with forward-mode and backward-mode derivatives."""

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(x: Any, w: Any) -> Any:
            return x * w, x + w

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)
            ctx.kept = inputs[0] * 0

        @staticmethod
        def backward(ctx: Any, g: Any, h: Any) -> Any:
            x, w = ctx.saved_tensors
            return g * w + h, g * x + h + ctx.kept

        @staticmethod
        def jvp(ctx: Any, dx: Any, dw: Any) -> Any:
            x, w = ctx.saved_tensors
            return dx * w + x * dw, dx + dw

    return type("Made", (Product,), body)


@program
def a_function_with_a_generated_rule(torch: Any) -> Any:
    f = torch.func
    made = product_function(torch, generate_vmap_rule=True)
    x, w = real(torch, 2, 3), real(torch, 3, seed=1)
    outside = w.clone().requires_grad_()
    first, second = f.vmap(made.apply, in_dims=(0, None))(x, outside)
    (first * second).sum().backward()
    nested = f.vmap(f.vmap(made.apply), in_dims=(0, None))(torch.stack([x, x * 2]), x)
    return (
        first.detach(), outside.grad, nested, f.grad(lambda w: f.vmap(made.apply, in_dims=(0, None))(x, w)[0].sum())(w),
        f.vmap(f.grad(lambda x, w: made.apply(x, w)[0].sum(), argnums=(0, 1)), in_dims=(0, None))(x, w),
        f.vmap(lambda x: f.jvp(lambda x: made.apply(x, w), (x,), (w,)))(x), f.jacfwd(lambda x: made.apply(x, w)[0])(x[0]),
        f.jacrev(lambda x: made.apply(x, w)[0])(x[0]), f.hessian(lambda x: made.apply(x, w)[0].pow(2).sum())(x[1]),
    )  # fmt: skip


@program
def a_function_with_a_rule_of_its_own(torch: Any) -> Any:
    f = torch.func

    def rule(info: Any, in_dims: Any, x: Any, w: Any) -> Any:
        assert info.randomness == "error" and info.batch_size == 2
        x = x.movedim(in_dims[0], 0) if in_dims[0] is not None else x
        w = w.movedim(in_dims[1], 0) if in_dims[1] is not None else w
        return made.apply(x, w), (0, 0)

    made = product_function(torch, vmap=staticmethod(rule))
    x, w = real(torch, 2, 3), real(torch, 3, seed=1)
    return (
        f.vmap(made.apply, in_dims=(0, None))(x, w), f.vmap(made.apply, in_dims=(1, None), out_dims=1)(x.T, w),
        f.vmap(f.grad(lambda x: made.apply(x, w)[0].sum()))(x), f.vmap(lambda x: f.jvp(made.apply, (x, w), (x, w)))(x),
    )  # fmt: skip


@program
def a_function_in_forward_mode(torch: Any) -> Any:
    class Tripled(torch.autograd.Function):
        """Its derivative is wrong on purpose: whoever calls it shows."""

        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any, factor: float) -> Any:
            return x * factor

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.factor = inputs[1]

        @staticmethod
        def jvp(ctx: Any, dx: Any, factor: Any) -> Any:
            assert factor is None
            return dx * 100 * ctx.factor

    x = real(torch, 3)
    square = lambda x: Tripled.apply(x, 2.0) ** 2
    return torch.func.jvp(square, (x,), (torch.ones(3),)), torch.func.jacfwd(square)(x)


# -- calls that are refused --------------------------------------------------------------------------------------

bad("grad of a vector")(lambda torch: torch.func.grad(torch.exp)(torch.ones(3)))
bad("grad of no tensor")(lambda torch: torch.func.grad(lambda x: 2.0)(torch.ones(3)))
bad("grad by integers")(lambda torch: torch.func.grad(lambda x: x.sum())(torch.arange(3)))
bad("grad by a number")(lambda torch: torch.func.grad(lambda x: x)(2.0))
bad("argnums out of range")(lambda torch: torch.func.grad(lambda x: x.sum(), argnums=1)(torch.ones(3)))
bad("argnums twice")(lambda torch: torch.func.grad(lambda x, y: x.sum(), argnums=(0, 0))(torch.ones(3), torch.ones(3)))
bad("argnums of no kind")(lambda torch: torch.func.grad(lambda x: x.sum(), argnums="x")(torch.ones(3)))
bad("no aux")(lambda torch: torch.func.grad(lambda x: x.sum(), has_aux=True)(torch.ones(3)))
bad("aux of no kind")(lambda torch: torch.func.grad(lambda x: (x.sum(), 3), has_aux=True)(torch.ones(3)))
bad("writing to a variable")(lambda torch: torch.func.grad(lambda x: x.mul_(2).sum())(torch.ones(3)))
bad("backward inside")(lambda torch: torch.func.grad(lambda x: [(x * x).sum().backward(), x.sum()][1])(torch.ones(3)))
bad("cotangent of another shape")(lambda torch: torch.func.vjp(torch.exp, torch.ones(3))[1](torch.ones(2)))
bad("cotangent of another structure")(lambda torch: torch.func.vjp(torch.exp, torch.ones(3))[1]([torch.ones(3)]))
bad("vjp of no tensor")(lambda torch: torch.func.vjp(lambda x: 3.0, torch.ones(3)))
bad("primals that are no tuple")(lambda torch: torch.func.jvp(torch.exp, torch.ones(3), torch.ones(3)))
bad("tangent of another shape")(lambda torch: torch.func.jvp(torch.exp, (torch.ones(3),), (torch.ones(2),)))
bad("tangents of another structure")(lambda torch: torch.func.jvp(torch.exp, (torch.ones(3),), ()))
bad("integers in forward mode")(lambda torch: torch.func.jvp(lambda x: x * 1.0, (torch.arange(3),), (torch.arange(3),)))
bad("strict")(lambda torch: torch.func.jvp(lambda x: torch.ones(2), (torch.ones(2),), (torch.ones(2),), strict=True))
bad("chunks of nothing")(lambda torch: torch.func.jacrev(torch.exp, chunk_size=0))
bad("complex jacobian")(lambda torch: torch.func.jacrev(torch.exp)(torch.ones(2) * 1j))
bad("a level too many")(lambda torch: torch.autograd.forward_ad.exit_dual_level())
bad("dual without a level")(lambda torch: torch.autograd.forward_ad.make_dual(torch.ones(2), torch.ones(2)))
bad("no jvp")(
    lambda torch: torch.func.jvp(
        type("NoTangent", (product_function(torch),), {"jvp": torch.autograd.Function.jvp}).apply,
        (torch.ones(2),) * 2,
        (torch.ones(2),) * 2,
    )
)
bad("no inputs")(lambda torch: torch.vmap(lambda: 1)())
bad("in_dims of another structure")(lambda torch: torch.vmap(torch.exp, in_dims=(0, 0))(torch.ones(2)))
bad("in_dims of no kind")(lambda torch: torch.vmap(torch.exp, in_dims="a")(torch.ones(2)))
bad("in_dim of no kind")(lambda torch: torch.vmap(torch.exp, in_dims=(1.5,))(torch.ones(2)))
bad("in_dim out of range")(lambda torch: torch.vmap(torch.exp, in_dims=1)(torch.ones(2)))
bad("a number to map over")(lambda torch: torch.vmap(lambda a, b: a * b)(torch.ones(2), 2))
bad("nothing to map over")(lambda torch: torch.vmap(torch.exp, in_dims=(None,))(torch.ones(2)))
bad("different sizes")(lambda torch: torch.vmap(torch.mul, in_dims=(0, 1))(torch.ones(2, 3), torch.ones(2, 3)))
bad("0-dim")(lambda torch: torch.vmap(torch.exp)(torch.ones(())))
bad("output of no kind")(lambda torch: torch.vmap(lambda a: 3)(torch.ones(2)))
bad("no output")(lambda torch: torch.vmap(lambda a: None)(torch.ones(2)))
bad("batched without out_dim")(lambda torch: torch.vmap(torch.exp, out_dims=None)(torch.ones(2)))
bad("out_dims of another structure")(lambda torch: torch.vmap(torch.exp, out_dims=(0, 0))(torch.ones(2)))
bad("out_dims of no kind")(lambda torch: torch.vmap(torch.exp, out_dims="a")(torch.ones(2)))
bad("out_dim out of range")(lambda torch: torch.vmap(torch.exp, out_dims=3)(torch.ones(2)))
bad("item")(lambda torch: torch.vmap(lambda a: a * a.sum().item())(torch.ones(2, 3)))
bad("branch")(lambda torch: torch.vmap(lambda a: a if a.sum() > 0 else -a)(torch.ones(2, 3)))
bad("float")(lambda torch: torch.vmap(lambda a: a * float(a))(torch.ones(2)))
bad("tolist")(lambda torch: torch.vmap(lambda a: a.tolist())(torch.ones(2)))
bad("numpy")(lambda torch: torch.vmap(lambda a: a.numpy())(torch.ones(2)))
bad("nonzero")(lambda torch: torch.vmap(lambda a: a.nonzero())(torch.ones(2, 3)))
bad("mask")(lambda torch: torch.vmap(lambda a: a[a > 0])(torch.ones(2, 3)))
bad("unique")(lambda torch: torch.vmap(lambda a: a.unique())(torch.ones(2, 3)))
bad("allclose")(lambda torch: torch.vmap(lambda a: torch.allclose(a, a))(torch.ones(2, 3)))
bad("slice by a batch")(lambda torch: torch.vmap(lambda a, i: a[:i])(torch.ones(2, 3), torch.tensor([1, 2])))
bad("random")(lambda torch: torch.vmap(lambda a: a + torch.rand(3))(torch.ones(2, 3)))
bad("dropout")(lambda torch: torch.vmap(torch.nn.functional.dropout)(torch.ones(2, 3)))
bad("randomness of no kind")(lambda torch: torch.vmap(torch.exp, randomness="some")(torch.ones(2, 3)))
bad("same for a batch")(lambda torch: torch.vmap(lambda a: torch.bernoulli(a), randomness="same")(torch.ones(2, 3)))
bad("different for one")(lambda torch: torch.vmap(lambda a: torch.ones(3).normal_(), randomness="different")(torch.ones(2, 3)))
bad("chunk size")(lambda torch: torch.vmap(torch.exp, chunk_size=0)(torch.ones(2, 3)))
bad("in place on one")(lambda torch: torch.vmap(lambda a: torch.ones(3).add_(a))(torch.ones(2, 3)))
bad("copy to one")(lambda torch: torch.vmap(lambda a: torch.ones(3).copy_(a))(torch.ones(2, 3)))
bad("out")(lambda torch: torch.vmap(lambda a: torch.add(a, a, out=torch.empty(3)))(torch.ones(2, 3)))
bad("requires_grad_")(lambda torch: torch.vmap(lambda a: a.requires_grad_())(torch.ones(2, 3)))
bad("backward")(lambda torch: torch.vmap(lambda a: a.sum().backward())(torch.ones(2, 3, requires_grad=True)))
bad("autograd.grad")(lambda torch: torch.vmap(lambda a: torch.autograd.grad(a.sum(), a))(torch.ones(2, 3, requires_grad=True)))
bad("data")(lambda torch: torch.vmap(lambda a: a.data)(torch.ones(2, 3)))


@bad("escaped")
def _escaped(torch: Any) -> Any:
    kept: list[Any] = []
    torch.vmap(lambda a: [kept.append(a), a][1])(torch.ones(2, 3))
    return kept[0] * 2


@bad("no vmap rule")
def _no_rule(torch: Any) -> Any:
    return torch.vmap(product_function(torch).apply)(torch.ones(2, 3), torch.ones(2, 3))


@bad("two vmap rules")
def _two_rules(torch: Any) -> Any:
    made = product_function(torch, generate_vmap_rule=True, vmap=staticmethod(lambda *args: args))
    return torch.vmap(made.apply)(torch.ones(2, 3), torch.ones(2, 3))


@bad("rule without out_dims")
def _half_a_rule(torch: Any) -> Any:
    made = product_function(torch, vmap=staticmethod(lambda info, dims, x, w: x))
    return torch.vmap(made.apply)(torch.ones(2, 3), torch.ones(2, 3))
