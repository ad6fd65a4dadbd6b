"""Checkpoints: PyTorch's files are read, ours are PyTorch's byte for byte where it matters, and saving is all or nothing."""

from __future__ import annotations

import copy
import io
import os
import pathlib
import pickle
import pickletools
import struct
import zipfile
from collections import OrderedDict

import numpy as np
import pytest
from checkpoint_objects import contents, state_dict

import rushlight as torch
from rushlight import serialization
from rushlight.nn.parameter import Buffer, Parameter, UninitializedParameter

FOLDER = pathlib.Path(__file__).parent / "data" / "checkpoints"


def same(found, wanted, where="value"):
    """Types, values, types of elements, strides, attributes: everything that a file carries."""
    assert type(found) is type(wanted), where
    if isinstance(wanted, torch.Tensor):
        assert (found.dtype, found.shape, found.stride()) == (wanted.dtype, wanted.shape, wanted.stride()), where
        assert (found.requires_grad, found.device, found.is_leaf) == (wanted.requires_grad, wanted.device, True), where
        if not wanted.is_meta:
            assert found._array.tobytes() == wanted._array.tobytes(), where
        for name in ("note", "tag"):
            assert getattr(found, name, None) == getattr(wanted, name, None), where
    elif isinstance(wanted, dict):
        assert list(found) == list(wanted), where
        for key, value in wanted.items():
            same(found[key], value, f"{where}[{key!r}]")
        assert getattr(found, "__dict__", None) == getattr(wanted, "__dict__", None), where
    elif isinstance(wanted, (list, tuple)):
        assert len(found) == len(wanted), where
        for index, (a, b) in enumerate(zip(found, wanted)):
            same(a, b, f"{where}[{index}]")
    else:
        assert found == wanted, where


def saved(value, **options) -> io.BytesIO:
    file = io.BytesIO()
    torch.save(value, file, **options)
    file.seek(0)
    return file


def again(value, **options):
    return torch.load(saved(value), **options)


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("name", ["zip", "protocol_4", "no_checksums", "stream"])
def test_files_of_pytorch(name, weights_only):
    found = torch.load(FOLDER / f"{name}.pt", weights_only=weights_only)
    same(found, contents(torch, typed_only=name == "stream"))
    assert found["parameter"] is found["same parameter"]
    assert found["views"][0].data_ptr() == found["base"].data_ptr()
    found["views"][1].fill_(-1)
    assert found["base"][1].tolist() == [-1] * 4
    assert found["state"]._metadata["0"] == {"version": 2}


@pytest.mark.parametrize("name", ["conjugate", "conjugate_stream"])
def test_marked_views_of_pytorch_are_computed(name):
    assert torch.load(FOLDER / f"{name}.pt").tolist() == [1 - 2j, 3j]


def test_generator_of_pytorch_continues():
    with pytest.raises(pickle.UnpicklingError, match=r"torch\._C\.Generator"):
        torch.load(FOLDER / "generator.pt")
    found = torch.load(FOLDER / "generator.pt", weights_only=False)
    wanted = torch.Generator().manual_seed(3)
    torch.rand(3, generator=wanted)
    assert type(found) is torch.Generator and found.initial_seed() == 3
    assert torch.rand(4, generator=found).tolist() == torch.rand(4, generator=again(wanted, weights_only=False)).tolist()


def test_whole_modules():
    with pytest.raises(pickle.UnpicklingError, match=r"torch\.nn\.modules\.linear\.Linear"):
        torch.load(FOLDER / "module.pt")
    found = torch.load(FOLDER / "module.pt", weights_only=False)
    once_more = again(found["module"], weights_only=False)
    for module in (found["module"], once_more):
        assert torch.allclose(module(torch.arange(4.0).reshape(2, 2)), found["output"], atol=1e-6)
    names = serialization.get_unsafe_globals_in_checkpoint(saved(found["module"]))
    assert set(names) == {
        "torch.nn.modules.container.Sequential", "torch.nn.modules.linear.Linear", "torch.nn.modules.activation.ReLU",
        "torch.nn.modules.batchnorm.BatchNorm1d",
    }  # fmt: skip


