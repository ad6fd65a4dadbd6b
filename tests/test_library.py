"""Ops that programs register: ``torch.library`` in eager mode, captures, gradients, vmap and exports."""

from __future__ import annotations

import io
import pickle
import typing
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

import rushlight as torch
from rushlight import Tensor
from rushlight.compat.mode_utils import no_dispatch
from rushlight.core.schema import parse_schema
from rushlight.library import Library, custom_op, infer_schema, opcheck


@custom_op("tests::sine", mutates_args=())
def sine(x: Tensor, by: float = 2.0) -> Tensor:
    return torch.from_numpy(np.sin(x.detach().numpy() * by).astype(x.detach().numpy().dtype))


@sine.register_fake
def _(x, by=2.0):
    return torch.empty_like(x)


def _setup(ctx, inputs, output):
    x, ctx.by = inputs
    ctx.save_for_backward(x)


sine.register_autograd(lambda ctx, g: (g * torch.cos(ctx.saved_tensors[0] * ctx.by) * ctx.by, None), setup_context=_setup)


@custom_op("tests::scale_", mutates_args={"x"})
def scale_(x: Tensor, by: float) -> None:
    x.mul_(by)


@custom_op("tests::mix", mutates_args=())
def mix(items: list[Tensor], times: int) -> tuple[Tensor, Tensor]:
    return items[0] * times, sum(items[1:], items[0].clone())


@mix.register_fake
def _(items, times):
    return torch.empty_like(items[0]), torch.empty_like(items[0])


def _mix_setup(ctx, inputs, output):
    ctx.count, ctx.times = len(inputs[0]), inputs[1]


mix.register_autograd(lambda ctx, a, b: ([a * ctx.times + b, *[b] * (ctx.count - 1)], None), setup_context=_mix_setup)


@custom_op("tests::bare", mutates_args=())
def bare(x: Tensor) -> Tensor:
    return x * 2


@pytest.fixture
def library() -> Iterator[Library]:
    made = Library("tests_scoped", "DEF")
    yield made
    made._destroy()


def program(x: Tensor) -> Tensor:
    return (sine(x * 2, 1.5) + torch.ops.tests.sine(x)).sum()


def gradient(function, x):
    leaf = x.detach().clone().requires_grad_()
    value = function(leaf)
    value.backward()
    return torch.cat([value.detach().reshape(1), leaf.grad.reshape(-1)])


# Recorded from PyTorch 2.13.
def annotated(x: Tensor, y: int = 3, *, z: typing.Optional[float] = None, n: str = "a", b: bool = True, f: float = 1e-5) -> Tensor: ...  # noqa: UP045
def several(x: Tensor | None, y: list[int], u: int | float | bool = 1) -> tuple[Tensor, int, list[Tensor]]: ...
def nothing(x: Tensor) -> None: ...


@pytest.mark.parametrize(("function", "written", "expected"), [
    (annotated, (), '(Tensor x, SymInt y=3, *, float? z=None, str n="a", bool b=True, float f=1e-05) -> Tensor'),
    (annotated, {"x"}, '(Tensor(a0!) x, SymInt y=3, *, float? z=None, str n="a", bool b=True, float f=1e-05) -> Tensor'),
    (several, (), "(Tensor? x, SymInt[] y, Scalar u=1) -> (Tensor, SymInt, Tensor[])"),
    (nothing, "unknown", "(Tensor(a0!) x) -> ()"),
])  # fmt: skip
def test_schemas_are_inferred_from_annotations(function, written, expected):
    assert infer_schema(function, mutates_args=written) == expected


def test_annotations_that_no_schema_has_are_refused():
    def no_annotation(x) -> Tensor: ...
    def no_result(x: Tensor): ...
    def mapping(x: dict) -> Tensor: ...
    def variadic(*x: Tensor) -> Tensor: ...

    for function, message in (
        (no_annotation, "Parameter x must have a type annotation."), (no_result, "No return type annotation was provided. Please add one."),
        (mapping, "Parameter x has unsupported type <class 'dict'>."),
        (variadic, "We do not support positional-only args, varargs, or varkwargs."),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"infer_schema\(func\): ") as error:
            infer_schema(function, mutates_args=())
        assert message in str(error.value)
    with pytest.raises(ValueError, match="Parameter y is in mutable_args but only Tensors"):
        infer_schema(annotated, mutates_args={"y"})
    with pytest.raises(ValueError, match="{'q'} in mutates_args were not found in the custom op's signature"):
        infer_schema(annotated, mutates_args={"q"})


