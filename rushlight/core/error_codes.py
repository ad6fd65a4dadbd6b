"""The table of error codes: what each means, what to do about it, and a program that raises it.

Nothing imports this at run time: ``docs/generate.py`` writes ``docs/errors.md`` and a page for each code from it, and the tests
run every program.
"""

from __future__ import annotations

from typing import NamedTuple


class ErrorCode(NamedTuple):
    """One row."""

    base: str  # the exception of Python's that PyTorch raises in the same case
    meaning: str
    advice: str
    setup: str = ""  # what the example needs
    wrong: str = ""  # raises the error
    right: str = ""  # what to write instead


CUBE = """\
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return {gradient}
"""

CODES: dict[str, ErrorCode] = {
    "RL101": ErrorCode(
        "RuntimeError", "shapes do not fit together, or a view is impossible", "compare the shapes in the message; `unsqueeze`, `expand`, `reshape`",
        "rows, columns = torch.ones(2), torch.ones(3)", "rows + columns", "rows.unsqueeze(1) + columns  # of shape [2, 3]",
    ),
    "RL102": ErrorCode(
        "RuntimeError", "the op does not take this type, or a result can't be stored in the target's type", "convert with `.to(dtype)`; use the out-of-place form",
        "counts = torch.tensor([1, 2, 3])", "counts += 0.5", "counts = counts + 0.5",
    ),
    "RL103": ErrorCode(
        "RuntimeError", "tensors on different devices, or a device that is not there", "move one of them with `.to(device)`",
        'shape_only = torch.ones(3, device="meta")', "torch.ones(3) + shape_only", 'torch.ones(3).to("meta") + shape_only',
    ),
    "RL104": ErrorCode(
        "IndexError", "a dimension or an index out of range", "the message names the allowed range",
        "x = torch.ones(2, 3)", "x.sum(2)", "x.sum(1)  # or -1, the last",
    ),
    "RL105": ErrorCode(
        "TypeError", "an argument of the wrong type, missing, or too many", "the message names the argument and its position",
        "x = torch.ones(2, 3)", 'x.reshape("all")', "x.reshape(-1)",
    ),
    "RL106": ErrorCode(
        "ValueError", "an argument of the right type with a value that is not allowed", "the message names the allowed values",
        "", "torch.nn.functional.dropout(torch.ones(3), p=2.0)", "torch.nn.functional.dropout(torch.ones(3), p=0.2)",
    ),
    "RL107": ErrorCode(
        "RuntimeError", "the operation can't be done on these values", "see the message",
        "x = torch.ones(3)", "bool(x > 0)  # of which of the three?", "bool((x > 0).all())",
    ),
    "RL108": ErrorCode(
        "RuntimeError", "a write to memory that several elements share (after `expand`, or onto an input)", "`clone()` the tensor first",
        "rows = torch.zeros(1, 3).expand(2, 3)  # both rows are the same memory", "rows.add_(1)", "rows.clone().add_(1)",
    ),
    "RL109": ErrorCode(
        "RuntimeError", "a factorisation failed: a singular or not positive-definite matrix", "check the matrix; add a small multiple of the identity",
        "matrix = torch.zeros(2, 2)", "torch.linalg.cholesky(matrix)", "torch.linalg.cholesky(matrix + 1e-6 * torch.eye(2))",
    ),
    "RL110": ErrorCode(
        "NotImplementedError", "the op has no meaning for this type", "convert with `.to(dtype)`",
        "x = torch.tensor([1, 2])", "torch.nn.functional.gelu(x)", "torch.nn.functional.gelu(x.to(torch.float32))",
    ),
    "RL111": ErrorCode(
        "AssertionError", "something that needs an accelerator, which is not here", "use the CPU: `device='cpu'`, `torch.accelerator.is_available()` says what is there",
        "", "torch.cuda.synchronize()", "torch.cpu.synchronize()",
    ),
    "RL112": ErrorCode(
        "RuntimeError", "the memory of a GPU does not suffice", "a smaller batch, `torch.cuda.empty_cache()`, `torch.utils.checkpoint`; the message says what is held",
        "def step(batch):\n    if batch > 8:  # as a GPU would\n        raise torch.OutOfMemoryError(\"CUDA out of memory.\")", "step(64)", "step(8)",
    ),
    "RL113": ErrorCode(
        "RuntimeError", "a kernel, a launch or a library of a GPU has failed", "set `CUDA_LAUNCH_BLOCKING=1`, which makes the line in the message exact",
        "def launch(grid):\n    if 0 in grid:  # as a GPU would\n        raise torch.AcceleratorError(\"CUDA error: invalid configuration argument\")", "launch((0,))", "launch((1,))",
    ),
    "RL114": ErrorCode(
        "RuntimeError", "a safetensors file is damaged, is none, or does not have the tensor that it is asked for",
        "the message names the file and what is wrong with it; download or write it again", "from rushlight.utils import safetensors",
        'safetensors.load(b"no header")', 'safetensors.load(safetensors.save({"weight": torch.ones(2)}))',
    ),
    "RL201": ErrorCode(
        "RuntimeError", "a gradient was asked for where there is none, or a rule of recording was broken", "check `requires_grad`; look for `detach` and `no_grad`",
        "", "torch.ones(3).sum().backward()", "torch.ones(3, requires_grad=True).sum().backward()",
    ),
    "RL202": ErrorCode(
        "RuntimeError", "an in-place write would make a gradient wrong", "write out of place, `clone()` first, or write under `no_grad`",
        "x = torch.ones(3, requires_grad=True)\ny = x.exp()  # its gradient is y itself", "y.add_(1)\ny.sum().backward()", "y = x.exp() + 1\ny.sum().backward()",
    ),
    "RL203": ErrorCode(
        "RuntimeError", "backward ran a second time through a freed graph", "`backward(retain_graph=True)` the first time",
        "x = torch.ones(3, requires_grad=True)\nloss = x.exp().sum()", "loss.backward()\nloss.backward()",
        "loss = x.exp().sum()\nloss.backward(retain_graph=True)\nloss.backward()",
    ),
    "RL204": ErrorCode(
        "RuntimeError", "a custom Function broke its contract", "the message names the Function, the argument and the line of its backward; `rushlight check` tells more",
        CUBE.format(gradient="gradient * 3 * x * x, gradient  # two gradients, but forward takes one input"),
        "Cube.apply(torch.ones(3, requires_grad=True)).sum().backward()", "",
    ),
    "RL205": ErrorCode(
        "RuntimeError", "a gradient disagrees with finite differences", "the message shows both Jacobians and the worst element",
        CUBE.format(gradient="gradient * 2 * x * x  # 3, not 2"),
        "x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)\ntorch.autograd.gradcheck(Cube.apply, x)", "",
    ),
    "RL206": ErrorCode(
        "RuntimeError", "a checkpointed function did something else on its second run", "make it depend on its inputs alone",
        "from rushlight.utils.checkpoint import checkpoint\n\ncalls = []\n\n\ndef body(x):\n    calls.append(1)\n    return x.exp().sin() if len(calls) == 1 else x.exp()",
        "checkpoint(body, torch.ones(3, requires_grad=True), use_reentrant=False).sum().backward()", "",
    ),
    "RL301": ErrorCode(
        "NotImplementedError", "PyTorch has it and rushlight has not (yet)", "the message says what to use instead; [the list](../not-supported.md)",
        "", "torch.sparse.spsolve(torch.eye(2).to_sparse_csr(), torch.ones(2))", "torch.linalg.solve(torch.eye(2), torch.ones(2))",
    ),
    "RL302": ErrorCode(
        "OSError", "a compiled extension of PyTorch can't be loaded: it links with PyTorch's C++ libraries",
        "register the op in Python with `torch.library.custom_op`", "", "torch.ops.load_library(\"libmine.so\")", "",
    ),
    "RL401": ErrorCode(
        "RuntimeError", "a graph is not well formed, or an edit would make it so", "the message names the node; after edits by hand run `graph.lint()`",
        "traced = torch.jit.trace(lambda x: x.sin() + 1, torch.ones(2))\nsine = next(node for node in traced.graph.nodes if node.op.startswith(\"call\"))",
        "traced.graph.erase_node(sine)  # the addition uses it", "",
    ),
    "RL402": ErrorCode(
        "RuntimeError", "a program can't be captured as it is written", "the message names the line and what to write instead",
        CUBE.format(gradient="gradient * 3 * x * x") + "\n\ntraced = torch.jit.trace(lambda x: Cube.apply(x), torch.ones(2))",
        'torch.jit.save(traced, "cube.pt")  # a file of jit.save holds no code of yours', "",
    ),
    "RL403": ErrorCode(
        "RuntimeError", "a second run of a traced program did something else than the first",
        "remove what makes it change: state outside, randomness in Python; or `check_trace=False`",
        "calls = []\n\n\ndef changes(x):\n    calls.append(1)\n    return x + len(calls)", "torch.jit.trace(changes, torch.ones(2))", "",
    ),
    "RL404": ErrorCode(
        "RuntimeError", "a program that is scripted does not fit together: a type, a name, a branch", "the caret points at the place, the message says what to write",
        "def half(x):\n    if bool(x.sum() > 0):\n        y = x / 2\n    return y  # not there in the other case", "torch.jit.script(half)(torch.ones(2))",
        "def half(x):\n    y = x\n    if bool(x.sum() > 0):\n        y = x / 2\n    return y\n\n\ntorch.jit.script(half)(torch.ones(2))",
    ),
    "RL405": ErrorCode(
        "RuntimeError", "a part of Python that scripts do not have", "write it as the message says, or mark the function with `jit.ignore`",
        "def numbers(x):\n    yield x", "torch.jit.script(numbers)(torch.ones(2))", "",
    ),
    "RL406": ErrorCode(
        "RuntimeError", "a scripted program called a function marked with `jit.unused`", "do not call it, or mark it with `jit.ignore`",
        "class Net(torch.nn.Module):\n    @torch.jit.unused\n    def report(self, x):\n        print(x)\n        return x\n\n    def forward(self, x):\n        return self.report(x)",
        "torch.jit.script(Net())(torch.ones(2))", "",
    ),
    "RL407": ErrorCode(
        "RuntimeError", "with `fullgraph=True`: something in a compiled program can't be captured",
        "the message names the line and what to write instead; without `fullgraph` it ends one graph, and the next begins after it",
        "def choose(x):\n    return x * 2 if x.sum() > 0 else x", "torch.compile(choose, fullgraph=True)(torch.ones(3))",
        "torch.compile(lambda x: torch.where(x.sum() > 0, x * 2, x), fullgraph=True)(torch.ones(3))",
    ),
    "RL408": ErrorCode(
        "AssertionError", "with `compile(..., check=True)`: the compiled code and eager do not agree",
        "the message names the node and the line: report it, or use another back-end",
        "def wrong_backend(module, examples):\n    return lambda *inputs: tuple(each + 1 for each in module(*inputs))",
        "torch.compile(lambda x: x.sin(), backend=wrong_backend, check=True)(torch.ones(3))", "",
    ),
    "RL409": ErrorCode(
        "RuntimeError", "a compiled program fixes a size that was marked with `mark_dynamic`",
        "use `maybe_mark_dynamic`, or keep the size out of Python numbers; the message names the line",
        "def fixes(x):\n    return x * len(range(x.shape[0]))  # the length of a range is a plain number\n\n\nx = torch.ones(4)\ntorch.compiler.mark_dynamic(x, 0)", "torch.compile(fixes)(x)", "",
    ),
    "RL410": ErrorCode(
        "RuntimeError", "a back-end of `compile` failed on a graph, where the program itself does not",
        "the message names the back-end and what it raised: mend it, or use another one; `compile` falls back on none by itself",
        'def failing_backend(module, examples):\n    raise ValueError("no such thing")',
        "torch.compile(lambda x: x.sin(), backend=failing_backend)(torch.ones(3))", 'torch.compile(lambda x: x.sin(), backend="eager")(torch.ones(3))',
    ),
    "RL411": ErrorCode(
        "RuntimeError", "a Module can't be exported as it is, or not with these dynamic shapes", "the message says what the program demands, and what to write instead",
        "model, batch = torch.nn.Linear(4, 2), torch.export.Dim(\"batch\")", "torch.export.export(model, (torch.ones(3, 4),), dynamic_shapes=({1: batch},))",
        "torch.export.export(model, (torch.ones(3, 4),), dynamic_shapes=({0: batch},))",
    ),
    "RL412": ErrorCode(
        "RuntimeError", "an example input of an export is not within the range that its `Dim` has", "give another example, or another range",
        "model, batch = torch.nn.Linear(4, 2), torch.export.Dim(\"batch\", min=5)", "torch.export.export(model, (torch.ones(3, 4),), dynamic_shapes=({0: batch},))",
        "torch.export.export(model, (torch.ones(6, 4),), dynamic_shapes=({0: batch},))",
    ),
    "RL413": ErrorCode(
        "RuntimeError", "an exported program branches in Python on the value of a tensor", "write the choice with `torch.where` or `torch.cond`",
        "class Net(torch.nn.Module):\n    def forward(self, x):\n        return x if x.sum() > 0 else -x\n\n\nclass Chooses(torch.nn.Module):\n    def forward(self, x):\n        return torch.where(x.sum() > 0, x, -x)",
        "torch.export.export(Net(), (torch.ones(3),))", "torch.export.export(Chooses(), (torch.ones(3),))",
    ),
    "RL414": ErrorCode(
        "ValueError", "a file is no exported program, or one that can't be read", "export the model again with `torch.export.save`; the message says what is wrong and where",
        "import io", 'torch.export.load(io.BytesIO(b"no archive"))', "",
    ),
    "RL415": ErrorCode(
        "ValueError", "a file holds no model that is known", "commands take ONNX files, TorchScript archives, exported programs and files of `jit.save`",
        "from rushlight.model_files import open_model", 'open_model("/dev/null")', "",
    ),
    "RL416": ErrorCode(
        "NotImplementedError", "a dataclass that a script uses has a field with a `default_factory`", "give the field a plain default, or none",
        "from dataclasses import dataclass, field\n\n\n@torch.jit.script\n@dataclass\nclass Point:\n    x: int = 0\n\n\n@dataclass\nclass Path:\n    steps: list[int] = field(default_factory=list)",
        "torch.jit.script(Path)", "Point(3)",
    ),
    "RL417": ErrorCode(
        "RuntimeError", "with `fullgraph=True`: a program was compiled as often as it may be, and needs another graph",
        "let sizes be dynamic (`dynamic=True`), or raise the limit (`recompile_limit=`); the message says what differed last",
        "compiled = torch.compile(lambda x: x + 1, fullgraph=True, dynamic=False, recompile_limit=2)", "for size in (1, 2, 3):\n    compiled(torch.ones(size))",
        "compiled(torch.ones(1))",
    ),
    "RL418": ErrorCode(
        "RuntimeError", "a program needs a second graph, and `torch._dynamo.config.error_on_recompile` is set",
        "let what differs be dynamic, or allow a second graph; the message says what differed",
        "from rushlight.compat.dynamo import config\n\ncompiled = torch.compile(lambda x: x + 1, dynamic=False)\ncompiled(torch.ones(1))",
        "with config.patch(error_on_recompile=True):\n    compiled(torch.ones(2))", "compiled(torch.ones(2))",
    ),
    "RL501": ErrorCode(
        "RuntimeError", "an export failed", "the message names the op, the line and what to write instead",
        "import rushlight.onnx\n\n\ndef choose(x):\n    return x * 2 if x.sum() > 0 else x", "torch.onnx.export(choose, torch.ones(3))",
        "def choose(x):\n    return torch.where(x.sum() > 0, x * 2, x)\n\n\ntorch.onnx.export(choose, torch.ones(3))",
    ),
    "RL502": ErrorCode(
        "RuntimeError", "an op has no form in the requested opset",
        "export with the opset that the message names, register a form with `register_custom_op_symbolic`, or use a fallback mode",
        "import rushlight.onnx", "torch.onnx.export(lambda x: torch.linalg.eigvals(x), torch.eye(2))", "",
    ),
    "RL503": ErrorCode(
        "RuntimeError", "a symbolic function needs a constant or a known rank, and the value has none", "make the argument a Python number, or handle the general case",
        "import rushlight.onnx\nfrom rushlight.onnx import symbolic_helper\n\n\nclass Scale(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x, factor):\n"
        "        return x * factor\n\n    @staticmethod\n    def symbolic(g, x, factor):\n"
        "        return g.op(\"Mul\", x, g.op(\"Constant\", value_t=torch.tensor(float(symbolic_helper._get_const(factor, \"f\", \"factor\")))))",
        "torch.onnx.export(lambda x, factor: Scale.apply(x, factor), (torch.ones(3), torch.tensor(2.0)))",
        "",
    ),
    "RL504": ErrorCode(
        "RuntimeError", "the file was written, but onnx.checker finds it not valid", "look at what a registered symbolic function made",
        'import rushlight.onnx\n\n\nclass Double(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n        return x * 2\n\n    @staticmethod\n'
        '    def symbolic(g, x):\n        return g.op("Relu", x, mode_s="twice")  # Relu has no such attribute',
        'torch.onnx.export(lambda x: Double.apply(x), torch.ones(3), "model.onnx")', "",
    ),
    "RL505": ErrorCode(
        "RuntimeError", "ONNX, or the requested opset, lacks the element type", "convert with `.to(dtype)`, or export with a later opset",
        "import rushlight.onnx", "torch.onnx.export(lambda x: x, torch.ones(3, dtype=torch.float8_e5m2), opset_version=17)",
        "torch.onnx.export(lambda x: x, torch.ones(3, dtype=torch.float8_e5m2), opset_version=19)",
    ),
    "RL506": ErrorCode(
        "ValueError", "an argument of `export` does not fit the model: a name, an axis, an opset, a file", "the message names what there is",
        "import rushlight.onnx", 'torch.onnx.export(lambda x: x + 1, torch.ones(3), dynamic_axes={"y": {0: "N"}})',
        'torch.onnx.export(lambda x: x + 1, torch.ones(3), dynamic_axes={"x": {0: "N"}})',
    ),
    "RL507": ErrorCode(
        "ValueError", "a file is no ONNX model, is cut off, uses operators that are not known here, or keeps tensors outside its folder",
        "get the file anew, or update the package onnx; a file that names tensors elsewhere is not to be trusted",
        'from pathlib import Path\n\nfrom rushlight.onnx.files import read_model\n\nPath("model.onnx").write_bytes(b"no model")', 'read_model("model.onnx")', "",
    ),
    "RL508": ErrorCode(
        "NotImplementedError", "an ONNX file uses an operator, an element type or a form of one that is not known here",
        "the message names the node; give the function of a custom operator with `onnx.register_op(\"domain::Name\", function)`",
        'import onnx.helper as made\nimport rushlight.onnx\n\nnode = made.make_node("Unknown", ["x"], ["y"], domain="my")\nx, y = [made.make_tensor_value_info(name, 1, [2]) for name in "xy"]\n'
        'model = made.make_model(made.make_graph([node], "graph", [x], [y]), opset_imports=[made.make_opsetid("my", 1)])',
        "torch.onnx.load(model)", 'torch.onnx.register_op("my::Unknown", lambda x: x)\ntorch.onnx.load(model)',
    ),
}  # fmt: skip