def test_modules_that_lie_elsewhere_or_hold_more_in_pytorch():
    found = torch.load(FOLDER / "layers.pt", weights_only=False)
    x = found["x"]
    file = saved(found["layers"])
    for layers in (found["layers"], torch.load(file, weights_only=False)):
        encoder, attention = layers["encoder"], layers["attention"]
        for output, wanted in zip([layers["lstm"](x)[0], layers["gru"](x)[0], encoder(x), attention(x, x, x)[0]], found["outputs"]):
            assert torch.allclose(output, wanted, atol=1e-6)
        functions = [each.function for each in layers.values()]
        assert functions == [torch.relu, torch.special.erf, torch.linalg.norm, torch.fft.fft, torch.Tensor.sin]
    file.seek(0)
    names = serialization.get_unsafe_globals_in_checkpoint(file)
    assert {"torch.nn.modules.rnn.LSTMCell", "torch.nn.modules.activation.MultiheadAttention"} <= set(names)
    lstm, encoder = found["layers"]["lstm"], found["layers"]["encoder"]
    state = lstm.__getstate__()  # what PyTorch's layers expect to find
    assert state["_flat_weights_names"] == [name for name, _ in lstm.named_parameters()]
    assert all(a is b for a, b in zip(state["_flat_weights"], lstm.parameters())) and encoder.activation_relu_or_gelu == 2
    copied = copy.deepcopy(lstm)
    assert "_flat_weights" not in copied.__dict__ and copied._flat_weights[0] is copied.weight_ih_l0
    scheduler = torch.optim.lr_scheduler.StepLR(torch.optim.SGD(lstm.parameters(), 0.1), 2)
    names = serialization.get_unsafe_globals_in_checkpoint(saved(scheduler))
    assert {"torch.optim.lr_scheduler.StepLR", "torch.optim.sgd.SGD"} <= set(names)


def test_a_sparse_tensor_is_read():
    found = torch.load(FOLDER / "sparse.pt")
    assert found.is_sparse and found.to_dense().tolist() == [[0.0, 1.0]]


@pytest.mark.parametrize(
    "options", [{}, {"pickle_protocol": 4}, {"pickle_protocol": 5}, {"_use_new_zipfile_serialization": False}], ids=str
)
def test_round_trip(options):
    file = saved(contents(torch), **options)
    for weights_only in (True, False):
        file.seek(0)
        same(torch.load(file, weights_only=weights_only), contents(torch))
    assert file.tell() == len(file.getvalue()) or "_use_new_zipfile_serialization" not in options


def instructions(data: bytes) -> list:
    """A pickle's instructions, without where it keeps a string for later: that follows from which strings are one object."""
    found, memo, last = [], {}, None
    for code, argument, _ in pickletools.genops(data):
        if "PUT" in code.name or code.name == "MEMOIZE":
            memo[argument] = last
            continue
        last = (code.name, argument)
        if "GET" in code.name:
            last = memo[argument] if memo[argument][0] == "BINUNICODE" else ("GET", memo[argument])
        found.append(last)
    return found


def test_structure_is_that_of_pytorch(tmp_path):
    """The same records in the same order, aligned; the pickle has PyTorch's instructions and names."""
    torch.save(contents(torch), tmp_path / "zip.pt")
    ours, theirs = zipfile.ZipFile(tmp_path / "zip.pt"), zipfile.ZipFile(FOLDER / "zip.pt")
    assert ours.testzip() is None and ours.namelist() == theirs.namelist()
    for name in ours.namelist():
        if name == "zip/data.pkl":
            assert instructions(ours.read(name)) == instructions(theirs.read(name))
        elif not name.endswith("serialization_id"):
            assert ours.read(name) == theirs.read(name), name
    raw = (tmp_path / "zip.pt").read_bytes()
    for entry in ours.infolist():
        name_size, extra_size = struct.unpack_from("<2H", raw, entry.header_offset + 26)
        assert (entry.header_offset + 30 + name_size + extra_size) % 64 == 0
        assert entry.compress_type == zipfile.ZIP_STORED


def test_the_old_structure_is_that_of_pytorch():
    ours, theirs = io.BytesIO(), io.BytesIO((FOLDER / "stream.pt").read_bytes())
    torch.save(contents(torch, typed_only=True), ours, _use_new_zipfile_serialization=False)
    ours.seek(0)

    def without_keys(found):
        return [(name, "key" if name == "BINUNICODE" and str(value).isdigit() else value) for name, value in found]

    for _ in range(4):  # magic number, version, system, object
        start = ours.tell(), theirs.tell()
        for file in (ours, theirs):
            pickletools.dis(file, io.StringIO())
        parts = [file.getvalue()[begin : file.tell()] for file, begin in zip((ours, theirs), start)]
        assert [each[:1] for each in map(without_keys, map(instructions, parts))]
        flat = [[each for each in without_keys(instructions(part)) if each[0] != "GET"] for part in parts]
        assert flat[0] == flat[1]


