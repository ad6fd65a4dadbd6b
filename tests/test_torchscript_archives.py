"""Archives that PyTorch wrote become scripted Modules: they compute what PyTorch computes, train, compile, export and are saved again."""

from __future__ import annotations

import copy
import gc
import io
import re
import time
import warnings
import zipfile

import numpy as np
import pytest
from torchscript_files import FOLDER, Made, Named, archive, function, recorded

import rushlight as torch
from rushlight import nn
from rushlight.capture.script.frontend.errors import NotSupportedError

MODELS = sorted(name.removesuffix(".pt") for name in recorded("models") if name.endswith(".pt"))


SECONDS = 15  # of each fuzzer; with those of ONNX files it is a minute


def until(seconds: float):
    """Numbers from zero on, for so long."""
    stop, at = time.perf_counter() + seconds, 0
    while time.perf_counter() < stop:
        yield at
        at += 1


def model(name: str, **options):
    return torch.jit.load(io.BytesIO(recorded("models")[f"{name}.pt"]), **options)


def calls(name: str):
    return torch.load(io.BytesIO(recorded("models")[f"{name}.calls"]))


def same(a, b) -> bool:
    """Whether two results are equal, up to rounding."""
    if isinstance(a, torch.Tensor):
        if not isinstance(b, torch.Tensor) or a.shape != b.shape or a.dtype != b.dtype:
            return False
        wide = torch.complex128 if a.is_complex() else torch.float64
        return torch.allclose(a.to(wide), b.detach().to(wide), rtol=1e-4, atol=1e-4, equal_nan=True)
    if isinstance(a, (list, tuple)):
        return isinstance(b, (list, tuple)) and len(a) == len(b) and isinstance(a, list) == isinstance(b, list) and all(map(same, a, b))
    if isinstance(a, dict):
        return isinstance(b, dict) and list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, float):
        return type(b) is float and (a == b or a != a or abs(a - b) < 1e-4 * max(1, abs(a)))
    return type(a) is type(b) and a == b


def agrees(made, rows) -> str:
    """Where a Module differs from what was recorded; an empty text where it does not."""
    for method, arguments, result, error in rows:
        torch.manual_seed(0)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = getattr(made, method)(*arguments)
        except Exception as problem:
            if not error:
                return f"{method}: {problem}"
            continue
        if error or not same(result, found):
            return f"{method}: {error or result} is expected, and {found} is given"
    return ""


@pytest.mark.parametrize("name", MODELS)
def test_model_computes_what_pytorch_computes(name: str) -> None:
    assert agrees(model(name), calls(name)) == ""


def test_conformance_programs(capsys) -> None:
    """What PyTorch scripts of the conformance programs, and saves, is read and computes the same."""
    files, wrong = recorded("conformance"), []
    for name in [each for each in files if each.endswith(".pt")]:
        try:
            made = torch.jit.load(io.BytesIO(files[name]))
            problem = agrees(made, torch.load(io.BytesIO(files[name.replace(".pt", ".calls")])))
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        if problem:
            wrong.append(f"{name}: {problem}")
    assert not wrong and len(files) > 800


def test_file_as_pytorch_wrote_it() -> None:
    """From a path, with files for debuggers, aligned records and checksums."""
    made = torch.jit.load(FOLDER / "as_written.pt")
    assert agrees(made, calls("two_trace")) == ""
    assert type(made).__name__ == "RecursiveScriptModule" and made.original_name == "Two"
    assert list(made.state_dict()) == ["linear.weight", "linear.bias"] and "linear" in made.code and "linear" in str(made.graph)
    assert gc.isenabled()


def test_torch_load_says_what_it_is() -> None:
    with pytest.raises(NotImplementedError, match="archive of TorchScript.*torch.jit.load"):
        torch.load(FOLDER / "as_written.pt")


