"""What programs and test files of libraries found, each with its cause in few lines."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import rushlight as torch
from rushlight.compat import data_utils, inductor, jit_internal, jit_state
from rushlight.compat.c_names.script_names import ScriptObject
from rushlight.compat.dataloader import _BaseDataLoaderIter
from rushlight.compat.functorch_internal import partitioners
from rushlight.compat.functorch_internal import vmap as steps
from rushlight.compat.higher_order.out_dtype import out_dtype
from rushlight.compat.utils_internal import ExceptionWrapper
from rushlight.func import vectorize
from rushlight.utils.data import DataLoader, dataloader


def test_gradient_of_view_as_complex_may_be_conjugated() -> None:
    """The gradient that arrives is a conjugated view, which has no view as real numbers."""
    pairs = torch.tensor([[1.0, 2.0], [3.0, -4.0]], requires_grad=True)
    torch.view_as_complex(pairs).conj().imag.sum().backward()
    assert pairs.grad is not None and pairs.grad.tolist() == [[0.0, -1.0], [0.0, -1.0]]


def test_tensors_of_one_number_stand_for_numbers() -> None:
    """opacus' adaptive clipping draws noise whose standard deviation is a 0-dim tensor."""
    x, one, half = torch.arange(6.0).view(2, 3), torch.tensor(1), torch.tensor(0.5)
    torch.manual_seed(0)
    drawn = torch.normal(mean=one, std=half, size=(4,))
    torch.manual_seed(0)
    assert torch.equal(drawn, torch.normal(1.0, 0.5, (4,)))
    with pytest.raises(TypeError):
        torch.normal(mean=0, std=torch.tensor([1.0]), size=(2,))
    assert [each.shape for each in x.split(one)] == [(1, 3), (1, 3)]
    assert torch.norm(x, p=one).item() == 15 and x.movedim(one, 0).shape == (3, 2)
    assert torch.equal(torch.cdist(x, x, p=one), torch.cdist(x, x, p=1.0))


def test_sparse_gradients_are_rebuilt_by_new() -> None:
    """How optimizers make a sparse gradient with other values (SM3 of pytorch-optimizer, and many copies of the old SparseAdam)."""
    gradient = torch.sparse_coo_tensor([[0, 2]], [[1.0, 2.0], [3.0, 4.0]], (4, 2))
    again = gradient.new(gradient._indices(), gradient._values() * 2, gradient.size())
    assert torch.equal(again.to_dense(), gradient.to_dense() * 2)
    assert gradient.new(gradient._indices(), gradient._values()).shape == (3, 2)
    empty = gradient.new().resize_as_(gradient)
    assert (empty.shape, empty._nnz(), empty.sparse_dim(), empty.dense_dim()) == ((4, 2), 0, 1, 1)
    for made in (gradient.new(3, 2), gradient.new_zeros(3, 2), gradient.new_empty((3, 2))):
        assert made.layout is torch.sparse_coo and made.shape == (3, 2)
    assert gradient.new(gradient.size()).shape == (4, 2)
    with pytest.raises(TypeError, match="SparseTensor.new\\(sequence\\) only accepts sizes"):
        gradient.new((3, 2))


def test_arrays_are_divided_by_tensors() -> None:
    quotient = np.full(3, 6.0) / torch.tensor([1.0, 2.0, 3.0])
    assert isinstance(quotient, torch.Tensor) and quotient.dtype is torch.float64 and quotient.tolist() == pytest.approx([6.0, 3.0, 2.0])
    assert (2 / torch.tensor([4.0])).tolist() == [0.5]


def test_losses_by_number_reduce_nothing_unless_asked() -> None:
    """torch.kl_div is not nn.functional.kl_div: its reduction is a number, and 0 where it is not given (ignite relies on it)."""
    p = torch.tensor([[0.2, 0.8], [0.5, 0.5]])
    assert torch.kl_div(p.log(), p).shape == (2, 2) and torch.kl_div(p.log(), p, 1).shape == ()
    assert torch.binary_cross_entropy_with_logits(p, p).shape == (2, 2)
    assert torch.hinge_embedding_loss(p, p.sign()).shape == (2, 2)


