"""Archives that PyTorch 1.0 to 1.12 wrote: they compute what those versions computed, and are models like all others here."""

from __future__ import annotations

import io
import json
import zipfile

import pytest
from torchscript_files import recorded

import rushlight as torch
from rushlight.cli import main

FILES = sorted(name.removesuffix(".pt") for name in recorded("old") if name.endswith(".pt"))
VERSIONS = sorted({name.partition("/")[0] for name in FILES})


def model(name):
    return torch.jit.load(io.BytesIO(recorded("old")[f"{name}.pt"])).eval()


def calls(name):
    return torch.load(io.BytesIO(recorded("old")[f"{name}.calls"]))


def same(a, b):
    if isinstance(b, torch.Tensor):
        return a.shape == b.shape and a.dtype == b.dtype and torch.allclose(a.double(), b.double(), rtol=1e-4, atol=1e-5)
    if isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


@pytest.mark.parametrize("version", VERSIONS)
def test_results(version):
    names = [name for name in FILES if name.startswith(f"{version}/")]
    assert len(names) >= 6
    for name in names:
        made = model(name)
        for method, arguments, result in calls(name):
            assert same(getattr(made, method)(*arguments), result), (name, method)


@pytest.mark.parametrize("version", VERSIONS)
def test_models_train_export_and_are_saved_again(version):
    name = f"{version}/resnet_trace"
    made = model(name)
    ((_, (images,), result),) = calls(name)
    assert made.code.startswith("def forward(self")
    assert str(made.graph).startswith("graph(")
    made(images).sum().backward()
    assert all(each.grad is not None for each in made.parameters())
    assert len(list(made.parameters())) == 20
    exported = torch.onnx.export(made, (images,))
    assert same(exported.run(images)[0], result)
    for form in ({}, {"format": "torchscript"}):
        file = io.BytesIO()
        torch.jit.save(made, file, **form)
        assert same(torch.jit.load(io.BytesIO(file.getvalue()))(images), result)


@pytest.mark.parametrize("version", ["1.0.1", "1.1.0", "1.2.0", "1.3.1", "1.4.0"])
def test_all_are_written_as_archives_of_today(version):
    for name in [each for each in FILES if each.startswith(f"{version}/")]:
        file = io.BytesIO()
        torch.jit.save(model(name), file, format="torchscript")
        again = torch.jit.load(io.BytesIO(file.getvalue())).eval()
        for method, arguments, result in calls(name):
            assert same(getattr(again, method)(*arguments), result), (name, method)


@pytest.mark.parametrize("version", ["1.0.1", "1.2.0", "1.4.0"])
def test_native_code(version):
    name = f"{version}/attention_trace"
    ((_, arguments, result),) = calls(name)
    assert same(torch.compile(model(name))(*arguments), result)


def changed(name, change):
    """An archive whose model.json is changed."""
    source, target = zipfile.ZipFile(io.BytesIO(recorded("old")[f"{name}.pt"])), io.BytesIO()
    with zipfile.ZipFile(target, "w") as made:
        for each in source.namelist():
            data = source.read(each)
            if each.endswith("model.json"):
                data = change(json.loads(data))
            made.writestr(each, data)
    return io.BytesIO(target.getvalue())


def dumped(**paths):
    def change(content):
        for path, value in paths.items():
            *way, last = path.split("__")
            at = content
            for each in way:
                at = at[int(each) if each.isdigit() else each]
            at[int(last) if last.isdigit() else last] = value
        return json.dumps(content)

    return change


def deep(content, depth):
    """A description of Modules in Modules, more deeply than Python nests them."""
    inside = json.dumps(content["mainModule"])
    return json.dumps({**content, "mainModule": 0}).replace(
        '"mainModule": 0', '"mainModule": ' + '{"name": "a", "submodules": [' * depth + inside + "]}" * depth
    )


@pytest.mark.parametrize("change, message", [
    (lambda content: "{", "model.json can't be read"),
    (dumped(tensors__0__dims=["3000000000", "3000000000"]), "damaged|storage|memory"),
    (dumped(tensors__0__offset="-7"), "damaged|offset|storage"),
    (dumped(tensors__0__data__key="../../etc/passwd"), "passwd"),
    (dumped(tensors__0__dataType="STRING"), "STRING"),
    (dumped(mainModule__torchscriptArena__key="code/none.py"), "none.py"),
    (dumped(mainModule__parameters__0__tensorId="99"), "damaged"),
    (dumped(mainModule__parameters__0__name="__class__"), "__class__"),
    (lambda content: deep(content, 200), "nested more deeply"),
    (lambda content: deep(content, 200_000), "nested more deeply|can't be read"),
])  # fmt: skip
def test_damaged_descriptions_are_refused(change, message):
    with pytest.raises(Exception, match=message) as found:
        torch.jit.load(changed("1.0.1/control_script", change))
    assert isinstance(found.value, (torch.core.errors.RushlightError, RuntimeError))