def test_overloads_have_names_and_schemas():
    overload = torch.ops.tests.sine.default
    assert str(overload) == "tests.sine.default" and overload.name() == "tests::sine" and overload.namespace == "tests"
    assert str(overload._schema) == "tests::sine(Tensor x, float by=2.) -> Tensor"
    assert repr(torch.ops.tests.sine) == "<OpOverloadPacket(op='tests.sine')>" and torch.ops.tests.sine.overloads() == ["default"]
    assert repr(sine) == "<CustomOpDef(tests::sine)>" and sine._opoverload is overload
    assert pickle.loads(pickle.dumps(overload)) is overload
    assert str(torch.ops.tests.scale_.default._schema) == "tests::scale_(Tensor(a0!) x, float by) -> ()"


@pytest.mark.parametrize(("call", "message"), [
    (lambda: sine(3), "tests::sine() Expected a value of type 'Tensor' for argument 'x' but instead found type 'int'.\nPosition: 0\nValue: 3"),
    (lambda: sine(), "tests::sine() is missing value for argument 'x'. Declaration: tests::sine(Tensor x, float by=2.) -> Tensor"),
    (lambda: sine(torch.ones(1), 1.0, 2.0), "tests::sine() expected at most 2 argument(s) but received 3 argument(s)."),
    (lambda: sine(torch.ones(1), q=2.0), "Unknown keyword argument 'q' for operator 'tests::sine'."),
    (lambda: bare(torch.ones(1, device="meta")), "There was no fake impl registered for <CustomOpDef(tests::bare)>."),
    (lambda: bare(torch.ones(1, requires_grad=True)).sum().backward(),
     "Trying to backward through tests.bare.default but no autograd formula was registered."),
    (lambda: torch.library.register_fake("tests::absent")(bare), "operator tests::absent does not exist"),
    (lambda: torch.library.register_autograd("tests::scale_", lambda ctx: None), "Cannot register autograd formula for non-functional operator"),
    (lambda: torch.library.define("tests::wrong", "(Tensr x) -> Tensor"), "unknown type specifier"),
])  # fmt: skip
def test_errors_are_those_of_pytorch(call, message):
    with pytest.raises(RuntimeError) as error:
        call()
    assert message in str(error.value)


def test_absent_names_are_attribute_errors():
    for call, message in (
        (lambda: torch.ops.tests.absent, "'_OpNamespace' 'tests' object has no attribute 'absent'"),
        (lambda: torch.ops.nonsense.absent, "'_OpNamespace' 'nonsense' object has no attribute 'absent'"),
        (lambda: torch.ops.tests.sine.absent, "The underlying op of 'tests.sine' has no overload name 'absent'"),
    ):
        with pytest.raises(AttributeError) as error:
            call()
        assert str(error.value) == message
    with pytest.raises(NotImplementedError, match="compiled extensions"):
        torch.ops.load_library("libops.so")


def test_an_output_that_aliases_an_input_is_refused():
    @custom_op("tests::itself", mutates_args=())
    def itself(x: Tensor) -> Tensor:
        return x

    @custom_op("tests::viewed", mutates_args=())
    def viewed(x: Tensor) -> Tensor:
        return x.view(-1)

    for op in (itself, viewed):
        with pytest.raises(RuntimeError, match="The output of this custom operator .1. must not also be an input"):
            op(torch.ones(2, 2))


def test_gradients_and_what_they_are_called():
    x = torch.linspace(-1, 1, 5).requires_grad_()
    y = sine(x)
    assert y.grad_fn.name() == "GeneratedBackwardFor_tests_sine_defaultBackward"
    (found,) = torch.autograd.grad(y.sum(), x)
    torch.testing.assert_close(found, 2 * torch.cos(2 * x.detach()))
    assert torch.autograd.gradcheck(lambda a, b: mix([a, b, a], 4), (torch.randn(3, dtype=torch.float64, requires_grad=True),) * 2)


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("dynamic", [False, True])
def test_compiled_programs_have_one_node_of_the_op(backend, dynamic):
    x = torch.linspace(-1, 1, 6).reshape(2, 3)
    compiled = torch.compile(program, backend=backend, dynamic=dynamic, fullgraph=True)
    for _ in range(2):
        torch.testing.assert_close(gradient(compiled, x), gradient(program, x))
    alone = torch.compile(lambda x: sine(x), backend=backend)
    for _ in range(2):
        assert alone(x.clone().requires_grad_()).requires_grad