def test_scripting_is_turned_off() -> None:
    """brevitas reads the switch, and programs use it to look for a mistake."""
    jit_state.disable()
    try:
        assert not jit_state._enabled and torch.jit.script(doubled) is doubled
    finally:
        jit_state.enable()
    assert torch.jit.script(doubled) is not doubled


def test_operators_with_a_wider_result() -> None:
    """torchao multiplies numbers of 8 bits with sums of 32."""
    a, b = torch.full((2, 300), 100, dtype=torch.int8), torch.full((300, 2), 100, dtype=torch.int8)
    product = out_dtype(torch.ops.aten.mm.default, torch.int32, a, b)
    assert product.dtype is torch.int32 and product[0, 0].item() == 3_000_000


def test_namespaces_of_operators_have_their_class() -> None:
    assert type(torch.ops.aten).__name__ == "_OpNamespace"


def test_distributed_autograd_says_that_it_is_not_there() -> None:
    assert torch.distributed.autograd.is_available() is False


def test_loaders_that_repeat_their_sampler() -> None:
    """A subclass that is in many training programs (timm has it) opens the loader by the mangled name of its private flag."""

    class Repeating(torch.utils.data.DataLoader[Any]):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self._DataLoader__initialized = False
            self.batch_sampler = list(self.batch_sampler) * 2
            self._DataLoader__initialized = True

    loader = Repeating(torch.arange(4), batch_size=2)
    assert [each.tolist() for each in loader] == [[0, 1], [2, 3]] * 2
    with pytest.raises(ValueError, match="batch_sampler attribute should not be set after Repeating is initialized"):
        loader.batch_sampler = []


def test_replicas_of_modules() -> None:
    module = torch.nn.BatchNorm1d(3)
    replica = module._replicate_for_data_parallel()
    assert replica._is_replica and not replica._parameters
    assert replica.running_mean is module.running_mean and replica._buffers is not module._buffers
    assert len(list(module.parameters())) == 2


def test_event_files_refuse_lists(tmp_path: Any) -> None:
    """skorch, for one, tells by the error that a value is no scalar."""
    with torch.utils.tensorboard.SummaryWriter(tmp_path) as writer:
        for refused in ([0.0, 1.0], [0.0], (1, 2)):
            with pytest.raises(NotImplementedError, match="but numpy array or torch tensor are expected"):
                writer.add_scalar("x", refused)
        with pytest.raises(NotImplementedError, match="but numpy array or torch tensor are expected"):
            writer.add_histogram("x", [1.0, 2.0])
        writer.add_mesh("points", [[[1.0, 2.0, 3.0]]])


def doubled(n: int) -> int:
    return n * 2


def listed(sizes: list[int] | None = None) -> int:
    return 0 if sizes is None else len(sizes)


def test_scripts_turn_tuples_into_lists() -> None:
    """Where a list of their elements' type is asked for: in calls, in what is returned, and of a variable that had the type outside."""

    def called(pair: tuple[int, int]) -> int:
        return listed(pair)  # type: ignore[arg-type]

    def returned(n: int) -> list[int]:
        return (n, n)  # type: ignore[return-value]

    def assigned(n: int, sizes: list[int] | None = None) -> int:
        if sizes is None:
            sizes = n, n  # type: ignore[assignment]
        return sizes[0] + len(sizes)

    def carried(x: torch.Tensor, n: int) -> torch.Tensor:
        sizes = [1, 2]
        for i in range(n):
            sizes = (n, i)  # type: ignore[assignment]
        return x.reshape(sizes)

    def other(n: int, sizes: list[float]) -> list[float]:
        if n > 2:
            sizes = (n, n)  # type: ignore[assignment]
        return sizes

    script = torch.jit.script

    def truth(flag: bool) -> int:
        return doubled(flag)

    assert script(truth)(True) == 2  # torchani gives a flag in the place of a charge
    assert script(called)((3, 4)) == 2
    assert script(returned)(3) == [3, 3]
    assert (script(assigned)(3), script(assigned)(3, [1, 2, 3])) == (5, 4)
    assert script(carried)(torch.ones(6), 3).shape == (3, 2)
    with pytest.raises(RuntimeError, match=r"Tuple\[int, int\]"):
        script(other)