@pytest.mark.parametrize("name", ["resnet_script", "bert_trace", "tagger_script"])
def test_trains(name: str) -> None:
    made = model(name).train()
    (_, arguments, _, _), *_ = calls(name)
    found = made(*arguments)
    found = found[0] if isinstance(found, tuple) else found
    optimizer = torch.optim.SGD(made.parameters(), lr=0.1)
    before = {key: each.clone() for key, each in made.state_dict().items()}
    found.square().sum().backward()
    optimizer.step()
    assert all(each.grad is not None for each in made.parameters())
    assert any(not torch.equal(before[key], each) for key, each in made.state_dict().items())


@pytest.mark.parametrize("name", [each for each in MODELS if each not in ("beam_script",)])
def test_saved_again(name: str) -> None:
    """In the format of rushlight; a copy, too, computes the same."""
    made = model(name)
    file = io.BytesIO()
    torch.jit.save(made, file)
    file.seek(0)
    assert agrees(torch.jit.load(file), calls(name)) == ""
    assert agrees(copy.deepcopy(made), calls(name)) == ""


@pytest.mark.parametrize("name", ["resnet_script", "mobile_script", "quantized_script"])
def test_frozen(name: str) -> None:
    assert agrees(torch.jit.freeze(model(name)), [row for row in calls(name) if row[0] == "forward"]) == ""


@pytest.mark.parametrize("name", ["resnet_trace", "bert_trace", "constants_trace"])
def test_compiled(name: str) -> None:
    (_, arguments, result, _), *_ = calls(name)
    assert same(result, torch.compile(model(name))(*arguments))


@pytest.mark.parametrize("name", ["resnet_script", "bert_trace"])
def test_exported(name: str) -> None:
    pytest.importorskip("onnxruntime")
    import onnxruntime

    (_, arguments, result, _), *_ = calls(name)
    file = io.BytesIO()
    torch.onnx.export(model(name), tuple(arguments), file, input_names=[f"in{at}" for at in range(len(arguments))])
    session = onnxruntime.InferenceSession(file.getvalue(), providers=["CPUExecutionProvider"])
    found = session.run(None, {f"in{at}": each.detach().numpy() for at, each in enumerate(arguments)})
    assert np.allclose(found[0], result.detach().numpy(), atol=1e-4)


def test_attributes() -> None:
    made = model("attributes_script")
    assert (made.table, made.names, made.mixed, made.nothing) == ({"a": 1, "b": 2}, ["u", "é"], (1, "z", 2.5), None)
    assert made.color.name == "GREEN" and made.kind == 7 and made.place == torch.device("cpu") and made.plain.tolist() == [0, 1, 2]
    assert list(made.parts._modules) == ["one", "two"] and dict(made.named_buffers()).keys() == {"passing"}
    with pytest.raises(torch.jit.Error, match="3 is too big"):
        made.refuse(3)


def test_extra_files_and_locations() -> None:
    text = 'class M(Module):\n  __parameters__ = ["w", ]\n  __buffers__ = []\n  w : Tensor\n  training : bool\n  def forward(self: __torch__.M) -> Tensor:\n    return torch.zeros([2], dtype=6, layout=0, device=torch.device("cuda:0"), pin_memory=False)\n'
    state = {"w": np.ones(2, np.float32), "training": True}
    file = archive({"__torch__": text}, Made("__torch__.M", state), extra={"extra/notes.txt": b"hello", "extra/other": b"no"})
    wanted = {"notes.txt": "", "absent": ""}
    made = torch.jit.load(file, map_location="cpu", _extra_files=wanted)
    assert wanted == {"notes.txt": b"hello", "absent": ""}
    assert made().device.type == "cpu" and isinstance(made.w, nn.Parameter)
    file.seek(0)
    assert torch.jit.load(file, map_location="meta").w.is_meta


# -- forms that older versions wrote -------------------------------------------------------------------------------------


