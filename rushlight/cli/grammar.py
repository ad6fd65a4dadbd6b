"""The grammar of the command line: each command's options and help text, without the code that runs it.

So ``--help`` and a mistyped option load none of the compiler; a command's own module is imported when the command runs.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

from ..checks import CHECKS

TARGET = "FILE.py:NAME"
MODEL = "FILE"
FILES = """
model files:
  model.onnx                ONNX, of any opset
  model.pt                  a TorchScript archive (torch.jit.save), or a file of rushlight's jit.save
  model.pt2                 an exported program (torch.export.save)
They are told by their content and read without running code in them. An ONNX file and an exported program say what their inputs are: --input
then only adds a size or a range.
"""
INPUT = "[NAME=][TYPE:]SIZExSIZEx..., as in 1x3x224x224 or ids=int64[0:1000]:NxT"
INPUTS = """
inputs:
  1x3x224x224               float32, of this shape
  x=float32:Nx3xHxW         by name; letters are dynamic dimensions (N, H, W; a word such as batch also does)
  ids=int64[0:1000]:NxT     integers from 0 to 999 (0 and 1 without a range)
  mask=bool:N               true and false
  scalar                    a tensor without dimensions
  N,max_len                 sizes separated by commas, for names that contain an x
"""


@dataclass(frozen=True)
class Command:
    """A command: its help text, and a function that adds its options to a parser."""

    summary: str
    description: str
    examples: str
    options: Callable[[argparse.ArgumentParser], None]
    usage: str | None = None
    notes: str = ""


def _inputs(parser: argparse.ArgumentParser, needed: bool = True) -> None:
    """Options that describe inputs."""
    parser.add_argument(
        "--input",
        "-i",
        action="append",
        default=[],
        metavar="INPUT",
        required=needed,
        help="an input (repeat for several): " + INPUT.replace("%", "%%"),
    )
    parser.add_argument(
        "--size",
        action="append",
        default=[],
        metavar="N=2",
        help="the value of a dynamic dimension in the first run (2 for the first dimension and 64 for others)",
    )


def _run(parser: argparse.ArgumentParser) -> None:
    """Everything after the program's name belongs to the program."""
    rest = argparse.REMAINDER
    parser.add_argument("-m", dest="module", nargs=rest, metavar="MODULE", help="a module, and the arguments for it")
    parser.add_argument("-c", dest="code", nargs=rest, metavar="CODE", help="a program's text, and the arguments for it")
    parser.add_argument("script", nargs=rest, metavar="SCRIPT", help="a file, or a folder or archive with __main__.py")


def _launch(parser: argparse.ArgumentParser) -> None:
    """How many processes and where; everything after the program's name belongs to the program."""
    parser.add_argument("-n", "--processes", type=int, required=True, metavar="N", help="how many processes")
    parser.add_argument("--hosts", metavar="A:4,B:4", help="machines, each with a number of processes (this machine)")
    parser.add_argument(
        "--restarts", type=int, default=0, metavar="N", help="start all processes again after a failure, N times at most (0)"
    )
    parser.add_argument("--grace", type=float, default=10.0, metavar="S", help="seconds that processes have to end after a failure (10)")
    parser.add_argument("--master-addr", metavar="HOST", help="MASTER_ADDR of the processes (this machine)")
    parser.add_argument("--master-port", type=int, metavar="PORT", help="MASTER_PORT of the processes (a free one)")
    parser.add_argument("--bind", action="store_true", help="give each process cores of its own")
    parser.add_argument("--no-prefix", action="store_true", help="do not put the rank in front of lines of output")
    _run(parser)


