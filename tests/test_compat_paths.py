"""Old places and private modules of PyTorch that programs import, in a process of their own."""

import subprocess
import sys

import rushlight as torch
from rushlight.compat.c_names import _nn as c_nn

PROGRAM = """
import rushlight.compat
rushlight.compat.install()
import importlib
import torch
for name in ("modules", "modules.conv", "modules.utils", "dynamic", "dynamic.modules.rnn", "functional"):
    importlib.import_module("torch.nn.quantized." + name)
import torch.ao.nn.quantized.modules.linear as linear
import torch.nn.qat.modules, torch.nn.qat.dynamic, torch.nn.quantizable.modules.rnn, torch.nn.intrinsic.modules.fused, torch.nn.intrinsic.qat.modules
assert linear.Linear is torch.ao.nn.quantized.Linear is torch.nn.quantized.modules.Linear
from torch.jit._recursive import create_script_module, infer_methods_to_compile, wrap_cpp_module

class M(torch.nn.Module):
    def forward(self, x):
        return x + 1

first, second = (create_script_module(M(), infer_methods_to_compile, share_types=False) for _ in range(2))
assert first._c._type() != second._c._type() and wrap_cpp_module(first._c) is first and infer_methods_to_compile(M()) == ["forward"]
from torch._jit_internal import get_callable_argument_names, is_dict, is_list, is_optional, is_tuple
from typing import Dict, List, Optional, Tuple, Union
assert get_callable_argument_names(lambda a, b=1, *c, d, **e: 1) == ["a", "b"]
assert is_optional(Optional[int]) and is_optional(Union[None, int]) and not is_optional(Union[int, str])
assert is_list(List[int]) and is_dict(Dict[str, int]) and is_tuple(Tuple[int]) and not is_list(int)
from functorch.experimental import chunk_vmap
from functorch import make_fx
x = torch.arange(10.0).reshape(5, 2)
assert torch.equal(chunk_vmap(lambda row, other: row * other, (0, None), chunks=3)(x, x[1]), x * x[1])
assert torch.equal(chunk_vmap(torch.sum, in_dims=1)(x), x.sum(0))
try:
    chunk_vmap(torch.sum, chunks=0)
except ValueError as error:
    assert "chunks" in str(error)
else:
    raise AssertionError
assert torch._C._functorch._is_vmap_fallback_enabled() is True
torch._C._functorch._set_vmap_fallback_enabled(False)
assert torch._C._functorch._is_vmap_fallback_enabled() is False
graph = torch._C.Graph()
assert isinstance(graph, torch._C.Graph) and isinstance(torch.jit.script(M()).graph, torch._C.Graph) and not isinstance(3, torch._C.Graph)
function = torch._C._create_function_from_graph("f", torch.jit.trace(lambda x: x * 2 + 1, x).graph)
assert torch.equal(function(x), x * 2 + 1)
module = torch.jit.script(torch.nn.Sequential(torch.nn.Linear(2, 2), M()))
torch._C._jit_pass_inline(module.graph)
assert "aten::linear" in str(module.graph) and "CallMethod" not in str(module.graph)
assert torch.cuda.amp.common.amp_definitely_not_available() is not torch.cuda.is_available()  # PyTorch loads it with its package
from torch.functional import F, has_torch_function
assert F is torch.nn.functional
from torch.nn.parallel.replicate import _broadcast_coalesced_reshape
from torch.nn.parallel.parallel_apply import parallel_apply
assert callable(torch.nn.parallel.replicate) and torch.nn.parallel.parallel_apply is parallel_apply
from torch.distributed.checkpoint.utils import CheckpointException
from torch._higher_order_ops.inline_asm_elementwise import inline_asm_elementwise
assert torch._C._nn._parse_to("cpu", None, False) == (torch.device("cpu"), None, False, None)
assert torch._C._nn._parse_to(None, torch.float16) == (None, torch.float16, False, None)
assert torch._C._cpu._get_cpu_capability() == torch.backends.cpu.get_cpu_capability() and torch.cpu._is_amx_tile_supported() is False
assert torch._C._has_xpu is False and str(torch._C.parse_schema("a::f(Tensor x) -> Tensor")) == "a::f(Tensor x) -> Tensor"
print("done")
"""


def test_old_places_and_private_modules(tmp_path):
    program = tmp_path / "program.py"  # scripts are read from a file
    program.write_text(PROGRAM, encoding="utf8")
    found = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=100)
    assert found.stdout == "done\n", found.stderr[-2000:]


def test_tensors_are_flattened_by_the_compiled_names() -> None:
    tensors = [torch.arange(6.0).reshape(2, 3), torch.ones(2)]
    flat = c_nn.flatten_dense_tensors(tensors)
    assert flat.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 1.0, 1.0]
    parts = c_nn.unflatten_dense_tensors(flat, tensors)
    assert [each.tolist() for each in parts] == [each.tolist() for each in tensors] and parts[1].data_ptr() == flat[6:].data_ptr()