X = torch.tensor([1.0, -2.0, 3.0])
OLD: dict[str, tuple] = {
    "alpha": ("return torch.add(x, torch.mul(x, 2), alpha=1)", X + X * 2),
    "constants": ("return torch.add(x, CONSTANTS.c0, alpha=2)", X + 2),
    "ops aten": ("return ops.aten.relu(x)", X.relu()),
    "dtype numbers": ("return torch.to(torch.zeros([3], dtype=4, layout=0, device=torch.device(\"cpu\"), pin_memory=False), 6, False, False, None)", X * 0),
    "infinities": ("_0 = torch.masked_fill(x, torch.gt(x, 0), -inf)\nreturn torch.masked_fill(_0, torch.lt(x, 0), nan)", torch.tensor([-torch.inf, torch.nan, -torch.inf])),
    "float text": ("return torch.clamp(x, None, float(\"inf\"))", X),
    "loop": ("y = x\nfor i in range(3):\n  y0 = torch.add(y, x, alpha=1)\n  y = y0\nreturn y", X * 4),
    "while": ("_0 = True\nn = 0\nwhile _0:\n  n0 = torch.add(n, 1)\n  _0, n = torch.lt(n0, 4), n0\nreturn torch.mul(x, n)", X * 4),
    "if expression": ("return torch.mul(x, 2 if torch.gt(torch.dim(x), 0) else 3)", X * 2),
    "uninitialized": ("_0 = uninitialized(Tensor)\nif torch.gt(torch.dim(x), 5):\n  raise Exception(\"no\")\n  _1 = _0\nelse:\n  _1 = x\nreturn _1", X),
    "unchecked unwrap": ("y = annotate(Optional[Tensor], x)\nreturn ops.prim.unchecked_unwrap_optional(y)", X),
    "tuples": ("_0 = (x, 2)\na, b, = _0\nreturn torch.mul(a, b)", X * 2),
    "lists": ("l = annotate(List[int], [])\n_0 = torch.append(l, 3)\n_1 = torch._set_item(l, 0, 4)\nreturn torch.mul(x, torch.add(l[0], torch.len(l)))", X * 5),
    "dicts": ("d = annotate(Dict[str, int], {})\ntorch._set_item(d, \"a\", 3)\nif torch.__contains__(d, \"a\"):\n  n = d[\"a\"]\nelse:\n  n = 0\nreturn torch.mul(x, n)", X * 3),
    "numbers as tensors": ("_0 = ops.prim.NumToTensor(torch.size(x, 0))\nreturn torch.reshape(x, [1, int(_0)])", X.reshape(1, 3)),
    "implicit numbers": ("_0 = torch.add(ops.prim.NumToTensor(torch.size(x, 0)), CONSTANTS.c1, alpha=1)\nreturn torch.mul(x, annotate(number, _0))", X * 5),
    "slices": ("_0 = torch.slice(x, 0, 1, 9223372036854775807, 1)\nreturn torch.select(torch.unsqueeze(_0, 0), 0, 0)", X[1:]),
    "index": ("_0 = annotate(List[Optional[Tensor]], [torch.gt(x, 0)])\nreturn torch.index(x, _0)", X[X > 0]),
    "cast": ("return torch._cast_Float(torch._cast_Long(x, False), False)", X.long().float()),
    "convolution": ("_0 = torch._convolution(torch.view(x, [1, 1, 3]), torch.ones([1, 1, 2], dtype=6), None, [1], [0], [1], False, [0], 1, False, False, True)\nreturn torch.view(_0, [-1])", torch.tensor([-1.0, 1.0])),
    "texts": ("_0 = torch.format(\"{}\", torch.join(\"-\", torch.split(\"a b\", \" \")))\nif torch.eq(_0, \"a-b\"):\n  y = x\nelse:\n  y = torch.neg(x)\nreturn y", X),
    "method call": ("return (self).helper(x, )", None),
    "mangled": ("return __torch__.___torch_mangle_0.twice(x, )", X * 2),
    "object": ("_0 = __torch__.C.__new__(__torch__.C)\n_1 = (_0).__init__(3, )\nreturn torch.mul(x, _0.n)", X * 3),
    "named tuple": ("_0 = __torch__.P(x, 2)\nreturn torch.mul(_0.a, _0.b)", X * 2),
}  # fmt: skip
PARTS = {
    "__torch__.___torch_mangle_0": "def twice(x: Tensor) -> Tensor:\n  return torch.mul(x, 2)\n",
    "__torch__.C": "",
}
CLASSES = (
    "class C:\n  n : int\n  def __init__(self: __torch__.C,\n    n: int) -> NoneType:\n    self.n = n\n    return None\n"
    "class P(NamedTuple):\n  a : Tensor\n  b : int\nclass Empty(Module):\n"
)


