"""Random small programs, run here and in PyTorch, and where they differ.

python tools/fuzz_programs.py --torch .venv-record/bin/python                    # 200 programs of each kind
python tools/fuzz_programs.py --torch PYTHON --count 2000 modules optimizers     # of these kinds
python tools/fuzz_programs.py --torch PYTHON --count 2000 --forms compiled dynamic -- chains
python tools/fuzz_programs.py --device cuda --count 2000 chains                  # against the CPU in eager mode, and compiled against that
python tools/fuzz_programs.py --count 500 --forms captured dynamic -- python    # needs no PyTorch
python tools/fuzz_programs.py --torch PYTHON --count 500 training export        # needs PyTorch for eager mode and for traces
python tools/fuzz_programs.py --torch PYTHON --count 1000 script                # TorchScript

Chains (:mod:`fuzz.chains`) run compiled as well, against eager mode; what differs is shrunk.  Where eager mode raises, nothing is said of the other forms.
Programs of the kinds `python` (:mod:`fuzz.python_programs`) and `world` (:mod:`fuzz.world_programs`: globals, classes, Modules and modes change between calls) are
about Python and not about ops: each form is compared with eager mode, errors and side effects included.
Programs of the kinds `training` and `export` (:mod:`fuzz.training`) are whole models with custom Functions: eager mode is compared with PyTorch, and compiled, traced and
exported forms are compared with eager mode.
Programs of the kind `script` (:mod:`fuzz.script_programs`) are TorchScript: scripted, saved and loaded, saved as PyTorch's files (read here and there) and frozen; the scripted form is
compared with PyTorch's, or with Python where PyTorch refuses the program (or is not there), and the other forms with the scripted one.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT)]

from fuzz.chains import chain, on_device, smaller  # noqa: E402
from fuzz.compare import difference_of_programs  # noqa: E402
from fuzz.outcome import run_program  # noqa: E402
from fuzz.peer import PyTorch  # noqa: E402
from fuzz.programs import KINDS, program  # noqa: E402
from fuzz.python_programs import python_program  # noqa: E402
from fuzz.run_python import FORMS as FORMS_OF_PYTHON  # noqa: E402
from fuzz.run_python import run_python  # noqa: E402
from fuzz.run_script import difference as difference_of_scripts  # noqa: E402
from fuzz.run_script import shrunk as shrunk_script  # noqa: E402
from fuzz.run_training import FORMS as FORMS_OF_TRAINING  # noqa: E402
from fuzz.run_training import difference as difference_in_training  # noqa: E402
from fuzz.run_training import shrunk as shrunk_training  # noqa: E402
from fuzz.run_training import time_limit  # noqa: E402
from fuzz.script_programs import PRELUDE, script_program  # noqa: E402
from fuzz.training import KINDS as KINDS_OF_TRAINING  # noqa: E402
from fuzz.world_programs import world_program  # noqa: E402

import rushlight  # noqa: E402

FORMS: dict[str, Any] = {
    "eager": lambda function: function,
    "compiled": rushlight.compile,
    "dynamic": lambda function: rushlight.compile(function, dynamic=True),
}


class OnDevice:
    """Programs on another device, whose peer in eager mode is the CPU."""

    def __init__(self, device: str) -> None:
        self.device = device

    def ask(self, sources: list[str]) -> list[Any]:
        """What the CPU makes of programs."""
        return [run_program(rushlight, source) for source in sources]


def difference_in(source: str, form: str, peer: PyTorch | OnDevice) -> str:
    """How a chain differs: eagerly from its peer, in another form from the eager run."""
    here = on_device(source, peer.device) if isinstance(peer, OnDevice) else source
    wanted = peer.ask([source])[0] if form == "eager" else run_program(rushlight, here)
    found = run_program(rushlight, here, FORMS[form])
    raised = any(isinstance(each, str) for each in (*wanted.results, *found.results))
    if wanted.error or (raised and (form != "eager" or found.dtypes != wanted.dtypes)):
        return ""
    return difference_of_programs(found, wanted)


def shrunk(source: str, form: str, peer: PyTorch | OnDevice) -> str:
    """The smallest program that still differs, found greedily."""
    for _ in range(40):
        for other in smaller(source):
            if difference_in(other, form, peer):
                source = other
                break
        else:
            break
    return source


def chains(peer: PyTorch | OnDevice, given: argparse.Namespace) -> int:
    """Run chains in the forms that are asked for: how many programs differ."""
    seen: set[str] = set()
    until, count = time.monotonic() + given.seconds, 0
    for seed in range(given.seed, given.seed + given.count):
        if time.monotonic() > until:
            break
        count += 1
        source = chain(random.Random(f"chain {seed}"), rushlight, given.length)
        form = next((form for form in given.forms if difference_in(source, form, peer)), None)
        if form is not None:
            source = shrunk(source, form, peer)
            if source not in seen:
                seen.add(source)
                print(f"chains {seed} {form}: {difference_in(source, form, peer)}\n{source.strip()}\n", flush=True)
    print(f"chains: {len(seen)} differences in {count} programs, {', '.join(given.forms)}")
    return len(seen)


# Kinds of programs about Python: how they are made, and what follows the function in their text.
KINDS_OF_PYTHON = {"python": (python_program, "def rendered("), "world": (world_program, "def mk(")}


def python_programs(given: argparse.Namespace, kind: str) -> int:
    """Run Python programs of a kind in the forms that are asked for, against eager mode: how many differ."""
    make, following = KINDS_OF_PYTHON[kind]
    until, count, differing = time.monotonic() + given.seconds, 0, 0
    for seed in range(given.seed, given.seed + given.count):
        if time.monotonic() > until:
            break
        count += 1
        source = make(seed)
        wanted = run_python(rushlight, source, FORMS_OF_PYTHON["eager"])
        for form in given.forms:
            found = run_python(rushlight, source, FORMS_OF_PYTHON[form])
            rushlight.compiler.reset()
            pairs = [(at, a, b) for at, (a, b) in enumerate(zip(wanted, found)) if a != b]
            if pairs:
                differing += 1
                at, a, b = pairs[0]
                if isinstance(a, list):  # the parts that differ
                    a, b = zip(*[pair for pair in zip(a, b) if pair[0] != pair[1]])
                body = source[source.index("def program(") : source.index(following)]
                print(f"{kind} {seed} {form}: result {at} is\n{b}\nand eagerly\n{a}\n{body.strip()}\n", flush=True)
                break
    print(f"{kind}: {differing} differences in {count} programs, {', '.join(given.forms)}")
    return differing


def training(kind: str, peer: PyTorch | None, given: argparse.Namespace) -> int:
    """Run training programs, or models that are exported, in the forms that are asked for: how many differ."""
    forms = [form for form in FORMS_OF_TRAINING[kind] if form in given.forms or kind == "export"]
    forms = [form for form in forms if peer is not None or form != "eager"]
    until, count, differing = time.monotonic() + given.seconds, 0, 0
    for seed in range(given.seed, given.seed + given.count):
        if time.monotonic() > until:
            break
        count += 1
        source = KINDS_OF_TRAINING[kind](seed)
        form = next((form for form in forms if difference_in_training(kind, source, form, peer)), None)
        if form is not None:
            differing += 1
            source = shrunk_training(source, lambda text, form=form: difference_in_training(kind, text, form, peer))  # type: ignore[misc]
            print(f"{kind} {seed} {form}: {difference_in_training(kind, source, form, peer)}\n{source.strip()}\n", flush=True)
    print(f"{kind}: {differing} differences in {count} programs, {', '.join(forms)}")
    return differing


def scripts(peer: PyTorch | None, given: argparse.Namespace) -> int:
    """Run TorchScript programs: how many differ in one of their forms."""
    ask = None if peer is None else peer.ask_script
    until, count, differing = time.monotonic() + given.seconds, 0, 0
    for seed in range(given.seed, given.seed + given.count):
        if time.monotonic() > until:
            break
        count += 1
        source = script_program(seed)
        try:
            with time_limit(60):
                said = difference_of_scripts(rushlight, source, ask)
        except TimeoutError as error:
            said = f"does not end in {error}"
        if said:
            differing += 1
            source = shrunk_script(source, lambda text: difference_of_scripts(rushlight, text, ask)) if "end in" not in said else source
            print(f"script {seed}: {said}\n{source[len(PRELUDE) :].strip()}\n", flush=True)
    print(f"script: {differing} differences in {count} programs")
    return differing


def main() -> int:
    """Run the kinds that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", help=f"of {', '.join(KINDS)}, chains, python, world, script, training, export; all by default")
    peers = parser.add_mutually_exclusive_group()
    peers.add_argument(
        "--torch",
        metavar="PYTHON",
        help="the Python of an environment with PyTorch; `python`, `script`, `training` and `export` do without",
    )
    peers.add_argument("--device", help="run chains on this device, against the CPU")
    parser.add_argument("--count", type=int, default=200, help="of each kind")
    parser.add_argument("--seed", type=int, default=0, help="of the first program")
    parser.add_argument(
        "--forms",
        nargs="*",
        default=list(FORMS),
        choices=list(FORMS_OF_PYTHON),
        help="of chains, python and training; captured: not of chains",
    )
    parser.add_argument("--seconds", type=float, default=1e9, help="the most that chains take")
    parser.add_argument("--length", type=int, default=8, help="lines of a chain")
    given = parser.parse_args()
    if given.device:
        given.forms = [form for form in given.forms if form in FORMS]
        return 1 if chains(OnDevice(given.device), given) else 0
    kinds, total = given.kinds or (*KINDS, "chains", *KINDS_OF_PYTHON, "script", *KINDS_OF_TRAINING), 0
    for kind in KINDS_OF_PYTHON.keys() & set(kinds):
        total += python_programs(given, kind)
    if "script" in kinds:
        total += scripts(PyTorch(given.torch) if given.torch else None, given)
    for kind in [kind for kind in kinds if kind in KINDS_OF_TRAINING]:
        total += training(kind, PyTorch(given.torch) if given.torch else None, given)
    others = [kind for kind in kinds if kind not in (*KINDS_OF_PYTHON, "script") and kind not in KINDS_OF_TRAINING]
    if others and not given.torch:
        parser.error("--torch is needed for " + ", ".join(others))
    if not others:
        return 1 if total else 0
    given.forms = [form for form in given.forms if form in FORMS]
    peer = PyTorch(given.torch)
    for kind in others:
        if kind == "chains":
            total += chains(peer, given)
            continue
        seen: set[str] = set()
        for seed in range(given.seed, given.seed + given.count):
            source = program(kind, seed)
            theirs = peer.ask([source])[0]
            said = difference_of_programs(run_program(rushlight, source), theirs) if theirs.error != "crash" else ""
            short = " ".join(word for word in said.split() if not any(letter.isdigit() for letter in word))[:80]
            if said and short not in seen:
                seen.add(short)
                print(f"{kind} {seed}: {said}\n{source.strip()}\n", flush=True)
        print(f"{kind}: {len(seen)} kinds of difference in {given.count} programs")
        total += len(seen)
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main())