class Rows:
    """A container that knows the size of its batch, as tensordict's do."""

    def __init__(self, value: Any, size: int | None) -> None:
        self.value, self.size = value, size


@pytest.fixture
def replaced_steps() -> Iterator[None]:
    def process(in_dims: Any, args: tuple[Any, ...], func: Callable[..., Any]) -> Any:
        return len(args[0].value), [in_dims] * len(args), list(args), None

    def create(dims: list[int], leaves: list[Any], level: int, structure: Any) -> Any:
        return [Rows(steps._add_batch_dim(leaf.value, dim, level), None) for leaf, dim in zip(leaves, dims)]

    def unwrap(result: Any, out_dims: Any, level: int, size: int, func: Callable[..., Any]) -> Any:
        return steps._maybe_remove_batch_dim("f", result.value, level, size, out_dims)

    before = {step: getattr(steps, step) for step in vectorize.STEPS}
    steps._process_batched_inputs, steps._create_batched_inputs, steps._unwrap_batched = process, create, unwrap  # type: ignore[assignment]
    yield
    for step, value in before.items():
        setattr(steps, step, value)
    vectorize.replaced.clear()


@pytest.mark.usefixtures("replaced_steps")
@pytest.mark.parametrize("chunk_size", [None, 2])
def test_a_library_replaces_the_steps_of_vmap(chunk_size: int | None) -> None:
    """tensordict puts its own into torch._functorch.vmap, so that a container loses a dimension of its batch with its tensors."""

    class Split(Rows):
        def tensor_split(self, bounds: list[int], dim: int) -> list[Rows]:
            return [Rows(each, len(each)) for each in self.value.tensor_split(bounds, dim=dim)]

    values = torch.arange(6.0).view(3, 2)

    def double(rows: Rows) -> Rows:
        assert rows.size is None and rows.value.shape == (2,)
        return Rows(rows.value * 2, None)

    assert torch.equal(torch.vmap(double, chunk_size=chunk_size)(Split(values, 3)), values * 2)


class _Counting(_BaseDataLoaderIter):
    """An iterator of a library's own: it counts the indices that it asks for."""

    def __init__(self, loader: Any) -> None:
        super().__init__(loader)
        self.asked = 0
        self.fetcher = dataloader._DatasetKind.create_fetcher(
            self._dataset_kind, self._dataset, self._auto_collation, self._collate_fn, self._drop_last
        )

    def _next_data(self) -> Any:
        index = self._next_index()
        self.asked += 1
        return self.fetcher.fetch(index)


def test_libraries_write_iterators_of_loaders() -> None:
    """torchdata's StatefulDataLoader has iterators of its own over the base class of PyTorch's."""
    loader: Any = DataLoader(range(10), batch_size=4)
    loader._IterableDataset_len_called = None
    found = _Counting(loader)
    assert [each.tolist() for each in found] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert (found.asked, found._num_yielded, len(found)) == (3, 3, 3)
    found._reset(loader)
    assert next(found).tolist() == [0, 1, 2, 3] and found._num_yielded == 1
    assert isinstance(found, _BaseDataLoaderIter) and isinstance(iter(loader), _BaseDataLoaderIter)
    assert not isinstance(iter(loader), _Counting) and not isinstance(loader, _BaseDataLoaderIter)


def test_the_death_of_a_watched_worker_is_told() -> None:
    """A loader that starts processes of its own learns of their end by PyTorch's functions."""
    watch = data_utils.signal_handling
    process = subprocess.Popen([sys.executable, "-c", "import sys; sys.exit(3)"])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    watch._set_worker_pids(1, (process.pid,))
    with pytest.raises(RuntimeError, match=f"pid {process.pid}.*exit code 3"):
        watch._error_if_any_worker_fails()
    watch._error_if_any_worker_fails()  # it is told once
    assert process.wait() == 3  # and the status is still there
    with pytest.raises(ValueError, match="Cannot find worker information"):
        watch._remove_worker_pids(1)


