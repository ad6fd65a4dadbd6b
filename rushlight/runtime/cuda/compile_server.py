"""A process that compiles Triton kernels for others: it loads Triton once and forks for each kernel, so that many compile in parallel.

Run as a file, with the names of no other part of the package: nothing but Triton is imported.  In: lines of JSON, each the description of a kernel
(:func:`compile_kernel`).  Out: a line of JSON for each that is done, in any order: its number, and the file that its code is in, or what Triton said.
"""

from __future__ import annotations

import importlib.util
import json
import linecache
import os
import select
import shutil
import sys
import traceback
from types import ModuleType
from typing import Any

_IDLE = 120.0  # idle seconds after which the process exits
_FIRST: dict[str, Any] = {
    "source": """import triton
import triton.language as tl


@triton.jit
def first(p0, BLOCK: tl.constexpr):
    x = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(p0 + x, tl.sum(tl.exp(tl.load(p0 + x)), 0))
""",
    "functions": "", "name": "first", "signature": {"p0": "*fp32", "BLOCK": "constexpr"}, "constants": {"BLOCK": 128}, "aligned": ["p0"],
    "options": {"num_warps": 4}, "capability": 80,
}  # fmt: skip
_modules: dict[str, ModuleType] = {}


def load(source: str, functions: str) -> ModuleType:
    """The module of a file, or of a text; ``functions`` is the file of the functions that generated kernels call, under the name they import it by."""
    found = _modules.get(source)
    if found is not None:
        return found
    if source.endswith(".py"):
        spec: Any = importlib.util.spec_from_file_location(f"kernels_{len(_modules)}", source)
        made = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(made)
    else:
        name = "rushlight.codegen.triton.device_functions"
        if name in source and name not in sys.modules:
            spec = importlib.util.spec_from_file_location(name, functions)
            for parent in ("rushlight", "rushlight.codegen", "rushlight.codegen.triton"):
                sys.modules.setdefault(parent, ModuleType(parent))
            sys.modules[name] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(sys.modules[name])
        file = f"<kernel {len(_modules)}>"
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        made = ModuleType(file)
        made.__file__ = file
        exec(compile(source, file, "exec"), made.__dict__)
    _modules[source] = made
    return made


def compile_kernel(job: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    """Compile a kernel, with nothing read from or written to Triton's cache: what a launch has to know, and the code.

    A job has the ``source`` of a module (or its file), the ``name`` of a kernel, its ``signature`` (the type of each parameter), its ``constants``, the
    parameters that are ``aligned`` (multiples of 16), the ``options`` of the compiler, and the ``capability`` of the GPU.
    """
    from triton._C.libtriton import ir
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource, make_backend

    kernel = getattr(load(job["source"], job["functions"]), job["name"])
    places = {name: (at,) for at, name in enumerate(kernel.arg_names)}
    source = ASTSource(
        kernel,
        {name: job["signature"][name] for name in kernel.arg_names},
        {places[name]: value for name, value in job["constants"].items()},
        {places[name]: [["tt.divisibility", 16]] for name in job["aligned"]},
    )
    target = GPUTarget("cuda", job["capability"], 32)
    backend = make_backend(target)
    options = backend.parse_options({**job["options"], **source.parse_options()})
    stages: dict[str, Any] = {}
    backend.add_stages(stages, options, source.language)
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    made = source.make_ir(target, options, backend.get_codegen_implementation(options), backend.get_module_map(), context)
    about: dict[str, Any] = {"target": target, **options.__dict__}
    for stage in list(stages.values())[list(stages).index(source.ext) :]:
        made = stage(made, about)
    asks = ("global_scratch_size", "profile_scratch_size", "launch_cooperative_grid", "launch_pdl", "tensordesc_meta")
    plain = not any(about.get(each) for each in asks) and about["num_ctas"] == 1
    return {"name": about["name"], "shared": about["shared"], "num_warps": about["num_warps"], "plain": plain}, bytes(made)


def work(job: dict[str, Any], folder: str) -> None:
    """Compile a kernel and report it."""
    answer: dict[str, Any] = {"number": job["number"]}
    try:
        about, code = compile_kernel(job)
        path = os.path.join(folder, f"{os.getpid()}_{job['number']}")
        with open(path, "wb") as file:
            file.write(json.dumps(about).encode() + b"\n" + code)
        answer["path"] = path
    except Exception as error:
        path = os.path.join(folder, f"{os.getpid()}_{job['number']}.error")
        with open(path, "w") as file:
            file.write("\n".join(f"{type(each).__name__}: {each}" for each in chained(error)) if str(error) else traceback.format_exc())
        answer["error"] = path
    say(answer)


def chained(error: BaseException) -> list[BaseException]:
    """An error and its causes: where a function that a kernel calls does not compile, only the cause says why."""
    found = [error]
    while found[-1].__cause__ is not None:
        found.append(found[-1].__cause__)
    return found


def say(answer: dict[str, Any]) -> None:
    """Write a line, short enough for one atomic write among several writers."""
    os.write(1, json.dumps(answer).encode() + b"\n")


def serve(folder: str, most: int) -> None:
    """Serve jobs until the end of the input."""
    sys.modules.setdefault("torch", None)  # type: ignore[arg-type]  # Triton would load PyTorch where it is installed, to ask it for a GPU
    compile_kernel(_FIRST)  # what all of them need is loaded before the first fork
    active: dict[int, int] = {}  # numbers of jobs, by process
    waiting: list[dict[str, Any]] = []
    text, open_, idle = b"", True, 0.0
    while open_ or waiting or active:
        ready = select.select([0], [], [], 0.002 if active else 1.0)[0] if open_ else []
        if ready:
            part = os.read(0, 1 << 16)
            open_, text, idle = bool(part), text + part, 0.0
            *lines, text = text.split(b"\n")
            waiting += [json.loads(each) for each in lines if each]
        elif open_ and not active and not waiting:
            idle += 1.0
            if idle > _IDLE:
                return
        while active:
            process, status = os.waitpid(-1, 0 if not ready and len(active) >= most else os.WNOHANG)
            if not process:
                break
            number = active.pop(process)
            if status:
                say({"number": number, "died": status})
        while waiting and len(active) < most:
            job = waiting.pop(0)
            process = os.fork()
            if not process:
                work(job, folder)
                os._exit(0)
            active[process] = job["number"]


if __name__ == "__main__":
    sys.path[:] = json.loads(sys.argv[3])  # that of the parent process: its packages need not be searched again
    try:
        serve(sys.argv[1], int(sys.argv[2]))
    finally:
        shutil.rmtree(sys.argv[1], ignore_errors=True)