# -- particular objects ------------------------------------------------------------------------------------------


def test_memory_is_shared_again():
    base = torch.arange(6.0)
    found = again({"data": base.data, "detached": base.detach(), "view": base[2:4], "base": base, "storage": base.storage()})
    found["base"].fill_(7)
    assert found["data"].tolist() == found["detached"].tolist() == [7.0] * 6
    assert found["view"].tolist() == [7.0, 7.0] and found["view"].storage_offset() == 2
    assert found["storage"].tolist() == [7.0] * 6
    assert len(zipfile.ZipFile(saved([base, base[1:], base.t()])).namelist()) == 7  # one storage


def test_one_memory_under_two_types_is_refused():
    base = torch.arange(3.0)
    with pytest.raises(RuntimeError, match="view the same data as different types"):
        saved([base, base.view(torch.int32)])


def test_storages():
    base = torch.arange(3, dtype=torch.int16)
    assert again(base.storage()).tolist() == [0, 1, 2] and again(base.storage()).dtype is torch.int16
    assert again(base.untyped_storage()).tolist() == [0, 0, 1, 0, 2, 0]


class Tagged(torch.Tensor):
    pass


def test_subclasses_and_parameters():
    value = torch.ones(2).as_subclass(Tagged)
    value.note = [1]
    with pytest.raises(pickle.UnpicklingError, match="Tagged"):
        again(value)
    for options in ({"weights_only": False}, {}):
        with serialization.safe_globals([Tagged]):
            found = again(value, **options)
        assert type(found) is Tagged and found.note == [1] and found.tolist() == [1.0, 1.0]
    found = again(Buffer(torch.ones(1), persistent=False))
    assert type(found) is Buffer and found.persistent is False
    assert isinstance(again(UninitializedParameter(), weights_only=False), UninitializedParameter)
    assert not again(Parameter(torch.ones(1), requires_grad=False)).requires_grad


def test_computed_tensors_are_saved_as_leaves_and_hooks_are_not():
    leaf = torch.ones(2, requires_grad=True)
    assert again(leaf * 2).tolist() == [2.0, 2.0] and again(leaf * 2).requires_grad and again(leaf * 2).is_leaf
    leaf.register_hook(lambda gradient: gradient)
    with pytest.warns(UserWarning, match="backward hook"):
        saved(leaf)


def test_functions_carry_the_names_of_pytorch():
    data = zipfile.ZipFile(saved([torch.relu, torch.nn.functional.gelu, Parameter, torch.float16])).read("archive/data.pkl")
    for name in (
        b"ctorch\nrelu\n",
        b"ctorch.nn.functional\ngelu\n",
        b"ctorch.nn.parameter\nParameter\n",
        b"ctorch\nfloat16\n",
    ):
        assert name in data
    assert again([torch.relu, Parameter], weights_only=False) == [torch.relu, Parameter]


def test_under_the_alias(alias):
    found = torch.load(FOLDER / "zip.pt", weights_only=False)
    assert again([torch.relu, found["parameter"]], weights_only=False)[0] is torch.relu


# -- options -----------------------------------------------------------------------------------------------------


def test_map_location():
    value = torch.arange(3.0)
    for place in (
        "cpu",
        torch.device("cpu"),
        {"cuda:0": "cpu"},
        lambda storage, tag: storage,
        lambda storage, tag: None,
    ):
        assert again(value, map_location=place).tolist() == [0.0, 1.0, 2.0]
    for place in ("meta", torch.device("meta"), {"cpu": "meta"}):
        found = again(value, map_location=place)
        assert found.is_meta and found.shape == (3,) and found.dtype is torch.float32
    seen = []
    again(value, map_location=lambda storage, tag: seen.append((type(storage).__name__, tag, storage.nbytes())))
    assert seen == [("UntypedStorage", "cpu", 12)]
    with pytest.raises(RuntimeError, match="CUDA device but torch.cuda.is_available"):
        again(value, map_location="cuda")
    with pytest.raises(RuntimeError, match="tagged with nowhere"):
        again(value, map_location="nowhere")
    with pytest.raises(TypeError, match="map_location"):
        again(value, map_location=3)
    with pytest.raises(TypeError, match="not a storage"):
        again(value, map_location=lambda storage, tag: 5, weights_only=False)


