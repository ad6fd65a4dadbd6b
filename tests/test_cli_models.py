"""`rushlight export`, `verify` and `env`: tried as a user tries them, mistakes included."""

from __future__ import annotations

import functools
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

import rushlight
import rushlight.compat
from rushlight.cli import main
from rushlight.cli.output import Progress, users_code
from rushlight.onnx.files import read_model

PROGRAMS = str(Path(__file__).with_name("front_door_programs.py"))


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path):
    """Runs a command in a folder of its own, and undoes what loading a program changes: status, stdout, stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys.stdout, "reconfigure", lambda **options: None, raising=False)

    def run(*arguments: str) -> tuple[int, str, str]:
        try:
            status = main(arguments)
        except SystemExit as error:
            status = int(error.code or 0)
        found = capsys.readouterr()
        return status, found.out, found.err

    was = rushlight.compat.installed()
    yield run
    sys.modules.pop("front_door_programs", None)
    if not was:
        rushlight.compat.uninstall()


@pytest.fixture
def net(command) -> str:
    assert command("export", f"{PROGRAMS}:Net", "-o", "net.onnx", "--input", "x=float32:Nx3xHxW", "--size", "H=8", "--size", "W=8")[0] == 0
    return "net.onnx"


def left(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir() if each.name != "__pycache__")


@pytest.mark.parametrize("name", ["Net", "make_net", "instance"])
def test_a_class_an_instance_or_a_function_is_exported_and_verified(command, tmp_path: Path, name: str) -> None:
    status, out, err = command("export", f"{PROGRAMS}:{name}", "-o", "model.onnx", "--input", "1x3x8x8", "--opset", "17")
    assert status == 0 and out.startswith("model.onnx: ") and "agrees with the program on 3 random inputs" in out
    assert "this file is being imported" in err and "this file" not in out
    assert left(tmp_path) == ["model.onnx"]
    model = onnx.load("model.onnx")
    assert model.opset_import[0].version == 17 and model.graph.input[0].name == "x"


def test_letters_and_dynamic_make_open_sizes(command) -> None:
    for options in (["--input", "Nx3xHxW", "--size", "H=8"], ["--input", "2x3x8x8", "--dynamic", "x:0=N,2=H", "--dynamic", "x:3=W"]):
        status, out, _ = command("export", f"{PROGRAMS}:Net", "-o", "model.onnx", *options, "--json")
        found = json.loads(out)
        assert status == 0 and found["verified"] and found["inputs"] == ["x=float32:Nx3xHxW"]
        assert len({str(run["sizes"]) for run in found["runs"]}) >= 3
        assert [dim.dim_param for dim in onnx.load("model.onnx").graph.input[0].type.tensor_type.shape.dim] == ["N", "", "H", "W"]


def test_functions_of_tensors_and_custom_functions_are_exported(command) -> None:
    status, out, _ = command("export", f"{PROGRAMS}:add", "-o", "add.onnx", "--input", "y=int64[0:9]:N", "--input", "x=Nx4", "--json")
    assert status == 0 and json.loads(out)["inputs"] == ["x=float32:Nx4", "y=int64:N"]
    assert command("export", f"{PROGRAMS}:Cube", "-o", "cube.onnx", "--input", "N")[0] == 0
    assert command("export", f"{PROGRAMS}:Looks", "-o", "looks.onnx", "--input", "int64[0:50]:2x3")[0] == 0


@pytest.mark.parametrize("ending", [".safetensors", ".pt"])
def test_weights_are_loaded(command, tmp_path: Path, ending: str) -> None:
    state = {"table.weight": rushlight.arange(200.0).reshape(50, 4)}
    if ending == ".pt":
        rushlight.save({"state_dict": state}, tmp_path / "w.pt")
    else:
        rushlight.utils.safetensors.save_file(state, tmp_path / "w.safetensors")
    assert command("export", f"{PROGRAMS}:Looks", "-o", "m.onnx", "--input", "int64:3", "--weights", f"w{ending}")[0] == 0
    (table,) = onnx.load("m.onnx").graph.initializer
    assert onnx.numpy_helper.to_array(table)[1].tolist() == [4, 5, 6, 7]
    status, _, err = command("export", f"{PROGRAMS}:Net", "-o", "n.onnx", "--input", "1x3x8x8", "--weights", f"w{ending}")
    assert status == 2 and "do not fit Net" in err and left(tmp_path) == ["m.onnx", f"w{ending}"]


def test_sizes_that_the_program_refuses_are_noted(command) -> None:
    status, _, err = command("export", f"{PROGRAMS}:Even", "-o", "m.onnx", "--input", "N", "--size", "N=4")
    assert status == 0 and "note: the program itself does not take N=5" in err


def test_values_of_random_programs_are_not_compared(command) -> None:
    status, out, _ = command("export", f"{PROGRAMS}:Draws", "-o", "m.onnx", "--input", "2x3")
    assert status == 0 and "it draws random numbers" in out


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["absent.py:Net", "--input", "3"], 2, "there is no file 'absent.py'"),
        ([PROGRAMS, "--input", "3"], 2, "is not of the form FILE.py:NAME"),
        ([f"{PROGRAMS}:Nett", "--input", "3"], 2, "has no 'Nett'; did you mean Net"),
        ([f"{PROGRAMS}:zzz", "--input", "3"], 2, "it has Net, make_net, instance"),
        ([f"{PROGRAMS}:number", "--input", "3"], 2, "'number' is of type int"),
        ([f"{PROGRAMS}:NeedsSize", "--input", "3"], 2, "'NeedsSize' needs arguments (size)"),
        ([f"{PROGRAMS}:Net", "--input", "1x3;8"], 2, "a size '3;8' that is neither a number nor a word"),
        ([f"{PROGRAMS}:Net", "--input", "x=flot:1x3"], 2, "a type 'flot' that there is not"),
        ([f"{PROGRAMS}:Net", "--input", "int64[3:3]:1"], 2, "is empty"),
        ([f"{PROGRAMS}:Net", "--input", "1x3x8x8", "--input", "3"], 2, "too many positional arguments"),
        ([f"{PROGRAMS}:Net", "--input", "1x3x8x8", "--dynamic", "y:0=N"], 2, "the inputs are x"),
        ([f"{PROGRAMS}:Net", "--input", "1x3x8x8", "--dynamic", "x:7=N"], 2, "is no dimension of 'x', which has 4"),
        ([f"{PROGRAMS}:Net", "--input", "1x3x8x8", "--size", "N=2"], 2, "is no open size"),
        ([f"{PROGRAMS}:Net", "--input", "1x3x8x8", "--opset", "99"], 2, "the opsets that can be exported here"),
        ([f"{PROGRAMS}:Net", "--input", "1x3x8x8", "--weights", "absent.pt"], 2, "there is no file 'absent.pt'"),
        ([f"{PROGRAMS}:Net", "--input", "1x5x8x8"], 3, "the program raised an exception on inputs of shape [1, 5, 8, 8]"),
        ([f"{PROGRAMS}:Raises", "--input", "3"], 3, "ValueError: spilt wax"),
        ([f"{PROGRAMS}:Decides", "--input", "3"], 3, "the program can't be exported"),
        ([f"{PROGRAMS}:Interrupted", "--input", "3"], 130, "interrupted"),
    ],
)
def test_mistakes_are_one_message_and_leave_nothing(command, tmp_path: Path, arguments: list[str], status: int, words: str) -> None:
    found, out, err = command("export", *arguments, "-o", "model.onnx")
    assert (found, out) == (status, "") and words in err, err
    assert "Traceback" not in err and left(tmp_path) == []


def test_an_exception_of_the_program_shows_its_line(command) -> None:
    _, _, err = command("export", f"{PROGRAMS}:Raises", "-o", "m.onnx", "--input", "3")
    assert f'File "{PROGRAMS}", line ' in err and 'raise ValueError("spilt wax")' in err


@pytest.mark.parametrize("place", ["absent/model.onnx", "/proc/model.onnx", "."])
def test_a_place_that_can_not_be_written_is_told_before_the_work(command, tmp_path: Path, place: str) -> None:
    if place.startswith("/proc") and not os.path.isdir("/proc"):
        pytest.skip("there is no folder here that nobody can write to")
    status, _, err = command("export", f"{PROGRAMS}:Net", "-o", place, "--input", "1x3x8x8")
    assert status == 2 and "can't write" in err and "imported" not in err and left(tmp_path) == []


def test_large_tensors_beside_the_file(command, tmp_path: Path) -> None:
    assert command("export", f"{PROGRAMS}:Looks", "-o", "m.onnx", "--input", "int64:3", "--external-data")[0] == 0
    assert "m.onnx" in left(tmp_path)
    assert command("verify", "m.onnx", "--against", f"{PROGRAMS}:Looks")[0] == 0


# -- verify ------------------------------------------------------------------------------------------------------


def test_a_right_file_is_verified(command, net: str) -> None:
    status, out, _ = command("verify", net, "--against", f"{PROGRAMS}:Net", "--size", "H=8", "--size", "W=8")
    assert status == 0 and out.startswith("net.onnx: agrees with the program on 6 random inputs of 4 sizes")


def change(path: str, edit) -> None:
    model = onnx.load(path)
    edit(model)
    onnx.save(model, path)


def other_operation(model) -> None:
    next(node for node in model.graph.node if node.op_type == "Relu").op_type = "Sigmoid"


def other_weight(model) -> None:
    tensor = next(each for each in model.graph.initializer if each.name == "head.2.bias")
    tensor.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(tensor) + np.float32([0, 1]), tensor.name))


def other_names(model) -> None:
    other_operation(model)
    inner = {name: f"value_{at}" for at, node in enumerate(model.graph.node) for name in node.output if name != "output"}
    for node in model.graph.node:
        node.input[:] = [inner.get(name, name) for name in node.input]
        node.output[:] = [inner.get(name, name) for name in node.output]
    del model.graph.value_info[:]


@pytest.mark.parametrize(
    ("edit", "op", "line", "note"),
    [
        (other_operation, "Sigmoid", "y = torch.relu(self.conv(x)).mean((2, 3))", "a fresh export has Relu here"),
        (other_weight, "Gemm", "return self.head(y).softmax(-1)", "the stored tensor head.2.bias"),
        (other_names, "Sigmoid", "y = torch.relu(self.conv(x)).mean((2, 3))", "found by comparing values"),
    ],
)
def test_the_first_wrong_node_is_named(command, net: str, edit, op: str, line: str, note: str) -> None:
    change(net, edit)
    against = ("verify", net, "--against", f"{PROGRAMS}:Net", "--size", "H=8", "--size", "W=8")
    status, out, err = command(*against)
    assert status == 1 and out == "" and f"first wrong node: {op} '" in err and line in err and note in err
    found = json.loads(command(*against, "--json")[1])
    assert not found["agrees"] and found["node"]["op"] == op and found["node"]["source"]["text"] == line
    if edit is not other_names:
        assert abs(found["node"]["expected"] - found["node"]["got"]) > 1e-3


def test_every_branch_is_taken(command) -> None:
    command("export", f"{PROGRAMS}:Chooses", "-o", "m.onnx", "--input", "Nx4")
    status, out, _ = command("verify", "m.onnx", "--against", f"{PROGRAMS}:Chooses", "--json")
    assert status == 0 and list(json.loads(out)["branches"].values()) == [[False, True]]

    def spoil(model) -> None:
        branch = next(node for node in model.graph.node if node.op_type == "If")
        body = next(each.g for each in branch.attribute if each.name == "else_branch")
        next(node for node in body.node if node.op_type == "Sub").op_type = "Add"

    change("m.onnx", spoil)
    status, _, err = command("verify", "m.onnx", "--against", f"{PROGRAMS}:Chooses")
    assert status == 1 and "first wrong node: If" in err


def external(model, location: str) -> None:
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", "0"), ("length", "8")):
        tensor.external_data.add(key=key, value=value)


def test_files_that_can_not_be_trusted_are_refused(command, net: str, tmp_path: Path) -> None:
    whole = Path(net).read_bytes()

    def refused(words: str) -> None:
        status, out, err = command("verify", net, "--against", f"{PROGRAMS}:Net")
        assert (status, out) == (2, "") and words in err and "Traceback" not in err, err
        Path(net).write_bytes(whole)

    for length in (0, 10, len(whole) // 2, len(whole) - 3):
        Path(net).write_bytes(whole[:length])
        refused("net.onnx' is no")
    for location in ("../secret", "/etc/passwd", "a/../../secret"):
        model = onnx.load(net)
        external(model, location)
        Path(net).write_bytes(model.SerializeToString())
        refused("outside its own folder")
    (tmp_path.parent / "secret").write_bytes(b"12345678")
    os.symlink(tmp_path.parent / "secret", tmp_path / "link")
    model = onnx.load(net)
    external(model, "link")
    Path(net).write_bytes(model.SerializeToString())
    refused("outside its own folder")
    for edit, words in (
        (lambda model: external(model, "absent"), "is not there, beside the model"),
        (lambda model: setattr(model.opset_import[0], "version", 999), "the file uses opset 999"),
        (lambda model: setattr(model.graph.node[0], "op_type", "NoSuchOp"), "is not valid ONNX"),
    ):
        model = onnx.load(net)
        edit(model)
        Path(net).write_bytes(model.SerializeToString())
        refused(words)
    status, _, err = command("verify", "absent.onnx", "--against", f"{PROGRAMS}:Net")
    assert status == 2 and "there is no file 'absent.onnx'" in err
    assert command("verify", str(tmp_path), "--against", f"{PROGRAMS}:Net")[0] == 2


def test_a_short_file_of_tensors_is_refused(net: str, tmp_path: Path) -> None:
    model = onnx.load(net)
    external(model, "tensors")
    (tmp_path / "tensors").write_bytes(b"1234")
    Path(net).write_bytes(model.SerializeToString())
    with pytest.raises(ValueError, match="too short"):
        read_model(net)


# -- explain -----------------------------------------------------------------------------------------------------


def test_what_compile_does_is_explained(command, tmp_path: Path) -> None:
    status, out, _ = command("explain", f"{PROGRAMS}:Net", "--input", "1x3x8x8")
    assert status == 0 and out.startswith("Net: 1 segment, 1 graph, 7 ops, 0 breaks, ") and "from the beginning to the end; 7 ops (" in out
    status, out, _ = command("explain", f"{PROGRAMS}:Net", "--input", "1x3x8x8", "--graphs", "--guards")
    assert status == 0 and "rushlight.nn.functional.linear(" in out and "def check(" in out and "def segment(" not in out
    status, out, _ = command("explain", f"{PROGRAMS}:Decides", "--input", "N", "--json", "-o", "page.html")
    found = json.loads(out)
    assert (
        status == 0 and found["name"] == "Decides" and found["graph_count"] >= 2 and found["recompilations"] and len(found["segments"]) >= 2
    )
    (reason,) = found["breaks"]
    assert (reason["kind"], reason["file"], reason["function"]) == ("truth", PROGRAMS, "Decides.forward")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert (
        page.startswith("<!doctype html>") and "control flow depends on the value of a tensor" in page and left(tmp_path) == ["page.html"]
    )


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        ([f"{PROGRAMS}:Raises", "--input", "3"], 3, "spilt wax"),
        ([f"{PROGRAMS}:Nett", "--input", "3"], 2, "did you mean Net"),
        ([f"{PROGRAMS}:Net", "--input", "1x?"], 2, "neither a number nor a word"),
        ([f"{PROGRAMS}:Net", "--input", "1x3x8x8", "-o", "absent/page.html"], 2, "can't write 'absent/page.html'"),
        ([f"{PROGRAMS}:Net", "--input", "1x3x8x8", "-o", "/proc/page.html"], 2, "can't write '/proc/page.html'"),
        ([f"{PROGRAMS}:Interrupted", "--input", "3"], 130, "interrupted"),
    ],
)
def test_mistakes_in_explain(command, tmp_path: Path, arguments: list[str], status: int, words: str) -> None:
    found, out, err = command("explain", *arguments)
    assert (found, out) == (status, "") and words in err and "Traceback" not in err and left(tmp_path) == []


@pytest.mark.parametrize(
    ("package", "words"), [("onnx", "pip install onnx"), ("onnxruntime", "pip install onnxruntime (--no-verify writes")]
)
def test_a_package_that_is_missing_is_named(command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, package: str, words: str) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    status, out, err = command("export", f"{PROGRAMS}:Net", "-o", "m.onnx", "--input", "1x3x8x8")
    assert (status, out) == (4, "") and words in err and "Traceback" not in err and left(tmp_path) == []


# -- env, and all commands ---------------------------------------------------------------------------------------


def test_the_environment_is_shown(command) -> None:
    status, out, err = command("env")
    assert status == 0 and err == "" and "onnxruntime" in out and np.__version__ in out
    found = json.loads(command("env", "--json")[1])
    assert found["threads"] >= 1 and {each["package"] for each in found["extras"]} >= {"onnx", "llvmlite", "triton"}


@pytest.mark.parametrize("name", ["run", "export", "verify", "check", "explain", "view", "env"])
def test_help_has_examples(command, name: str) -> None:
    status, out, _ = command(name, "--help")
    assert status == 0 and "examples:" in out and f"rushlight {name}" in out


def test_progress_is_for_terminals(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for terminal in (False, True):
        monkeypatch.setattr(sys.stderr, "isatty", lambda terminal=terminal: terminal)
        monkeypatch.setenv("TERM", "xterm")
        with Progress(steps=2) as progress, users_code():
            progress.step("melting wax")
            print("the program", end=" ")
            print("speaks")
            progress.step("cutting wicks")
        written = capsys.readouterr()
        assert written.out == "" and "the program speaks\n" in written.err and ("melting wax" in written.err) == terminal
        assert written.err.endswith("\r\x1b[K") == terminal and ("━" * 10 + "─" * 10 + " cutting wicks (0 s)" in written.err) == terminal


@pytest.mark.parametrize(("number", "status", "words"), [(signal.SIGINT, 130, "interrupted\n"), (signal.SIGTERM, 143, "")])
def test_a_signal_leaves_nothing_behind(tmp_path: Path, number: int, status: int, words: str) -> None:
    (tmp_path / "slow.py").write_text(
        "import time, torch\n\n\ndef slow(x):\n    print('running', flush=True)\n    time.sleep(60)\n    return x\n", encoding="utf-8"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    arguments = [sys.executable, "-m", "rushlight", "export", "slow.py:slow", "-o", "slow.onnx", "--input", "3"]
    heard = functools.partial(signal.signal, number, signal.SIG_DFL)  # who runs the tests may have been told to ignore it
    with subprocess.Popen(
        arguments, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heard
    ) as process:  # fmt: skip
        assert process.stderr is not None and process.stderr.readline() == "running\n"
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (status, "", words) and left(tmp_path) == ["slow.py"]


def test_words_are_utf8_whatever_the_locale(tmp_path: Path) -> None:
    (tmp_path / "größe.py").write_text(
        "import torch\n\n\nclass Größe(torch.nn.Module):\n    def forward(self, x):\n        return x * 2\n", encoding="utf-8"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent), "LC_ALL": "C", "PYTHONIOENCODING": "ascii"}
    arguments = [sys.executable, "-m", "rushlight", "export", "größe.py:Größe", "-o", "größe.onnx", "--input", "3"]
    done = subprocess.run(arguments, cwd=tmp_path, env=environment, capture_output=True, check=False)
    assert done.returncode == 0 and done.stdout.decode("utf-8").startswith("größe.onnx: ") and b"\x1b" not in done.stdout + done.stderr, (
        done.stderr.decode("utf-8")
    )


def test_programs_with_ranges_and_choices(command) -> None:
    """Sizes are those that the program takes, and inputs without dimensions are made; an archive becomes an exported program."""

    class Short(rushlight.nn.Module):
        def forward(self, x, flag):
            return rushlight.cond(flag, lambda x: x + 1, lambda x: x * 2, (x,))

    length = rushlight.export.Dim("length", min=3, max=9)
    example = (rushlight.ones(2, 4), rushlight.tensor(True))
    rushlight.export.save(rushlight.export.export(Short(), example, dynamic_shapes=({1: length}, None)), "short.pt2")
    status, out, err = command("run", "short.pt2")
    assert status == 0 and "float32[2, 9]" in out
    status, out, err = command("verify", "short.pt2")
    assert status == 0 and "does not take" not in out + err
    assert command("explain", "short.pt2")[0] == 0
    rushlight.jit.save(rushlight.jit.trace(rushlight.nn.Linear(3, 2), rushlight.ones(1, 3)), "old.pt", format="torchscript")
    status, out, err = command("export", "old.pt", "-o", "new.pt2", "--input", "4x3")
    assert status == 0 and "agrees" in out
    status, out, err = command("bench", "old.pt", "--input", "4x3")
    assert status == 0 and "None" not in out