def test_commands_take_old_archives(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old.pt").write_bytes(recorded("old")["1.0.1/resnet_trace.pt"])
    for arguments in (
        ("export", "old.pt", "-o", "new.onnx", "--input", "2x3x16x16"), ("run", "old.pt", "--input", "2x3x16x16"), ("view", "old.pt", "-o", "old.html")
    ):  # fmt: skip
        assert main(arguments) == 0, capsys.readouterr().err
    assert (tmp_path / "new.onnx").stat().st_size > 10_000 and (tmp_path / "old.html").stat().st_size > 1000


def of_version(version, arguments, result):
    """A Module of an archive of some version of the format, with a method that is written here."""
    file, made = io.BytesIO(), io.BytesIO()
    torch.jit.save(torch.jit.script(torch.nn.Identity()), file, format="torchscript")
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(made, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name.endswith("/version"):
                data = b"%d\n" % version
            elif b"  def forward" in data:
                data = data[: data.index(b"  def forward")]
                data += (
                    f"  def forward(self: __torch__.torch.nn.modules.linear.Identity,\n    {arguments}):\n    return {result}\n".encode()
                )
            new.writestr(name, data)
    made.seek(0)
    return torch.jit.load(made)


def shown(value):
    return (
        [shown(each) for each in value] if isinstance(value, (list, tuple)) else (str(value.dtype).removeprefix("torch."), value.tolist())
    )


QUOTIENTS = [
    ("torch.div(a, b)", ("int64", [3, -3]), ("float32", [3.5, -3.5])),
    ("torch.div(a, torch.item(b))", ("int64", [3, -3]), ("float32", [3.5, -3.5])),
    ("torch.div(a, 2)", ("int64", [3, -3]), ("float32", [3.5, -3.5])),
    ("torch.div(a, 2.)", ("float32", [3.5, -3.5]), ("float32", [3.5, -3.5])),
    ("torch.div_(a, b)", ("int64", [3, -3]), RuntimeError),
    ("torch.div_(a, 2)", ("int64", [3, -3]), RuntimeError),
    ("torch.div(torch.to(a, 6), b)", ("float32", [3.5, -3.5]), ("float32", [3.5, -3.5])),
    ("torch.div(a, b, out=torch.zeros([2], dtype=3))", ("int32", [3, -3]), RuntimeError),
    ("torch.div(a, b, out=torch.zeros([2], dtype=6))", ("float32", [3.5, -3.5]), ("float32", [3.5, -3.5])),
    ("torch.div(a, b, rounding_mode='floor')", ("int64", [3, -4]), ("int64", [3, -4])),
]


@pytest.mark.parametrize(("result", "before", "after"), QUOTIENTS)
def test_division_is_that_of_the_version(result, before, after):
    """Up to the third version of the format whole numbers had a whole quotient."""
    for version, wanted in ((1, before), (3, before), (4, after), (10, after)):
        made = of_version(version, "a: Tensor, b: Tensor", result)
        file = io.BytesIO()
        torch.jit.save(made, file, format="torchscript")
        file.seek(0)
        for form in (made, torch.jit.load(file), torch.jit.freeze(made.eval())):
            if wanted is RuntimeError:
                with pytest.raises(RuntimeError):
                    form(torch.tensor([7, -7]), torch.tensor(2))
            else:
                assert shown(form(torch.tensor([7, -7]), torch.tensor(2))) == wanted
    if before[0] == "int64" and "item" not in result:
        exported = io.BytesIO()
        torch.onnx.export(of_version(3, "a: Tensor, b: Tensor", result), (torch.tensor([7, -7]), torch.tensor(2)), exported, dynamo=False)


def test_filled_tensors_are_those_of_the_version():
    text = "(torch.full([1], a), torch.full([1], 1, dtype=None), torch.full([1], a, dtype=4), torch.full([1], True))"
    wanted = [("float32", [3.0]), ("float32", [1.0]), ("int64", [3]), ("float32", [1.0])]
    assert shown(of_version(4, "a: int", text)(3)) == wanted
    assert shown(of_version(5, "a: int", text)(3)) == [("int64", [3]), ("int64", [1]), ("int64", [3]), ("int64", [1])]
    open_type = of_version(4, "a: Optional[int]", "torch.full([1], 3, dtype=a)")
    assert shown(open_type(None)) == ("float32", [3.0]) and shown(open_type(3)) == ("int32", [3])


def test_a_hundred_steps_were_the_default():
    for name, last, first, final in (("linspace", 7, 0.0, 1.0), ("logspace", 8, 1.0, 10.0)):
        found = of_version(last, "a: Optional[int]", f"(torch.{name}(0, 1), torch.{name}(0., 1., a))")
        for steps in (3, None):
            whole, some = found(steps)
            assert whole.shape == (100,) and some.shape == (steps or 100,) and whole.dtype == some.dtype == torch.float32
            assert (whole[0].item(), whole[-1].item()) == (some[0].item(), some[-1].item()) == (first, final)
        assert of_version(last, "a: Tensor", f"torch.{name}(0, 1, out=a)")(torch.zeros(100)).shape == (100,)
        with pytest.raises(RuntimeError, match="overloads"):
            of_version(last + 1, "a: Tensor", f"torch.{name}(0, 1)")