@pytest.mark.parametrize("name", [each for each in OLD if OLD[each][1] is not None])
def test_old_form(name: str) -> None:
    body, expected = OLD[name]
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    text = f"op_version_set = 1\n{CLASSES}class M(Module):\n  __parameters__ = []\n  training : bool\n  def forward(self: __torch__.M,\n    x: Tensor) -> Tensor:\n{lines}"
    constants = (np.ones((), np.float32), np.array(2, np.int64))
    made = torch.jit.load(archive({"__torch__": text, **PARTS}, Made("__torch__.M", {"training": True}), constants))
    assert same(expected, made(X))


def test_tensors_that_old_archives_say_nothing_of_are_buffers() -> None:
    text = 'class M(Module):\n  __parameters__ = ["w", ]\n  w : Tensor\n  b : Tensor\n  training : bool\n  def forward(self: __torch__.M) -> Tensor:\n    return torch.add(self.w, self.b, alpha=1)\n'
    state = {"w": np.ones(2, np.float32), "b": np.ones(2, np.float32), "training": True}
    made = torch.jit.load(archive({"__torch__": text}, Made("__torch__.M", state), version="1\n"))
    assert [name for name, _ in made.named_buffers()] == ["b"] and made().tolist() == [2.0, 2.0]


def test_state_is_set_by_the_code() -> None:
    text = (
        "class M(Module):\n  __parameters__ = []\n  __buffers__ = []\n  training : bool\n  n : int\n  def forward(self: __torch__.M) -> int:\n    return self.n\n"
        "  def __setstate__(self: __torch__.M,\n    state: Tuple[int, bool]) -> NoneType:\n    self.n = torch.mul((state)[0], 2)\n    self.training = (state)[1]\n    return None\n"
    )
    assert torch.jit.load(archive({"__torch__": text}, Made("__torch__.M", (21, False))))() == 42
    helper = "  def helper(self: __torch__.M) -> NoneType:\n    while True:\n      pass\n    return None\n"
    twice = "".join(
        f"def f{at}(n: int) -> int:\n  return torch.add(__torch__.f{at + 1}(n, ), __torch__.f{at + 1}(n, ))\n" for at in range(40)
    )
    for wrong, message in (
        (text.replace("    self.n = torch", "    while True:\n      pass\n    self.n = torch"), "may not end"),
        (text.replace("    self.n = torch", "    _0 = (self).helper()\n    self.n = torch") + helper, "may not end"),
        (text.replace("    self.n = torch", "    for i in range(1000000000):\n      pass\n    self.n = torch"), "too many steps"),
        (text.replace("torch.mul((state)[0], 2)", "__torch__.f0(1, )") + twice + "def f40(n: int) -> int:\n  return n\n", "too many steps"),
    ):
        with pytest.raises(torch.jit.CaptureError, match=f"__setstate__.*{message}"):
            torch.jit.load(archive({"__torch__": wrong}, Made("__torch__.M", (21, False))))