def _export(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("target", metavar=TARGET, help="the program, or a model file")
    parser.add_argument("-o", "--output", required=True, metavar="FILE.onnx", help="where the file goes (FILE.pt2: as an exported program)")
    _inputs(parser, needed=False)
    parser.add_argument("--weights", metavar="FILE", help="tensors for the Module: .safetensors, or a checkpoint (.pt)")
    parser.add_argument("--opset", type=int, metavar="N", help="the version of ONNX's operators (20)")
    parser.add_argument("--dynamic", action="append", default=[], metavar="x:0=N", help="a dynamic dimension of an input")
    parser.add_argument("--output-name", action="append", default=[], metavar="NAME", help="the name of an output (repeat for several)")
    parser.add_argument("--external-data", action="store_true", help="store large tensors in a second file beside the first")
    parser.add_argument("--no-verify", action="store_true", help="do not compare the file with the program")
    parser.add_argument("--tolerance", type=float, metavar="X", help="relative and absolute tolerance (0.001 and 0.00001)")


def _verify(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("file", metavar="FILE", help="the model file")
    parser.add_argument("--against", metavar=TARGET, help="the program, or another model file (native code and ONNX Runtime)")
    _inputs(parser, needed=False)
    parser.add_argument("--weights", metavar="FILE", help="tensors for the Module: .safetensors, or a checkpoint (.pt)")
    parser.add_argument("--runs", type=int, default=3, metavar="N", help="how many inputs to compare, and how many other sizes (3)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the random inputs (0)")
    parser.add_argument("--tolerance", type=float, metavar="X", help="relative and absolute tolerance (0.001 and 0.00001)")


def _check(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("target", metavar=TARGET, help="the Function")
    _inputs(parser, needed=False)
    parser.add_argument(
        "--argument",
        action="append",
        default=[],
        metavar="VALUE",
        help="a non-tensor argument after the inputs: a number, True, False or None",
    )
    parser.add_argument("--skip", action="append", default=[], metavar="ROW", choices=CHECKS, help="a check to skip: " + ", ".join(CHECKS))


def _explain(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("target", metavar=TARGET, help="the program, or a model file")
    _inputs(parser, needed=False)
    parser.add_argument("--weights", metavar="FILE", help="tensors for the Module: .safetensors, or a checkpoint (.pt)")
    parser.add_argument("--graphs", action="store_true", help="print each graph as Python")
    parser.add_argument("--guards", action="store_true", help="print the guards of each graph")
    parser.add_argument("--stages", action="store_true", help="print the output of each compiler stage, down to LLVM IR, for one call")
    parser.add_argument(
        "--code-for", choices=("cpu", "cuda"), default="cpu", help="with --stages: the device; code for cuda is Triton kernels"
    )
    parser.add_argument("-o", "--output", metavar="FILE.html", help="write the report as one HTML page")


def _view(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("file", metavar="FILE", help="the model file")
    parser.add_argument(
        "-o", "--output", metavar="FILE.html", help="where the page goes (a temporary file, which is opened in the browser)"
    )
    parser.add_argument("--open", action="store_true", help="open the page in the browser even if -o is given")


def _bench(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("file", metavar="FILE", help="the model file")
    _inputs(parser, needed=False)
    parser.add_argument("--seconds", type=float, default=2.0, metavar="S", help="how long each is measured (2)")
    parser.add_argument("--threads", type=int, default=0, metavar="N", help="threads of each (those of the machine)")
    parser.add_argument("--tolerance", type=float, metavar="X", help="relative and absolute tolerance (0.001 and 0.00001)")


def _shim(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("folder", metavar="DIR", help="where it goes; it is made if it is not there")
    parser.add_argument("--wheel", action="store_true", help="write a wheel `torch` that depends on rushlight, for pip")
    parser.add_argument("--force", action="store_true", help="write into a folder that holds a `torch` already")


def _env(parser: argparse.ArgumentParser) -> None:
    """No options of its own."""


COMMANDS = {
    "run": Command(
        "run a program in which `import torch` means rushlight",
        "Run a program in which `import torch` means rushlight. Arguments after the program are passed to it.",
        """\
examples:
  rushlight run train.py --epochs 3      run a script that says `import torch`
  rushlight run -m package.train         run a module, as `python -m` does
  rushlight run -c "import torch; print(torch.ones(2))"
  rushlight run model.onnx --input x=1x3x224x224 --compile     run a model file on random inputs
""",
        _run,
        usage="rushlight run (SCRIPT | -m MODULE | -c CODE | MODEL FILE) [ARGUMENT ...]",
        notes="\nA model file (.onnx, .pt, .pt2) is run on random inputs: `rushlight run FILE --help` shows the options.\n",
    ),
    "launch": Command(
        "run a program in several processes, which exchange tensors by MPI",
        """\
Run a program in several processes, in each of which `import torch` means rushlight. MPI's own mpiexec starts them (pip install
'rushlight[mpi]' brings one); RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT are set as torchrun sets them. Lines of output have
the rank in front. When a process fails the others are ended, and the traceback that came first is shown.
""",
        """\
examples:
  rushlight launch -n 4 train.py --epochs 3            four processes on this machine
  rushlight launch -n 4 -m package.train               a module, as `python -m` does
  rushlight launch -n 8 --hosts a:4,b:4 train.py       four on each of two machines
  rushlight launch -n 4 --restarts 3 train.py          all of them again after a failure, from the program's last checkpoint
""",
        _launch,
        usage="rushlight launch -n N [OPTION ...] (SCRIPT | -m MODULE | -c CODE) [ARGUMENT ...]",
    ),
    "export": Command(
        "write a model as an ONNX file, and verify it",
        """\
Write a model as an ONNX file. NAME is a Module class, a Module, a function that returns one, or a function of tensors; a model
file of another format is converted.

Before the file is put in place it is compared with the program on random inputs, and on other sizes too where dimensions are
dynamic. If the results differ, nothing is written.
""",
        """\
examples:
  rushlight export model.py:Net -o model.onnx --input 1x3x224x224
  rushlight export model.py:Net -o model.onnx --input x=float32:Nx3xHxW --weights net.safetensors
  rushlight export gpt.py:make_model -o gpt.onnx --input "ids=int64[0:50257]:1x64" --dynamic ids:0=N,1=T --opset 18
  rushlight export old.pt -o new.onnx --input 1x3x224x224      a TorchScript archive
  rushlight export model.onnx -o newer.onnx --opset 21         the same model at another opset
  rushlight export model.py:Net -o model.pt2 --input Nx3x8x8   an exported program, which PyTorch loads
""",
        _export,
        notes=INPUTS + FILES,
    ),
    "verify": Command(
        "compare a model file with the program it was exported from",
        """\
Run a model file and a program on the same random inputs: of several sizes where dimensions are dynamic, and for an If with inputs
that take each branch if such are found. Print the largest error. If the results differ, the first wrong node of an ONNX file is named,
with its source line and both values. Without --against the file is compared with itself: eager mode, native code and, for ONNX, ONNX
Runtime.
""",
        """\
examples:
  rushlight verify model.onnx --against model.py:Net --weights net.safetensors
  rushlight verify gpt.onnx --against gpt.py:make_model --input "ids=int64[0:50257]:NxT" --size T=128
  rushlight verify model.onnx --against model.py:Net --json | jq .largest_error
  rushlight verify new.onnx --against old.pt --input 1x3x224x224
  rushlight verify model.pt2                            eager mode beside native code
""",
        _verify,
        notes=INPUTS + FILES,
    ),
    "check": Command(
        "check a custom autograd Function: gradients, marked tensors, memory, and equal results in every mode",
        """\
Check a custom Function: first and second gradients against finite differences, saved tensors and memory leaks, mark_dirty and
mark_non_differentiable, None gradients, several shapes, float32 and float64, and equal results traced, scripted, compiled and
exported. Each failure says what to change.

Without --input, arguments are guessed from the signature of forward. In Python: rushlight.check(MyFunction, x, ...).
""",
        """\
examples:
  rushlight check functions.py:MyFunction
  rushlight check functions.py:Attention --input 2x4x8 --input 2x4x8 --argument 0.5
  rushlight check functions.py:Round --skip gradients --json
""",
        _check,
        notes=INPUTS,
    ),
    "explain": Command(
        "show what compile makes of a program: graphs, guards, graph breaks, recompilations",
        """\
Run a compiled program, twice on inputs of the first sizes and, where dimensions are dynamic, on others, and show what was captured:
each segment with its operations, the graph break at its end, and which guards failed and caused a recompilation.
""",
        """\
examples:
  rushlight explain model.py:Net --input 1x3x224x224
  rushlight explain model.py:Net --input Nx3x32x32 --graphs --guards
  rushlight explain model.py:Net --input 1x3x32x32 --stages               graphs, schedule, kernel plans, LLVM IR
  rushlight explain model.py:Net --input Nx3x32x32 -o explained.html      all of it, as one page
  rushlight explain model.py:Net --input 1x3x32x32 --json | jq .breaks
  rushlight explain model.onnx --stages
""",
        _explain,
        notes=INPUTS + FILES,
    ),
    "view": Command(
        "write a model file as one HTML page, and open it",
        """\
Write a model file (ONNX, TorchScript, an exported program, a graph of jit.save) as one HTML page that needs no network: modules expand and
collapse; nodes show their inputs, shapes, attributes and source lines. It has a search, keyboard navigation and a print layout.
""",
        """\
examples:
  rushlight view model.onnx                    open it in the browser
  rushlight view model.onnx -o model.html      write it to a file
  rushlight view old.pt -o old.html            a TorchScript archive, or a graph of jit.save
  rushlight view model.pt2
""",
        _view,
        notes=FILES,
    ),
    "bench": Command(
        "compare native code with ONNX Runtime on a model file: times, memory, equal outputs",
        """\
Run a model file in eager mode, as native code and, for an ONNX file, in ONNX Runtime, on the same random inputs: the time of a call, the time to get
ready, the memory that is taken, and whether the outputs agree.
""",
        """\
examples:
  rushlight bench model.onnx
  rushlight bench model.onnx --input "ids=int64[0:50257]:1x128" --threads 1
  rushlight bench model.pt2 --json
""",
        _bench,
        notes=INPUTS + FILES,
    ),
    "shim": Command(
        "write a folder for PYTHONPATH, or a wheel, with which `import torch` finds rushlight",
        """\
Write a package `torch` that installs the alias when it is imported, and its metadata: for programs that can't be started by
`rushlight run` (servers, launchers, notebooks). Put the folder on PYTHONPATH, or install the wheel into an environment that has
no PyTorch. Programs that `rushlight run` starts need it not, nor do their child processes.
""",
        """\
examples:
  rushlight shim ~/torch-shim && PYTHONPATH=~/torch-shim accelerate launch train.py
  rushlight shim dist --wheel && pip install --no-deps dist/torch-*.whl
""",
        _shim,
    ),
    "env": Command(
        "show versions, the processor, threads, and installed optional packages",
        "Show the environment: versions, the processor and its features, threads, and installed optional packages.",
        """\
examples:
  rushlight env
  rushlight env --json > environment.json     to go with a bug report
""",
        _env,
    ),
}