def test_exceptions_from_elsewhere_keep_the_lines_of_their_message() -> None:
    """A KeyError shows the repr of what it is given: a message of several lines stays readable."""
    try:
        {}["absent"]
    except KeyError:
        wrapped = ExceptionWrapper(where="in a worker")
    with pytest.raises(KeyError) as found:
        wrapped.reraise()
    assert str(found.value).startswith("Caught KeyError in a worker.\nOriginal Traceback")


def test_constructors_of_types_have_no_default_device() -> None:
    """transformers computes rates of layers by `torch.Tensor(numbers).split(...)` while its model is built on the meta device."""
    with torch.device("meta"):
        assert torch.Tensor([1.0, 2.0]).tolist() == [1.0, 2.0] and torch.FloatTensor(2).device.type == "cpu"
        assert torch.zeros(1).new([3.0]).is_meta


def test_the_message_of_a_changed_tensor_names_its_type() -> None:
    """The values of a large tensor are no help: its type, its sizes and the node that made it are."""
    x = torch.ones(2, 3, requires_grad=True)
    y = x.exp()
    y.add_(1)
    with pytest.raises(
        RuntimeError, match=r"\[torch.FloatTensor \[2, 3\]\], which is output 0 of Exp.* is at version 1; expected version 0"
    ):
        y.sum().backward()


def test_names_of_scripts_that_tracers_ask_for() -> None:
    """brevitas' tracer asks whether a value is an object of scripts, and what functions a function chooses from."""
    packed = torch.ops.quantized.linear_prepack(torch.quantize_per_tensor(torch.ones(2, 2), 0.1, 0, torch.qint8), None)
    assert isinstance(packed, ScriptObject) and not isinstance(torch.ones(1), ScriptObject)
    chosen = jit_internal.boolean_dispatch("flag", 1, False, min, max, __name__, "chosen")
    assert jit_internal.boolean_dispatched[chosen] == {"if_true": min, "if_false": max, "index": 1, "default": False, "arg_name": "flag"}
    with pytest.warns(UserWarning, match="deprecated"):
        torch.set_vital("a", "b", "c")


def test_back_ends_of_programs_hand_their_graph_to_the_compiler() -> None:
    """heavyball compiles its steps by a back-end of its own, which ends in `torch._inductor.compile`."""
    graphs = []

    def backend(graph: Any, examples: list[Any]) -> Any:
        graphs.append(graph)
        return inductor.compile(graph, examples, options={"max_autotune": False})

    @torch.compile(backend=backend)
    def step(x: Any, y: Any) -> Any:
        return (x * 2 + y).relu().sum(-1)

    x, y = torch.linspace(-1, 1, 6).reshape(2, 3), torch.ones(3)
    for _ in range(2):
        assert torch.allclose(step(x, y), (x * 2 + y).relu().sum(-1))
    assert len(graphs) == 1


def test_modules_that_are_not_sharded_have_no_state():
    from rushlight.distributed._composable_state import _get_module_state
    from rushlight.distributed._shard.sharding_spec import ChunkShardingSpec
    from rushlight.distributed.fsdp import FullyShardedDataParallel
    from rushlight.distributed.fsdp._common_utils import _FSDPState

    assert _get_module_state(torch.nn.Linear(1, 1)) is None and not isinstance(torch.ones(1), ChunkShardingSpec)
    assert issubclass(FullyShardedDataParallel, _FSDPState)


def test_arguments_by_the_names_of_pytorch() -> None:
    """A histogram has 100 bins unless it is told, and methods in place take the names of their schemas."""
    x = torch.arange(24.0).view(2, 3, 4)
    counts, edges = x.histogram(density=True)
    assert counts.shape == (100,) and edges.shape == (101,) and counts.sum().item() == pytest.approx(4.3478, rel=1e-4)
    assert torch.histogram(x, range=(0.0, 1.0))[0].shape == (100,)
    assert x.clone().swapaxes_(axis0=0, axis1=1).shape == (3, 2, 4) and x.clone().swapdims_(dim0=0, dim1=1).shape == (3, 2, 4)
    assert torch.empty(1).resize_(size=(2, 3)).shape == (2, 3)