# -- files that are wrong --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body, message",
    [
        ("return ops.nowhere.thing(x)", r"nowhere::thing.*torch.library(.|\n)*__torch__.py"),
        ("return torch.no_such_operator(x)", r"aten::no_such_operator(.|\n)*HERE"),
        ("return torch.relu(x, 1, 2, 3)", r"aten::relu\(.*fits none"),
        ("return (self).forward(x, )", "calls itself"),
        ("return __torch__.f(x, )", "calls itself"),
        ("return CONSTANTS.c7", "none called 'c7'"),
        ("import os\nreturn x", "import"),
        ('return __import__("os")', "__import__"),
        ('return eval("1")', "eval"),
        ("return x.__class__", "__class__"),
        ("return self.absent", "no attribute 'absent'"),
        ("return (", "can't be read"),
        ("return __torch__.Absent.x", "does not define"),
        ("return (lambda: x)()", "Lambda"),
    ],
)
def test_wrong_code(body: str, message: str) -> None:
    loop = "def f(x: Tensor) -> Tensor:\n  return __torch__.f(x, )\n"
    file = function(body)
    text = archive_text(file) + loop
    with pytest.raises(torch.jit.CaptureError, match=message):
        torch.jit.load(archive({"__torch__": text}, Made("__torch__.M", {"training": False})))


def archive_text(file: io.BytesIO) -> str:
    import zipfile

    return zipfile.ZipFile(file).read("model/code/__torch__.py").decode()


def test_operator_on_a_way_that_is_not_taken() -> None:
    made = torch.jit.load(function("if torch.gt(torch.dim(x), 5):\n  y = ops.quantized.no_such(x)\nelse:\n  y = x\nreturn y"))
    assert torch.equal(made(X), X)
    with pytest.raises(Exception, match="quantized::no_such"):
        made(torch.ones([1] * 6))


@pytest.mark.parametrize(
    "data, message",
    [
        (b"cos\nsystem\n(X\x04\x00\x00\x00truetR.", "os.system.*nothing of it is called"),
        (b"c__builtin__\neval\n(X\x01\x00\x00\x001tR.", "eval"),
        (Named("torch", "FloatStorage"), "no Module"),
        ({"a": 1}, "no Module"),
        (Made("__torch__.Absent", {}), "Absent.*does not have"),
        (Made("__torch__.M", {"_parameters": {}}), "_parameters"),
        (Made("__torch__.M", {"__class__": 1}), "__class__"),
        (Made("__torch__.M", [1]), "not a dict"),
        (Made("__torch__.torch.classes.nowhere.X", ()), "torch.classes.nowhere.X"),
        (b"\x80\x02", "can't be read"),
    ],
)
def test_wrong_pickle(data, message: str) -> None:
    text = archive_text(function("return x"))
    with pytest.raises((torch.jit.CaptureError, NotImplementedError), match=message):
        torch.jit.load(archive({"__torch__": text}, data))


def test_newer_and_mobile() -> None:
    text = archive_text(function("return x"))
    with pytest.raises(torch.jit.CaptureError, match="version '99'"):
        torch.jit.load(archive({"__torch__": text}, Made("__torch__.M", {"training": False}), version="99\n"))
    with pytest.raises(NotImplementedError, match="bytecode"):
        torch.jit.load(archive({}, Made("__torch__.M", {}), extra={"bytecode.pkl": b"."}))