def test_registered_places():
    serialization.register_package(5, lambda storage: None, lambda storage, tag: storage.clone().fill_(0) if tag == "nowhere" else None)
    assert again(torch.ones(2), map_location="nowhere").tolist() == [0.0, 0.0]
    assert serialization.location_tag(torch.ones(1).untyped_storage()) == "cpu"


def test_mapped_files(tmp_path):
    path = tmp_path / "mapped.pt"
    torch.save(contents(torch), path)
    before = path.read_bytes()
    found = torch.load(path, mmap=True)
    same(found, contents(torch))
    found["base"].fill_(9)
    assert found["views"][1].tolist() == [9.0] * 4 and path.read_bytes() == before
    with pytest.raises(ValueError, match="file path"):
        again(torch.ones(1), mmap=True)
    torch.save(torch.ones(1), path, _use_new_zipfile_serialization=False)
    with pytest.raises(RuntimeError, match="mmap can only be used"):
        torch.load(path, mmap=True)


def test_large_tensors_have_memory_of_their_own():
    found = again({"w": torch.arange(1 << 19)})["w"]
    assert not found.is_shared() and not found.untyped_storage().is_shared()
    found.add_(1)
    assert found[[0, -1]].tolist() == [1, 1 << 19]
    assert found.share_memory_().is_shared() and found[-1] == 1 << 19


def test_mapped_files_can_be_shared(tmp_path):
    path = tmp_path / "shared.pt"
    torch.save(torch.zeros(3), path)
    with serialization.set_default_mmap_options(serialization.options.MAP_SHARED):
        torch.load(path, mmap=True).fill_(2)
    assert np.frombuffer(path.read_bytes(), np.uint8).tobytes().count(np.float32(2).tobytes() * 3) == 1
    assert serialization.get_default_mmap_options() == serialization.options.MAP_PRIVATE


def test_byte_order_of_another_machine():
    value = {"a": torch.tensor([1.0, 2.5]), "b": torch.tensor([3], dtype=torch.int16), "c": torch.tensor([1 + 2j])}
    source = zipfile.ZipFile(saved(value))
    swapped = io.BytesIO()
    with zipfile.ZipFile(swapped, "w") as archive:
        for name in source.namelist():
            data = source.read(name)
            if name.startswith("archive/data/"):
                kind = {"0": "f4", "1": "i2", "2": "c8"}[name.rpartition("/")[2]]
                data = np.frombuffer(data, kind).byteswap().tobytes()
            archive.writestr(name, b"big" if name.endswith("byteorder") else data)
    swapped.seek(0)
    same(torch.load(swapped), value)


def test_archives_of_other_writers():
    """Compressed records, as from a file that was packed anew, and no byte order, as before PyTorch 2.1."""
    source = zipfile.ZipFile(saved(state_dict(torch)))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in source.namelist():
            if not name.endswith(("byteorder", ".format_version", ".storage_alignment", "serialization_id")):
                archive.writestr(name.replace("archive", "other"), source.read(name))
    packed.seek(0)
    same(torch.load(packed), state_dict(torch))


def test_file_objects():
    file = io.BytesIO(b"xyz")
    file.seek(3)
    torch.save(torch.ones(2), file)
    file.seek(3)
    assert torch.load(file).tolist() == [1.0, 1.0]

    class OnlyWrite:
        def __init__(self):
            self.data = b""

        def write(self, data):
            self.data += bytes(data)

    class OnlyRead:
        def __init__(self, data):
            file = io.BytesIO(data)
            self.read, self.readline, self.seek, self.tell = file.read, file.readline, file.seek, file.tell

    for options in ({}, {"_use_new_zipfile_serialization": False}):
        target = OnlyWrite()
        torch.save(contents(torch), target, **options)
        same(torch.load(OnlyRead(target.data)), contents(torch))
    stream = io.BytesIO()
    for value in (1, torch.ones(1)):
        torch.save(value, stream, _use_new_zipfile_serialization=False)
    stream.seek(0)
    assert torch.load(stream) == 1 and torch.load(stream).tolist() == [1.0]


def test_arguments_are_checked(tmp_path):
    with pytest.raises(RuntimeError, match="Parent directory .*absent does not exist"):
        torch.save(1, tmp_path / "absent" / "x.pt")
    with pytest.raises(FileNotFoundError):
        torch.load(tmp_path / "absent.pt")
    with pytest.raises(AttributeError, match="'write'"):
        torch.save(1, 5)
    with pytest.raises(AttributeError, match="seekable"):
        torch.load(5)
    with pytest.raises(RuntimeError, match="explicit pickle_module"):
        again(1, pickle_module=pickle, weights_only=True)
    with pytest.raises(TypeError, match="unexpected"):
        again(1, foo=1)
    with pytest.raises(ValueError, match="protocol 0"):
        saved(1, pickle_protocol=0)
    assert again(1, pickle_module=pickle) == 1