def test_a_tensor_of_one_number_between_the_tensors_of_an_old_call() -> None:
    """``p.add_(-rate * trust, step)``, where the trust ratio of LAMB is a 0-dim tensor."""
    x, half = torch.arange(4.0), torch.tensor(0.5)
    with pytest.warns(UserWarning, match="deprecated"):
        assert torch.ones(4).add_(half, x).tolist() == [1, 1.5, 2, 2.5]
    with pytest.warns(UserWarning, match="deprecated"):
        assert torch.ones(4).addcmul_(half, x, x).tolist() == [1, 1.5, 3, 5.5]
    with pytest.warns(UserWarning, match="deprecated"):
        assert torch.sub(x, half, x).tolist() == [0, 0.5, 1, 1.5]
    with pytest.raises(TypeError):
        x.add(x, x)


def test_variables_of_old_programs() -> None:
    """``volatile`` and ``name`` are taken, and say nothing."""
    x = torch.ones(2)
    with pytest.warns(UserWarning, match="volatile was removed and now has no effect"):
        assert torch.autograd.Variable(x, volatile=True).tolist() == [1, 1]
    assert torch.autograd.Variable(x, True, False, name="w").requires_grad
    with (
        pytest.warns(UserWarning, match="volatile"),
        pytest.raises(ValueError, match="can't be volatile and require_grad at the same time"),
    ):
        torch.autograd.Variable(x, True, True)
    with pytest.raises(TypeError, match="Variable data has to be a tensor, but got list"):
        torch.autograd.Variable([1.0])  # type: ignore[arg-type]
    with pytest.warns(UserWarning, match="volatile"):
        x.volatile = True


F = torch.nn.functional
_UNLIKE: list[tuple[Callable[[Any, Any], Any], str]] = [
    (torch.mm, "expected m1 and m2 to have the same dtype, but got: float != c10::BFloat16"),
    (lambda a, b: a[None] @ b, "expected m1 and m2 to have the same dtype, but got: float != c10::BFloat16"),
    (lambda a, b: F.linear(a[None], b), "expected m1 and m2 to have the same dtype, but got: float != c10::BFloat16"),
    (lambda a, b: F.linear(a, b, b[0]), "mat1 and mat2 must have the same dtype, but got Float and BFloat16"),
    (lambda a, b: F.linear(a, a, b[0]), "self and mat2 must have the same dtype, but got BFloat16 and Float"),
    (lambda a, b: torch.addmm(a, a, b), "self and mat2 must have the same dtype, but got Float and BFloat16"),
    (lambda a, b: a @ b[0], "addmv input tensors must have the same dtype, but got BFloat16, Float, and BFloat16"),
    (lambda a, b: torch.addmv(a[0], a, b[0]), "addmv input tensors must have the same dtype, but got Float, Float, and BFloat16"),
    (lambda a, b: a[0] @ b[0], "dot : expected both vectors to have same dtype, but found Float and BFloat16"),
    (lambda a, b: a[None] @ b[None], "expected scalar type Float but found BFloat16"),
    (lambda a, b: torch.baddbmm(a[None], a[None], b[None]), "expected scalar type Float but found BFloat16"),
    (torch.inner, "both inputs should have same dtype"),
    (lambda a, b: torch.linalg.multi_dot([a, b]), "multi_dot(): all tensors must have be the same dtype but tensor 0 is float and tensor 1 c10::BFloat16"),
    (lambda a, b: F.bilinear(a, a, b[None]), "All tensors must have the same dtype, got input1: float, input2: float, weight: c10::BFloat16"),
    (
        lambda a, b: F.scaled_dot_product_attention(a[None], b[None], b[None]),
        "Expected query, key, and value to have the same dtype, but got query.dtype: float key.dtype: c10::BFloat16 and "
        "value.dtype: c10::BFloat16 instead.",
    ),
    (
        lambda a, b: a.index_put_((torch.tensor([0]),), b[0]),
        "Index put requires the source and destination dtypes match, got Float for the destination and BFloat16 for the source.",
    ),
    (lambda a, b: F.kl_div(a, b.long()), "kl_div: Integral inputs not supported."),
    (lambda a, b: F.kl_div(a.bool(), b), "kl_div: Integral inputs not supported."),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(_UNLIKE)))