def test_damaged_files_are_refused() -> None:
    """Bytes that are changed, and files that end early: an error that says so, or a Module, and never anything else."""
    files = [
        *(recorded("models")[f"{name}.pt"] for name in MODELS),
        recorded("old")["1.0.1/control_script.pt"],
        recorded("old")["1.3.1/static_script.pt"],
    ]
    generator = np.random.default_rng(0)
    for at in until(SECONDS):
        data = bytearray(files[at % len(files)])
        if at % 3 == 0:
            del data[int(generator.integers(len(data))) :]
        else:
            for place in generator.integers(0, len(data), 1 + at % 4):
                data[place] ^= 1 << int(generator.integers(8))
        try:
            torch.jit.load(io.BytesIO(bytes(data)))
        except (torch.jit.CaptureError, NotImplementedError, RuntimeError, ValueError):
            pass


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_damaged_code_and_pickles_are_refused() -> None:
    """The same behind the checksums of the file: text and pickles that are changed."""
    archives = [
        recorded("models")["attributes_script.pt"],
        recorded("models")["quantized_script.pt"],
        recorded("old")["1.0.1/control_script.pt"],
    ]
    opened = [zipfile.ZipFile(io.BytesIO(each)) for each in (*archives, recorded("old")["1.2.0/attributes_script.pt"])]
    contents = [{name: source.read(name) for name in source.namelist()} for source in opened]
    generator = np.random.default_rng(1)
    for at in until(SECONDS):
        files = contents[at % len(contents)]
        wanted = [name for name in files if name.endswith((".py", ".pkl", ".json")) and files[name]]
        name = wanted[int(generator.integers(len(wanted)))]
        data = bytearray(files[name])
        for place in generator.integers(0, len(data), 1 + at % 3):
            data[place] = int(generator.integers(256)) if name.endswith(".pkl") else int(generator.integers(32, 127))
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as made:
            for key, content in files.items():
                made.writestr(key, bytes(data) if key == name else content)
        file.seek(0)
        try:
            torch.jit.load(file)
        except (torch.jit.CaptureError, NotImplementedError, RuntimeError, ValueError):
            pass


FORKED = """a = torch.add(x, 1)
def __forked_function():
  a0 = torch.mul(x, 3)
  def __forked_function0():
    return torch.neg(a0)
  f0 = fork(__forked_function0)
  if torch.gt(torch.dim(x), 0):
    a1 = torch.add(a0, torch.wait(f0))
  else:
    a1 = a0
  return torch.add(a1, a0)
f = fork(__forked_function)
a0 = torch.add(a, 1)
return torch.add(torch.wait(f), a0)"""


def test_forked_functions_run_where_they_are_forked() -> None:
    made, x = torch.jit.load(function(FORKED)), torch.tensor([1.0, 2.0])
    for called in (made, torch.compile(made), torch.export.export(made, (x,)).module()):
        assert called(x).tolist() == [6.0, 10.0]
    twice = "".join(
        f"{'  ' * depth}def __forked_function{depth}():\n" for depth in range(30)
    ) + f"{'  ' * 30}return x\n" + "".join(
        f"{'  ' * depth}f{depth} = fork(__forked_function{depth})\n{'  ' * depth}g{depth} = fork(__forked_function{depth})\n"
        + (f"{'  ' * depth}return torch.add(f{depth}, g{depth})\n" if depth else "")
        for depth in reversed(range(30))
    )  # fmt: skip
    with pytest.raises(NotSupportedError, match="more than 100000 parts"):
        torch.jit.load(function(twice + "return f0"))


RANGES = {
    "trace": '_0 = ops.profiler._record_function_enter_new("part")\ny = torch.mul(x, 2)\nops.profiler._record_function_exit(_0)\nreturn y',
    "script": "_0 = {0}.__new__({0})\n_1 = (_0).__init__(\"part\", None, )\nwith _0:\n  y = torch.mul(x, 2)\nreturn y",
    "frozen": "_0 = {0}.__new__({0})\n_0.name = \"part\"\n_0.args = None\n_0.record = None\nwith _0:\n  y = torch.mul(x, 2)\nreturn y",
}  # fmt: skip


@pytest.mark.parametrize("kind", RANGES)
def test_ranges_of_the_profiler(kind) -> None:
    body = RANGES[kind].format("__torch__.torch.autograd.profiler.record_function")
    made, x = torch.jit.load(function(body)), torch.ones(2)
    with torch.profiler.profile() as found:
        assert made(x).tolist() == [2.0, 2.0]
    assert "part" in {each.key for each in found.key_averages()}
    assert torch.compile(made, fullgraph=True)(x).tolist() == [2.0, 2.0]
    for options in ({}, {"format": "torchscript"}):
        file = io.BytesIO()
        torch.jit.save(made, file, **options)
        file.seek(0)
        assert torch.jit.load(file)(x).tolist() == [2.0, 2.0]