def test_lists_of_tensors_compile():
    def product(x):
        a, b = mix([x, x * 2, x], 4)
        return (a * b).sum()

    x = torch.randn(3)
    torch.testing.assert_close(gradient(torch.compile(product), x), gradient(product, x))


def test_graphs_print_the_op_by_its_path():
    traced = torch.jit.trace(program, (torch.ones(3),))
    assert "= tests::sine(%2, %3)" in str(traced.graph)
    x = torch.arange(3.0)
    torch.testing.assert_close(traced(x), program(x))
    file = io.BytesIO()
    torch.jit.save(traced, file)
    file.seek(0)
    torch.testing.assert_close(torch.jit.load(file)(x), program(x))


def test_scripts_call_ops_by_their_path():
    def script(x: Tensor) -> Tensor:
        return torch.ops.tests.sine(x, 3.0) + torch.ops.tests.sine.default(x)

    x = torch.randn(4)
    file = io.BytesIO()
    torch.jit.save(torch.jit.script(script), file)
    file.seek(0)
    torch.testing.assert_close(torch.jit.load(file)(x), script(x))


def test_vmap_by_a_rule_and_without():
    x = torch.randn(3, 2)
    torch.testing.assert_close(torch.vmap(sine, in_dims=1)(x), sine(x).t())
    expected = 2 * torch.cos(2 * x)
    torch.testing.assert_close(torch.vmap(torch.func.grad(lambda row: sine(row).sum()))(x), expected)
    asked = []

    @custom_op("tests::ruled", mutates_args=())
    def ruled(x: Tensor, y: Tensor) -> Tensor:
        return x + y

    @ruled.register_vmap
    def _(info, in_dims, x, y):
        asked.append((info.batch_size, in_dims))
        return ruled(x, y.expand_as(x)), 0

    torch.testing.assert_close(torch.vmap(ruled, in_dims=(0, None))(x, torch.ones(2)), x + 1)
    assert asked == [(3, (0, None))]


def test_ops_that_write_to_their_arguments():
    def inside(x):
        y = x * 1
        scale_(y, 3.0)
        return y + 1

    def outside(x):
        scale_(x, 3.0)
        return x + 1

    x = torch.ones(2)
    before = x._version
    scale_(x, 2.0)
    assert x.tolist() == [2.0, 2.0] and x._version > before
    for backend in ("eager", "native"):
        assert torch.compile(inside, backend=backend, fullgraph=True)(torch.ones(2)).tolist() == [4.0, 4.0]
        for _ in range(2):
            given = torch.ones(2)
            assert torch.compile(outside, backend=backend)(given).tolist() == [4.0, 4.0] and given.tolist() == [3.0, 3.0]
    assert torch.jit.trace(inside, (torch.ones(2),))(torch.ones(3)).tolist() == [4.0] * 3


