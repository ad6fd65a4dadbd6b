"""Damaged and hostile checkpoints: always a clear error, never a wrong value, a crash, or anything executed."""

from __future__ import annotations

import io
import os
import pickle
import random
import struct
import zipfile
import zlib

import pytest
from checkpoint_objects import state_dict

import rushlight as torch
from rushlight import serialization
from rushlight.serialization.records import CENTRAL_HEADER, END_RECORD

ERRORS = (RuntimeError, pickle.UnpicklingError, EOFError, NotImplementedError)


def saved(value, **options) -> bytes:
    file = io.BytesIO()
    torch.save(value, file, **options)
    return file.getvalue()


def small(torch=torch):
    return {"state": state_dict(torch), "step": 7, "name": "x", "bf": torch.ones(2, dtype=torch.bfloat16)}


def archive(pickled: bytes, **records: bytes) -> io.BytesIO:
    """An archive around any pickle."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as target:
        target.writestr("archive/data.pkl", pickled)
        for name, data in records.items():
            target.writestr(f"archive/data/{name.lstrip('_')}", data)
    file.seek(0)
    return file


STORAGE = b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x02tQ"
REBUILD = b"ctorch._utils\n_rebuild_tensor_v2\n"


def tensor(offset=b"K\x00", size=b"K\x02\x85", stride=b"K\x01\x85", storage=STORAGE) -> bytes:
    return REBUILD + b"(" + storage + offset + size + stride + b"\x89NtR"


def test_the_plain_form_of_these_pickles_loads():
    assert torch.load(archive(b"\x80\x02" + tensor() + b".", _0=b"\0" * 8)).tolist() == [0.0, 0.0]


# -- damage ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"_use_new_zipfile_serialization": False}], ids=["zip", "stream"])
def test_truncated_files(options):
    data = saved(small(), **options)
    for end in [*range(0, 200, 3), *range(200, len(data), 37), len(data) - 1]:
        with pytest.raises(ERRORS):
            torch.load(io.BytesIO(data[:end]))


def test_flipped_bits_are_found():
    data = saved(small())
    wanted = repr(small())
    numbers = random.Random(0)
    refused = 0
    for _ in range(1500):
        damaged = bytearray(data)
        for _ in range(numbers.choice((1, 1, 1, 2, 20))):
            damaged[numbers.randrange(len(data))] ^= 1 << numbers.randrange(8)
        try:
            assert repr(torch.load(io.BytesIO(damaged))) == wanted  # a bit that says nothing, such as a date
        except ERRORS:
            refused += 1
    assert refused > 500


def test_flipped_bits_of_streams_do_no_harm():
    data = saved(small(), _use_new_zipfile_serialization=False)
    numbers = random.Random(1)
    refused = 0
    for _ in range(1500):
        damaged = bytearray(data)
        damaged[numbers.randrange(len(data))] ^= 1 << numbers.randrange(8)
        try:
            torch.load(io.BytesIO(damaged))
        except ERRORS:
            refused += 1
    assert refused > 1000


def test_random_pickles_do_no_harm():
    numbers = random.Random(2)
    pieces = [b"(", b")", b"]", b"}", b"N", b"K\x05", b"t", b"\x85", b"\x86", b"e", b"a", b"s", b"u", b"q\x01", b"h\x01", b"R", b"b",
              b"0", b"1", b"2", b"\x81", b"\x8f", b"\x90", b"\x94", b"X\x01\x00\x00\x00a", b"ccollections\nOrderedDict\n", REBUILD,
              b"ctorch\nfloat32\n", b"ctorch\nSize\n", b"ctorch\nTensor\n", STORAGE, b"\x93", b"Q", b"J\xff\xff\xff\xff", b"d", b"l"]  # fmt: skip
    results = 0
    for _ in range(3000):
        program = b"\x80\x02" + b"".join(numbers.choices(pieces, k=numbers.randrange(1, 30))) + b"."
        try:
            torch.load(archive(program, _0=b"\0" * 8))
            results += 1
        except ERRORS:
            continue
    assert results > 20


def test_a_wrong_checksum_names_the_record():
    data = bytearray(saved({"w": torch.full((1 << 19,), 2.0)}))  # large enough for the second thread
    data[len(data) // 2] ^= 1
    with pytest.raises(RuntimeError, match="checksum of record 'archive/data/0'"):
        torch.load(io.BytesIO(bytes(data)))
    with pytest.raises(RuntimeError, match="checksum of record 'archive/data/7'"):  # one of many, each read in its turn
        state = {str(index): torch.full((1 << 19,), float(index)) for index in range(10)}
        data = bytearray(saved(state))
        data[len(data) * 15 // 20] ^= 1
        torch.load(io.BytesIO(bytes(data)))


# -- archives that lie -------------------------------------------------------------------------------------------


def changed_directory(index: int, field: int, value: int, size: int = 4) -> io.BytesIO:
    """A good file in which one field of one entry of the directory is another."""
    data = bytearray(saved(small()))
    *_, start, _ = END_RECORD.unpack_from(data, len(data) - END_RECORD.size)
    for _ in range(index):
        fields = CENTRAL_HEADER.unpack_from(data, start)
        start += CENTRAL_HEADER.size + sum(fields[10:13])
    data[start + field : start + field + size] = value.to_bytes(size, "little")
    return io.BytesIO(bytes(data))


@pytest.mark.parametrize("index", [0, 4])
@pytest.mark.parametrize(
    "field, value, size",
    [(20, 2**32 - 1, 4), (24, 2**31, 4), (24, 5, 4), (42, 0, 4), (42, 2**31, 4), (10, 99, 2), (8, 1, 2), (28, 60000, 2), (16, 1, 4)],
)
def test_directories_that_lie(index, field, value, size):
    file = changed_directory(index, field, value, size)
    if (index, field, value) == (0, 42, 0):
        torch.load(file)  # the first record begins at 0
        return
    with pytest.raises(RuntimeError, match="PytorchStreamReader failed"):
        torch.load(file)


@pytest.mark.parametrize("name", ["archive/../../evil", "/etc/evil", "archive\\..\\evil", "archive/data/../0"])
def test_names_that_lead_elsewhere(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = archive(b"\x80\x02N.")
    with zipfile.ZipFile(file, "a") as target:
        target.writestr(name, b"x")
    file.seek(0)
    with pytest.raises(RuntimeError, match="no plain path"):
        torch.load(file)
    assert os.listdir(tmp_path) == []


def test_names_that_appear_twice():
    file = archive(b"\x80\x02N.")
    with pytest.warns(UserWarning), zipfile.ZipFile(file, "a") as target:
        target.writestr("archive/data.pkl", b"\x80\x02K\x01.")
    file.seek(0)
    with pytest.raises(RuntimeError, match="appears twice"):
        torch.load(file)


def test_records_that_overlap_or_inflate():
    data = bytearray(saved([torch.ones(3), torch.zeros(3)]))
    central = data.index(b"PK\1\2")
    entries = []
    for _ in range(8):
        fields = CENTRAL_HEADER.unpack_from(data, central)
        entries.append((central, fields[-1]))
        central += CENTRAL_HEADER.size + sum(fields[10:13])
    data[entries[5][0] + 42 : entries[5][0] + 46] = struct.pack("<I", entries[4][1])
    with pytest.raises(RuntimeError, match="overlaps"):
        torch.load(io.BytesIO(bytes(data)))
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as target:
        target.writestr("archive/data.pkl", b"\x80\x02N.")
    raw = bytearray(bomb.getvalue())
    place = raw.index(b"PK\1\2")
    raw[place + 24 : place + 28] = struct.pack("<I", 2**31)
    with pytest.raises(RuntimeError, match="stored bytes are"):
        torch.load(io.BytesIO(bytes(raw)))


@pytest.mark.parametrize("content", [b"", b"P", b"PK\3\4", b"hello", b"\x80\x02N.", b"PK\3\4" + b"\0" * 100, b"PK\5\6" + b"\0" * 18])
def test_what_is_no_checkpoint(content):
    with pytest.raises(ERRORS):
        torch.load(io.BytesIO(content))


def test_archives_of_torchscript_are_named():
    file = archive(b"\x80\x02N.")
    with zipfile.ZipFile(file, "a") as target:
        target.writestr("archive/constants.pkl", b"\x80\x02).")
        target.writestr("archive/code/__torch__.py", b"")
    file.seek(0)
    with pytest.raises(NotImplementedError, match="TorchScript"):
        torch.load(file)


# -- pickles that attack -----------------------------------------------------------------------------------------


class Attack:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("options", [{}, {"pickle_protocol": 4}, {"_use_new_zipfile_serialization": False}], ids=str)
def test_nothing_is_executed(tmp_path, options):
    target = tmp_path / "made"
    data = saved([torch.ones(1), Attack(target)], **options)
    with pytest.raises(pickle.UnpicklingError, match=r"posix\.mkdir|nt\.mkdir"):
        torch.load(io.BytesIO(data))
    if not options:
        serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(data))
    assert not target.exists()


HUGE = b"\x8a\x08" + (10**15).to_bytes(8, "little")
ATTACKS = {
    "a call of a storage class, which would allocate": b"ctorch\nFloatStorage\n" + HUGE + b"\x85R",
    "a call of a tensor class": b"ctorch\nFloatTensor\n" + HUGE + b"\x85R",
    "a bytearray of a size": b"c__builtin__\nbytearray\n" + HUGE + b"\x85R",
    "bytes of a size": b"c__builtin__\nbytes\n" + HUGE + b"\x85R",
    "a set of a number": b"c__builtin__\nset\n" + HUGE + b"\x85R",
    "a size of strings": b"ctorch\nSize\nX\x01\x00\x00\x00a\x85\x85R",
    "an encoding that compresses": b"c_codecs\nencode\nX\x01\x00\x00\x00aX\x03\x00\x00\x00zip\x86R",
    "an attribute of a function": b"c__builtin__\ngetattr\n" + REBUILD + b"X\x0b\x00\x00\x00__globals__\x86R",
    "a new object of Tensor": b"ctorch\nTensor\n)\x81",
    "the state of a tensor": tensor() + b"}b",
    "items of a list": b"]K\x01K\x02s",
    "members of a dict": b"}K\x01a",
    "an odd number of items": b"}(K\x01u",
    "a call of a number": b"K\x01)R",
    "a call with a list": REBUILD + b"]R",
    "a mark as a value": b"(\x85",
    "a mark that is not there": b"K\x01t",
    "an empty stack": b"0",
    "a memo that is not there": b"h\x07",
    "a text longer than the file": b"X\xff\xff\xff\x7fabc",
    "bytes longer than any file": b"\x8e\xff\xff\xff\xff\xff\xff\xff\x7fabc",
    "a number of negative length": b"\x8b\xff\xff\xff\xff",
    "a decimal number of a million digits": b"L" + b"9" * 10**6 + b"L\n",
    "a protocol to come": b"\x80\x63N",
    "an instruction of old classes": b"(i__builtin__\nlist\n",
    "a registered extension": b"\x82\x01",
    "a buffer out of band": b"\x97",
    "an identity that is no storage": b"K\x01Q",
    "a storage of an unknown type": b"(X\x07\x00\x00\x00storageNX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x02tQ",
    "a storage of another size": tensor(storage=STORAGE.replace(b"K\x02tQ", HUGE + b"tQ")),
    "a storage of negative size": tensor(storage=STORAGE.replace(b"K\x02tQ", b"J\xff\xff\xff\xfftQ")),
    "a storage that is not there": tensor(storage=STORAGE.replace(b"X\x01\x00\x00\x000", b"X\x0e\x00\x00\x00../../../x.txt")),
    "a tensor beyond its storage": tensor(size=b"K\x03\x85"),
    "an offset beyond it": tensor(offset=b"K\x01"),
    "a negative offset": tensor(offset=b"J\xff\xff\xff\xff"),
    "a negative size": tensor(size=b"J\xff\xff\xff\xff\x85"),
    "a negative stride": tensor(stride=b"J\xff\xff\xff\xff\x85"),
    "more sizes than strides": tensor(stride=b")"),
    "a size that is a float": tensor(size=b"G" + struct.pack(">d", 2.0) + b"\x85"),
    "a size that is huge": tensor(size=HUGE + b"\x85", stride=b"K\x01\x85"),
    "sixty-five dimensions": tensor(size=b"(" + b"K\x01" * 65 + b"t", stride=b"(" + b"K\x01" * 65 + b"t"),
    "a tensor over a number": tensor(storage=b"K\x01"),
    "a field of a tensor": b"ctorch._tensor\n_rebuild_from_type_v2\n(" + REBUILD + b"ctorch\nTensor\n(" + STORAGE
    + b"K\x00K\x02\x85K\x01\x85\x89Nt}X\x06\x00\x00\x00_arrayK\x01stR",
    "a tensor by another function": b"ctorch._tensor\n_rebuild_from_type_v2\n(ctorch\nSize\nctorch\nTensor\n)}tR",
    "a key that is a list": b"}]K\x01s",
}  # fmt: skip


@pytest.mark.parametrize("name", ATTACKS)
def test_attacks(name):
    with pytest.raises((RuntimeError, pickle.UnpicklingError)):
        torch.load(archive(b"\x80\x02" + ATTACKS[name] + b".", _0=b"\0" * 8))


def test_deep_nesting_does_not_crash():
    depth = 200_000
    found = torch.load(archive(b"\x80\x02" + b"]" * depth + b"a" * (depth - 1) + b"."))
    levels = 0
    while found:
        found, levels = found[0], levels + 1
    assert levels == depth - 1
    assert len(torch.load(archive(b"\x80\x02)" + b"\x85" * depth + b"."))) == 1
    for key in (b")" + b"\x85" * depth, b")q\x00" + b"h\x00\x86q\x00" * 60):  # too deep to hash; 2 ** 60 parts
        for pickled in (b"}" + key + b"Ns", b"c__builtin__\nset\n](" + key + b"e\x85R", b"\x8f(" + key + b"\x90"):
            with pytest.raises(pickle.UnpicklingError, match="parts"):
                torch.load(archive(b"\x80\x04" + pickled + b"."))


def test_a_wide_view_of_little_memory_takes_none():
    found = torch.load(archive(b"\x80\x02" + tensor(size=HUGE + b"\x85", stride=b"K\x00\x85") + b".", _0=b"\0" * 8))
    assert found.shape == (10**15,) and found.untyped_storage().nbytes() == 8


def test_streams_that_lie():
    data = saved(torch.ones(2), _use_new_zipfile_serialization=False)
    place = data.rindex(struct.pack("<q", 2))
    for wrong in (struct.pack("<q", 3), struct.pack("<q", -1), struct.pack("<q", 2**62)):
        with pytest.raises(RuntimeError, match="another size"):
            torch.load(io.BytesIO(data[:place] + wrong + data[place + 8 :]))
    with pytest.raises(pickle.UnpicklingError, match="more than the file has"):
        torch.load(io.BytesIO(data.replace(b"K\x02Nt", b"J\xff\xff\xff\x7fNt")))
    part = data.replace(b"K\x02Nt", b"K\x02X\x01\x00\x00\x00vK\x01K\x01\x87t").replace(b"K\x02\x85", b"K\x01\x85")
    assert torch.load(io.BytesIO(part)).tolist() == [1.0]  # a part of a storage, as PyTorch had them once
    with pytest.raises(RuntimeError, match="magic number"):
        torch.load(io.BytesIO(pickle.dumps({"a": 1}, protocol=2)))
    with pytest.raises(NotImplementedError, match="tar file"):
        torch.load(io.BytesIO(b"\0" * 257 + b"ustar" + b"\0" * 600))


def test_checksums_are_those_of_zip():
    with zipfile.ZipFile(io.BytesIO(saved(small()))) as source:
        assert all(zlib.crc32(source.read(entry)) == entry.CRC for entry in source.infolist())


@pytest.mark.parametrize(
    "view", [b"K\x05", b"X\x01\x00\x00\x00vK\x00K\x09\x87", b"X\x01\x00\x00\x00vJ\xff\xff\xff\xffK\x01\x87", b"K\x01K\x00K\x01\x87"]
)
@pytest.mark.parametrize("weights_only", [True, False])
def test_parts_of_storages_of_streams_are_inside_of_them(view, weights_only):
    data = saved(torch.ones(3), _use_new_zipfile_serialization=False)
    place = data.index(b"K\x03N", data.index(b"FloatStorage")) + 2  # no part: the storage itself
    with pytest.raises(pickle.UnpicklingError, match="a part of a storage|no storage"):
        torch.load(io.BytesIO(data[:place] + view + data[place + 1 :]), weights_only=weights_only)


def test_layouts_that_are_not_known():
    with pytest.raises(TypeError, match="the layout 'torch.odd', which is not known"):
        serialization.rebuild.get_layout("torch.odd")