def test_environment_decides_the_default(monkeypatch):
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    assert again(frozenset([1])) == frozenset([1])
    monkeypatch.setenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "1")
    with pytest.raises(RuntimeError, match="both were set"):
        again(1)
    monkeypatch.delenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD")
    with pytest.raises(pickle.UnpicklingError):
        again(frozenset([1]), weights_only=False)


def test_skip_data_and_checksums():
    with serialization.skip_data():
        file = saved(torch.ones(3))
    assert torch.load(file).tolist() == [0.0, 0.0, 0.0]
    assert serialization.get_crc32_options()
    serialization.set_crc32_options(False)
    try:
        assert {entry.CRC for entry in zipfile.ZipFile(saved(torch.ones(3))).infolist()} == {0}
    finally:
        serialization.set_crc32_options(True)


# -- all or nothing ----------------------------------------------------------------------------------------------


class Broken:
    def __reduce__(self):
        raise KeyError("broken")


def test_a_failed_save_leaves_the_old_file(tmp_path):
    path = tmp_path / "model.pt"
    torch.save({"epoch": 1}, path)
    before = path.read_bytes()
    for options in ({}, {"_use_new_zipfile_serialization": False}):
        with pytest.raises(KeyError, match="broken"):
            torch.save([torch.ones(1000), Broken()], path, **options)
        assert path.read_bytes() == before and os.listdir(tmp_path) == ["model.pt"]


def test_saving_follows_links_and_keeps_modes(tmp_path):
    path, link = tmp_path / "model.pt", tmp_path / "latest.pt"
    torch.save(1, path)
    path.chmod(0o640)
    link.symlink_to(path)
    torch.save(2, link)
    assert link.is_symlink() and torch.load(path) == 2 and path.stat().st_mode & 0o777 == 0o640
    assert sorted(os.listdir(tmp_path)) == ["latest.pt", "model.pt"]
    torch.save(3, os.devnull)
    torch.save(4, os.fsencode(path))
    assert torch.load(str(path)) == 4


# -- what may be named -------------------------------------------------------------------------------------------


class Settings:
    def __init__(self, rate):
        self.rate = rate

    def __eq__(self, other):
        return type(other) is Settings and other.rate == self.rate


def test_everything_refused_is_listed_with_what_to_do():
    file = saved({"a": Settings(0.1), "b": [frozenset(), np.float32(1)], "c": print})
    with pytest.raises(pickle.UnpicklingError) as caught:
        torch.load(file)
    message = str(caught.value)
    for name in ("test_serialization.Settings", "frozenset", "numpy._core.multiarray.scalar", "numpy.dtype", "print"):
        assert name in message
    for hint in ("add_safe_globals([", "safe_globals([", "weights_only=False"):
        assert hint in message
    file.seek(0)
    names = serialization.get_unsafe_globals_in_checkpoint(file)
    assert set(names) == {
        f"{__name__}.Settings", "builtins.frozenset", "numpy._core.multiarray.scalar", "numpy.dtype", "builtins.print",
    }  # fmt: skip


def test_safe_globals():
    value, before = Settings(0.5), serialization.get_safe_globals()  # those of distributed tensors, where these are loaded
    with serialization.safe_globals([Settings]):
        assert again(value) == value and serialization.get_safe_globals() == [*before, Settings]
    assert serialization.get_safe_globals() == before
    serialization.add_safe_globals([(Settings, f"{__name__}.Settings"), np.dtype, np._core.multiarray.scalar])
    serialization.add_safe_globals([type(np.dtype("f4"))])
    assert again([value, np.float32(2.5)]) == [value, np.float32(2.5)]
    serialization.clear_safe_globals()
    with pytest.raises(pickle.UnpicklingError):
        again(value)
    with pytest.raises(TypeError, match="no name of its own"):
        serialization.add_safe_globals([value])


def test_optimizer_states():
    state = {
        "state": {0: {"step": torch.tensor(1.0), "exp_avg": torch.ones(2)}},
        "param_groups": [{"lr": 1e-3, "betas": (0.9, 0.999), "foreach": None, "params": [0, 1]}],
    }
    same(again(OrderedDict(model=state_dict(torch), optimizer=state, epoch=3)).pop("optimizer"), state)