def test_libraries_define_overloads_and_implement_them(library):
    assert library.define("a(Tensor x) -> Tensor") == "a"
    library.define("a.Scalar(Tensor x, Scalar y) -> Tensor")
    with pytest.raises(NotImplementedError, match="Could not run 'tests_scoped::a' with arguments from the 'CPU' backend"):
        torch.ops.tests_scoped.a(torch.ones(1))
    library.impl("a", lambda x: x * 2, "CPU")
    library.impl("a.Scalar", lambda x, y: x + y, "CompositeImplicitAutograd")
    assert torch.ops.tests_scoped.a.overloads() == ["default", "Scalar"]
    assert torch.ops.tests_scoped.a(torch.ones(1)).item() == 2 and torch.ops.tests_scoped.a(torch.ones(1), 3).item() == 4
    x = torch.ones(1, requires_grad=True)
    assert torch.ops.tests_scoped.a(x).grad_fn.name() == "MulBackward0"
    with pytest.raises(RuntimeError, match="failed to match any schema"):
        torch.ops.tests_scoped.a(torch.ones(1), 2, 3)
    with pytest.raises(RuntimeError, match="with the same name and overload name multiple times"):
        library.define("a(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match="Only a single TORCH_LIBRARY can be used to register the namespace tests_scoped"):
        Library("tests_scoped", "DEF")
    with pytest.raises(RuntimeError, match="could not parse dispatch key: ZZZ"):
        library.impl("a", lambda x: x, "ZZZ")
    library._destroy()
    assert not hasattr(torch.ops.tests_scoped, "a")


def test_functions_register_by_name():
    torch.library.define("tests_named::twice", "(Tensor x) -> Tensor")
    torch.library.impl("tests_named::twice", "cpu", lambda x: x * 2)
    assert torch.ops.tests_named.twice(torch.ones(1)).item() == 2
    torch.library.register_fake("tests_named::twice")(lambda x: torch.empty_like(x))
    assert torch.ops.tests_named.twice(torch.ones(3, device="meta")).shape == (3,)
    torch.library.register_autograd("tests_named::twice", lambda ctx, g: g * 2)
    x = torch.ones(1, requires_grad=True)
    assert torch.autograd.grad(torch.ops.tests_named.twice(x), x)[0].item() == 2


def test_opcheck_finds_what_is_wrong():
    assert set(opcheck(sine, (torch.randn(3, requires_grad=True),)).values()) == {"SUCCESS"}
    assert set(opcheck(scale_, (torch.randn(3), 2.0)).values()) == {"SUCCESS"}

    @custom_op("tests::hidden_write", mutates_args=())
    def hidden_write(x: Tensor) -> Tensor:
        x.add_(1)
        return x.clone()

    @hidden_write.register_fake
    def _(x):
        return torch.empty(x.shape[0] + 1)

    with pytest.raises(Exception, match="Argument x is not defined as mutable but was mutated"):
        opcheck(hidden_write, (torch.ones(2),))
    found = opcheck(hidden_write, (torch.ones(2),), test_utils=("test_faketensor",), raise_exception=False)
    assert "the fake impl gives torch.Size([3])" in str(found["test_faketensor"])


def test_check_covers_ops():
    report = torch.check(sine, torch.randn(3, 2))
    failed = {row.name for row in report.rows if row.outcome == "failed"}
    assert failed == {"eager = exported"}  # it computes in NumPy, which no export follows


def test_exports_follow_the_python_of_an_op_or_keep_it():
    class Mixed(torch.nn.Module):
        def forward(self, x):
            return mix([x, x], 2)[1]

    class Sine(torch.nn.Module):
        def forward(self, x):
            return sine(x) + 1

    def nodes(model, **options):
        program = torch.onnx.export(model, (torch.ones(2, 3),), **options)
        return [(node.domain, node.op_type) for node in program.model_proto.graph.node]

    assert nodes(Mixed()) == [("", "Add")]
    with pytest.raises(torch.onnx.OnnxExporterError, match=r"register_custom_op_symbolic\('tests::sine'"):
        nodes(Sine())
    assert ("tests", "sine") in nodes(Sine(), custom_opsets={"tests": 1})
    torch.onnx.register_custom_op_symbolic(
        "tests::sine", lambda g, x, by: g.op("Sin", g.op("Mul", x, g.op("Constant", value_t=torch.tensor(2.0)))), 1
    )
    try:
        assert [name for _, name in nodes(Sine())] == ["Constant", "Mul", "Sin", "Constant", "Add"]
    finally:
        torch.onnx.unregister_custom_op_symbolic("tests::sine", 1)


def test_implementations_for_devices_and_switching_them_off():
    @custom_op("tests::placed", mutates_args=())
    def placed(x: Tensor) -> Tensor:
        return x + 1

    placed.register_kernel("cpu")(lambda x: x + 2)
    assert placed(torch.zeros(1)).item() == 2
    with placed.set_kernel_enabled("cpu", enabled=False):
        assert placed(torch.zeros(1)).item() == 1
    with pytest.raises(RuntimeError, match="Expected one of cpu, cuda, "):
        placed.register_kernel("nowhere")

    @custom_op("tests::elsewhere", mutates_args=(), device_types="cuda")
    def elsewhere(x: Tensor) -> Tensor:
        return x + 1

    with pytest.raises(NotImplementedError, match="Could not run 'tests::elsewhere' with arguments from the 'CPU' backend"):
        elsewhere(torch.ones(1))


def test_triton_is_asked_for_where_it_is_absent():
    with pytest.raises(RuntimeError, match="wrap_triton only works on functions annotated"):
        torch.library.wrap_triton(lambda x: x)


def test_what_a_library_registered_ends_with_it():
    library = Library("ends_with_it", "DEF")
    library.define("ends_with_it::half(Tensor x) -> Tensor")  # the namespace may stand before the name
    library.impl("half", lambda x: x / 2, "CompositeImplicitAutograd")
    assert library._op_defs == {"ends_with_it::half"}
    assert torch.ops.ends_with_it.half(torch.ones(1)).item() == 0.5
    del library
    assert not hasattr(torch.ops.ends_with_it, "half")
    del torch.ops.ends_with_it
    again = Library("ends_with_it", "DEF")
    again.define("half(Tensor x) -> Tensor")
    assert hasattr(torch.ops.ends_with_it, "half")
    torch.library.define("ends_with_it::third", "(Tensor x) -> Tensor")  # without a library: it stays
    assert hasattr(torch.ops.ends_with_it, "third")


def test_no_dispatch_asks_no_subclass():
    class Loud(Tensor):
        @staticmethod
        def __new__(cls, elem):
            return Tensor._make_subclass(cls, elem)

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            calls.append(str(func))
            with no_dispatch():
                return func(*args, **(kwargs or {}))

    calls: list[str] = []
    assert Loud(torch.zeros(2)).exp().tolist() == [1, 1]
    assert calls[0] == "aten.exp.default" and calls.count("aten.exp.default") == 1


def test_memory_that_is_written_needs_no_name_in_a_schema():
    schema = parse_schema("mylib::fill(Tensor x, Tensor! out, Tensor[]! more, Tensor[](c!) named) -> ()")
    assert str(schema) == "mylib::fill(Tensor x, Tensor($0! -> ) out, Tensor[]($1! -> ) more, Tensor[](c!) named) -> ()"
    assert [each.is_write for each in schema.arguments] == [False, True, True, True]
    assert schema.arguments[1].alias_info.before_set == {"$0"} and schema.arguments[3].alias_info.after_set == {"c"}
    with pytest.raises(RuntimeError, match="expected ident but found '!'"):
        parse_schema("mylib::fill(Tensor?! x) -> ()")
    lib = Library("tests_written", "DEF")
    lib.define("twice.out(Tensor x, Tensor! out) -> ()")
    lib.impl("twice.out", lambda x, out: out.copy_(x * 2), "CPU")
    out = torch.zeros(2)
    assert torch.ops.tests_written.twice.out(torch.ones(2), out) is None and out.tolist() == [2.0, 2.0]


def test_types_of_schemas_are_named_where_they_are_wrong() -> None:
    with torch.library._scoped_library("testnames", "FRAGMENT") as library:
        with pytest.raises(RuntimeError, match="Use `SymInt` or `int` instead of `int64_t`"):
            library.define("wrong(int64_t a) -> Tensor")
        with pytest.raises(RuntimeError, match="Use `float` instead of `double`"):
            library.define("wrong(double a) -> Tensor")
    with pytest.raises(NotImplementedError, match="custom_op with kwarg-only Tensor args"):
        torch.library.custom_op("testnames::only", lambda x, *, y: x, mutates_args=(), schema="(Tensor x, *, Tensor y) -> Tensor")


def test_annotations_that_hold_strings_are_resolved() -> None:
    def listed(x):  # type: ignore[no-untyped-def]
        return [x]

    listed.__annotations__ = {"x": "Tensor", "return": list["Tensor"]}
    assert torch.library.infer_schema(listed, mutates_args=()) == "(Tensor x) -> Tensor[]"


def test_a_fake_is_refused_beside_implementations_that_stand_for_it() -> None:
    with torch.library._scoped_library("testfakes", "FRAGMENT") as library:
        for key in ("CompositeImplicitAutograd", "Meta"):
            library.define(f"op_{key}(Tensor x) -> Tensor")
            library.impl(f"op_{key}", lambda x: x.clone(), key)
            with pytest.raises(RuntimeError, match=f"DispatchKey::{key}"):
                torch.library.register_fake(f"testfakes::op_{key}", lambda x: x)


class Sizes(Sequence):  # type: ignore[type-arg]
    """A sequence that is neither a list nor a tuple."""

    def __init__(self, *values: int) -> None:
        self.values = values

    def __getitem__(self, at: typing.Any) -> typing.Any:
        return self.values[at]

    def __len__(self) -> int:
        return len(self.values)


def test_implementations_get_lists_for_all_sequences() -> None:
    seen: list[typing.Any] = []

    @custom_op("testsequences::scaled", mutates_args=())
    def scaled(x: Tensor, sizes: typing.Sequence[int]) -> Tensor:
        seen.append(sizes)
        return x * sizes[0]

    for given in ([3, 4], (3, 4), Sizes(3, 4), torch.Size([3, 4])):
        assert scaled(torch.ones(1), given).tolist() == [3.0]
    assert seen == [[3, 4]] * 4


def test_backward_returns_no_gradients_for_what_is_given_by_keyword_alone() -> None:
    @custom_op("testkeywords::scaled", mutates_args=())
    def scaled(x: Tensor, n: int = 2, *, y: int = 3, z: float) -> Tensor:
        return x * n * y * z

    given: list[typing.Any] = []

    def setup(ctx: typing.Any, inputs: typing.Any, keyword_only_inputs: typing.Any, output: typing.Any) -> None:
        given.append((inputs[1:], keyword_only_inputs))

    scaled.register_autograd(lambda ctx, grad: (grad * 7, None), setup_context=setup)
    x = torch.ones(2, requires_grad=True)
    scaled(x, z=2.0).sum().backward()
    assert x.grad.tolist() == [7.0, 7.0]
    assert given == [((2,), {"y": 3, "z": 2.0})]


@custom_op("tests::alone", mutates_args=())
def alone(x: Tensor) -> tuple[Tensor]:
    return (x.clone(),)


@alone.register_fake
def _(x: Tensor) -> tuple[Tensor]:
    return (torch.empty_like(x),)


def test_tuple_of_one_result_stays_a_tuple() -> None:
    assert str(alone._opoverload._schema) == "tests::alone(Tensor x) -> ((Tensor))"
    assert str(parse_schema("tests::alone(Tensor x) -> ((Tensor))")) == "tests::alone(Tensor x) -> ((Tensor))"
    given: list[object] = []
    alone.register_autograd(lambda ctx, *grads: given.extend(grads) or grads[0])
    x = torch.ones(2, requires_grad=True)
    made = alone(x)
    assert isinstance(made, tuple) and len(made) == 1
    made[0].sum().backward()
    assert len(given) == 1 and x.grad.tolist() == [1, 1]
    assert torch.compile(lambda each: alone(each * 2)[0] + 1, fullgraph=True)(torch.ones(2)).tolist() == [3, 3]
    assert alone(torch.ones(2, device="meta"))[0].shape == (2,)
    opcheck(alone, (torch.ones(3),))


def test_backward_gets_gradients_in_the_structure_of_the_results() -> None:
    @custom_op("tests::mixed", mutates_args=())
    def mixed(x: Tensor) -> tuple[list[Tensor], Tensor, int]:
        return [x.clone(), x * 2], x * 3, 2

    given: list[object] = []
    mixed.register_autograd(lambda ctx, *grads: given.extend(grads) or grads[0][0])
    x = torch.ones(2, requires_grad=True)
    parts, whole, count = mixed(x)
    assert count == 2 and whole.tolist() == [3, 3]
    parts[0].sum().backward()
    assert isinstance(given[0], list) and [each.tolist() for each in given[0]] == [[1, 1], [0, 0]]
    assert given[1].tolist() == [0, 0] and given[2] is None


def test_backward_may_leave_out_arguments_that_have_their_defaults() -> None:
    lib = Library("tests_defaults", "FRAGMENT")
    lib.define("scaled(Tensor w, Tensor v, int x = 2, int u = 4) -> Tensor")
    lib.impl("scaled", lambda w, v, x=2, u=4: w * x * u + v, "CPU")
    torch.library.register_autograd("tests_defaults::scaled", lambda ctx, grad: (grad * 2, grad))
    w, v = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    torch.ops.tests_defaults.scaled(w, v).sum().backward()
    assert w.grad.tolist() == [2, 2] and v.grad.tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="gradients"):
        torch.ops.tests_defaults.scaled(w, v, 3).sum().backward()