def test_stft_without_an_argument_for_padding_does_not_pad() -> None:
    x = torch.arange(64.0).sin()
    made = torch.jit.load(function("return torch.view_as_real(torch.stft(x, 16, 4, 16, None, False, True, True))"))
    expected = torch.view_as_real(torch.stft(x, 16, 4, 16, center=False, return_complex=True))
    assert torch.allclose(made(x), expected)
    assert torch.ops.aten.stft.default(x, 16, return_complex=True).shape == (9, 13)
    assert torch.ops.aten.stft.center(x, 16, return_complex=True).shape == (9, 17)


def test_packed_parameters_of_half_precision_and_of_tables() -> None:
    x = torch.linspace(0, 1, 3).reshape(1, 3)
    packed = torch.ops.quantized.linear_prepack_fp16(torch.linspace(-1, 1, 6).reshape(2, 3), torch.ones(2))
    weight, bias = torch.ops.quantized.linear_unpack_fp16(packed)
    assert weight.dtype == torch.float32 and torch.equal(weight, torch.linspace(-1, 1, 6).reshape(2, 3).half().float())
    assert torch.allclose(torch.ops.quantized.linear_dynamic_fp16(x, packed), x @ weight.T + bias)
    assert (torch.ops.quantized.linear_relu_dynamic_fp16(-9 * x, packed) >= 0).all()
    real = torch.linspace(-1, 1, 20).reshape(5, 4)
    table = torch.quantize_per_channel(real, torch.full((5,), 0.01), torch.full((5,), 100.5), 0, torch.quint8)
    held, bag = torch.ops.quantized.embedding_bag_prepack(table), torch.ops.quantized.embedding_bag_byte
    rows = torch.ops.quantized.embedding_bag_unpack(held).dequantize()
    assert torch.allclose(bag(held, torch.tensor([[0, 1], [4, 4]])), torch.stack([rows[0] + rows[1], 2 * rows[4]]))
    found = bag(held, torch.tensor([0, 1, 2, 3]), torch.tensor([0, 2, 2]), per_sample_weights=torch.tensor([1.0, 2.0, 3.0, 4.0]))
    assert torch.allclose(found, torch.stack([rows[0] + 2 * rows[1], 0 * rows[0], 3 * rows[2] + 4 * rows[3]]))


@pytest.mark.parametrize("name", MODELS)
def test_code_is_that_of_the_archive(name: str) -> None:
    """Methods are shown as their archive writes them, without the type of self, and with constants of their own numbers."""
    module = model(name)
    with zipfile.ZipFile(io.BytesIO(recorded("models")[f"{name}.pt"])) as file:
        text = "".join(file.read(each).decode() for each in file.namelist() if each.endswith(".py"))
    lines = {re.sub(r"CONSTANTS\.c\d+", "CONSTANTS", line.strip()) for line in text.splitlines()}
    head, *body = module.code.splitlines()
    assert head.startswith("def forward(self")
    assert body
    assert {re.sub(r"CONSTANTS\.c\d+", "CONSTANTS", line.strip()) for line in body if line.strip()} <= lines
    code, constants = module.forward.code_with_constants
    assert code == module.code
    assert {f"c{at}" for at in range(len(constants.const_mapping))} == set(re.findall(r"CONSTANTS\.(c\d+)", code))


def test_operators_of_torchvision_need_no_torchvision() -> None:
    """Archives of detection models call torchvision::nms, which is declared when a file needs it."""
    text = """\
class Net(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  def forward(self: __torch__.Net,
    boxes: Tensor,
    scores: Tensor) -> Tensor:
    return ops.torchvision.nms(boxes, scores, 0.5)
"""
    module = torch.jit.load(archive({"__torch__": text}, Made("__torch__.Net", {"training": False})))
    boxes = torch.tensor([[0.0, 0, 10, 10], [1, 1, 10, 10], [20, 20, 30, 30]])
    assert module(boxes, torch.tensor([0.5, 0.9, 0.1])).tolist() == [1, 2]