def test_operands_of_two_types_are_refused_in_pytorchs_words(number: int) -> None:
    """Which programs look for to tell a forgotten cast from another error."""
    call, text = _UNLIKE[number]
    with pytest.raises(RuntimeError) as refused:
        call(torch.ones(2, 2), torch.ones(2, 2, dtype=torch.bfloat16))
    assert str(refused.value) == text


def test_betas_of_adam_are_floats_or_tensors() -> None:
    """PyTorch refuses the whole number of ``betas=(0, 0.99)``."""
    for kind in (torch.optim.Adam, torch.optim.AdamW):
        with pytest.raises(ValueError, match="betas must be either both floats or both Tensors"):
            kind([torch.ones(1)], betas=(0, 0.99))
        assert kind([torch.ones(1)], betas=(0.0, 0.99)).defaults["betas"] == (0.0, 0.99)


def test_joint_graphs_are_split_where_gradients_begin() -> None:
    """``default_partition``: what the outputs need runs forward, and what a gradient needs of it is saved."""

    def joint(primals_1: Any, primals_2: Any, tangents_1: Any) -> Any:
        wave = primals_1.sin()
        return [wave * primals_2, tangents_1 * primals_2 * primals_1.cos(), tangents_1 * wave]

    x, y, t = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]), torch.tensor([0.5, 2.0])
    module = torch.fx.symbolic_trace(joint)
    forward, backward = partitioners.default_partition(module, None, num_fwd_outputs=1)
    assert [each.name for each in backward.graph.nodes if each.op == "placeholder"] == ["primals_1", "primals_2", "sin", "tangents_1"]
    result, *saved = forward(x, y)
    for found, wanted in zip([result, *backward(*saved, t)], joint(x, y, t)):
        assert torch.equal(found, wanted)
    nodes = list(module.graph.nodes)
    assert [partitioners._is_primal(each) for each in nodes[:3]] == [True, True, False] and partitioners._is_tangent(nodes[2])


def test_classes_of_parametrized_modules_name_pytorchs_module() -> None:
    """The class is made when a parametrization is registered, long after the classes of its module were named."""
    program = (
        "import torch, torch.nn.utils.parametrizations as p; from torch.utils._foreach_utils import _foreach_supported_types as kinds; "
        "m = p.weight_norm(torch.nn.Linear(2, 2)); print(type(m), kinds == [torch.Tensor])"
    )
    code = f"import rushlight.compat; rushlight.compat.install(); {program}"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ}).stdout
    assert said == "<class 'torch.nn.utils.parametrize.ParametrizedLinear'> True\n"


def test_spacings_of_frequencies_may_be_tensors_of_one_number() -> None:
    """How torchoptics gives the distance of samples."""
    spacing = torch.tensor(0.5)
    assert torch.fft.fftfreq(4, spacing).tolist() == [0, 0.5, -1, -0.5]
    assert torch.fft.fftfreq(torch.tensor(4), d=spacing.double(), dtype=torch.float64).tolist() == [0, 0.5, -1, -0.5]
    assert torch.fft.rfftfreq(4, spacing).tolist() == [0, 0.5, 1] and torch.fft.rfftfreq(torch.tensor(4), np.float64(0.5)).tolist() == [
        0,
        0.5,
        1,
    ]
    with pytest.raises(TypeError, match="must be float, not Tensor"):
        torch.fft.fftfreq(4, torch.tensor([0.5]))  # type: ignore[arg-type]
