"""The commands on model files of every format: ONNX, TorchScript, exported programs, graphs of ``jit.save``."""

import io
import json
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest

import rushlight
from rushlight.cli.main import main
from rushlight.model_files import GRAPH, ONNX, PROGRAM, TORCHSCRIPT, NoModel, kind_of, open_model

DATA = Path(__file__).parent / "data"


class Net(rushlight.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.out = rushlight.nn.Conv2d(3, 4, 3), rushlight.nn.Linear(4, 2)

    def forward(self, x):
        return self.out(rushlight.relu(self.conv(x)).mean((2, 3)))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """One model in four formats."""
    folder = tmp_path_factory.mktemp("files")
    rushlight.manual_seed(0)
    model, x = Net().eval(), rushlight.randn(2, 3, 6, 6)
    rushlight.onnx.export(model, (x,), folder / "net.onnx", dynamic_axes={"x": {0: "N"}})
    rushlight.export.save(rushlight.export.export(model, (x,), dynamic_shapes=({0: rushlight.export.Dim("N")},)), folder / "net.pt2")
    rushlight.jit.save(rushlight.jit.trace(model, x), folder / "graph.pt")
    with tarfile.open(DATA / "torchscript" / "models.tar.xz") as archive:
        member = next(each for each in archive.getmembers() if each.name.endswith(".pt"))
        (folder / "script.pt").write_bytes(archive.extractfile(member).read())
    rushlight.save(model.state_dict(), folder / "weights.pt")
    return folder


@pytest.fixture
def command(capsys):
    """Runs a command: status, output, messages."""

    def run(*arguments):
        status = main([str(each) for each in arguments])
        out, err = capsys.readouterr()
        return status, out, err

    return run


def test_files_are_told_by_their_content(files, tmp_path):
    for name, kind in (("net.onnx", ONNX), ("net.pt2", PROGRAM), ("graph.pt", GRAPH), ("script.pt", TORCHSCRIPT)):
        other = tmp_path / "file.bin"
        other.write_bytes((files / name).read_bytes())
        assert kind_of(other) == kind
    for content, words in ((b"", "empty"), (b"import torch\n", "text"), (b"\x80\x02}q\x00.", "checkpoint"), (b"\xff" * 40, "known here")):
        other.write_bytes(content)
        with pytest.raises(NoModel, match=words):
            kind_of(other)
    with pytest.raises(NoModel, match="checkpoint"):
        open_model(files / "weights.pt")
    other.write_bytes((files / "net.pt2").read_bytes()[:300])
    with pytest.raises(NoModel, match="damaged archive"):
        kind_of(other)


def test_files_say_their_inputs(files):
    assert [str(each) for each in open_model(files / "net.onnx").inputs] == ["x=float32:Nx3x6x6"]
    assert [str(each) for each in open_model(files / "net.pt2").inputs] == ["x=float32:s77x3x6x6"]
    x = rushlight.randn(3, 3, 6, 6)
    rushlight.testing.assert_close(open_model(files / "net.onnx").program(x), open_model(files / "net.pt2").program(x))


@pytest.mark.parametrize(("source", "more"), [("net.pt2", []), ("net.onnx", ["--opset", "17"]), ("graph.pt", ["--input", "2x3x6x6"])])
def test_export_converts(files, command, tmp_path, source, more):
    pytest.importorskip("onnxruntime")
    status, out, err = command("export", files / source, "-o", tmp_path / "new.onnx", *more)
    assert status == 0 and "agrees with the program" in out, err
    status, out, err = command("verify", tmp_path / "new.onnx", "--against", files / "net.pt2")
    assert status == 0 and "agrees" in out, err


def test_export_writes_exported_programs(files, command, tmp_path):
    status, out, err = command("export", files / "net.onnx", "-o", tmp_path / "new.pt2")
    assert status == 0 and "agrees with the program" in out, err
    x = rushlight.randn(5, 3, 6, 6)
    rushlight.testing.assert_close(rushlight.export.load(tmp_path / "new.pt2").module()(x), open_model(files / "net.pt2").program(x))


def test_run(files, command, tmp_path):
    status, out, _ = command("run", files / "net.pt2", "--size", "s77=3", "-o", tmp_path / "out.npz")
    assert status == 0 and "in   x: float32[3, 3, 6, 6]" in out and "out  output: float32[3, 2]" in out
    assert np.load(tmp_path / "out.npz")["output"].shape == (3, 2)
    status, out, _ = command("run", files / "net.onnx", "--compile", "--json")
    assert status == 0 and json.loads(out)["outputs"][0]["shape"] == [2, 2]
    status, _, err = command("run", files / "graph.pt")
    assert status == 2 and "give them with --input" in err
    status, _, err = command("run", files / "net.onnx", "--input", "2x3x6x7")
    assert status == 2 and "can't be 7" in err


def test_verify(files, command):
    status, out, err = command("verify", files / "net.pt2", "--against", files / "net.onnx")
    assert status == 0 and "agrees with" in out, err
    status, out, err = command("verify", files / "net.onnx")
    assert status == 0 and "native code" in out, err
    status, out, _ = command("verify", files / "net.pt2", "--json")
    assert status == 0 and json.loads(out)["agrees"]


def test_verify_finds_other_weights(files, command, tmp_path):
    other = Net().eval()
    rushlight.export.save(rushlight.export.export(other, (rushlight.randn(2, 3, 6, 6),)), tmp_path / "other.pt2")
    status, _, err = command("verify", tmp_path / "other.pt2", "--against", files / "net.onnx")
    assert status == 1 and "does not agree" in err


def test_view(files, command, tmp_path):
    for name, words in (("net.onnx", "Conv"), ("net.pt2", "conv2d"), ("graph.pt", "conv2d"), ("script.pt", "TorchScript")):
        status, _, err = command("view", files / name, "-o", tmp_path / "page.html")
        assert status == 0 and words in (tmp_path / "page.html").read_text(encoding="utf8"), err
    status, _, err = command("view", files / "weights.pt", "-o", tmp_path / "page.html")
    assert status == 2 and "Traceback" not in err


def test_explain(files, command):
    status, out, err = command("explain", files / "net.pt2")
    assert status == 0 and "0 breaks" in out, err
    status, _, err = command("explain", files / "graph.pt")
    assert status == 2 and "--input" in err


def test_bench(files, command):
    pytest.importorskip("onnxruntime")
    status, out, err = command("bench", files / "net.onnx", "--seconds", "0.05", "--threads", "1", "--json")
    found = json.loads(out)
    assert status == 0 and found["agree"], err
    assert set(found["runs"]) == {"ONNX Runtime", "native code", "eager mode"}
    assert all(each["milliseconds"] > 0 for each in found["runs"].values())
    status, out, _ = command("bench", files / "net.pt2", "--seconds", "0.05")
    assert status == 0 and "the outputs agree" in out and "ONNX Runtime" not in out


def test_an_exported_program_is_exported_to_onnx(files, tmp_path):
    ep = rushlight.export.load(files / "net.pt2")
    program = rushlight.onnx.export(ep, f=tmp_path / "net.onnx")
    assert program.model_proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "s77"
    x = rushlight.randn(4, 3, 6, 6)
    rushlight.testing.assert_close(rushlight.onnx.load(tmp_path / "net.onnx")(x), ep.module()(x))


def test_programs_with_nested_inputs(command, tmp_path):
    with zipfile.ZipFile(DATA / "export" / "programs.zip") as held:
        (tmp_path / "nested.pt2").write_bytes(held.read("nested_dynamic.pt2"))
    status, out, err = command("run", tmp_path / "nested.pt2")
    assert status == 0 and "pair_0" in out, err
    status, out, err = command("verify", tmp_path / "nested.pt2")
    assert status == 0, err
    assert isinstance(rushlight.export.load(io.BytesIO((tmp_path / "nested.pt2").read_bytes())), rushlight.export.ExportedProgram)


NEEDS = """
from rushlight.cli.bench import measure, take_times
import numpy as np

held = []

def needs(megabytes):
    def prepare():
        made = np.ones(megabytes * 125_000)
        held.append(made[:1])
        return lambda: [made[:1].copy()]
    return prepare

rows = [measure("first", needs(120)), measure("second", needs(40))]
take_times(rows, 0.02)
print(*(each.memory for each in rows), *(len(each.times) for each in rows))
"""


def test_bench_counts_the_memory_of_each_way_alone():
    """What ran before and needed more does not hide what the next one needs.

    In a process of its own, as the command runs: the system may reclaim pages that other tests have left in this one meanwhile.
    """
    shown = subprocess.run([sys.executable, "-c", NEEDS], capture_output=True, text=True, check=True).stdout
    first, second, *times = map(int, shown.split())
    if Path("/proc/self/clear_refs").exists():
        assert first > 100e6
        assert 30e6 < second < 100e6
    assert min(times) >= 3


@pytest.mark.parametrize("name", ["verify", "view", "explain", "export", "bench"])
def test_files_that_are_not_there(command, tmp_path, name):
    """Every command says that there is no such file, and nothing else."""
    more = ["-o", tmp_path / "new.onnx"] if name == "export" else []
    status, _, messages = command(name, tmp_path / "absent.onnx", *more)
    assert status
    assert messages.strip().endswith(f"there is no file '{tmp_path / 'absent.onnx'}'")
