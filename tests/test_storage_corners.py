"""Corners of storages that test files of others have found."""

from __future__ import annotations

import pytest

import rushlight as rl


def test_storages_without_data():
    storage = rl.ones(3, device="meta").storage()
    for read in (lambda: storage[0], storage.tolist):
        with pytest.raises(NotImplementedError, match="Not available for 'meta' device type"):
            read()
    storage[0] = 1
    assert storage.fill_(2) is storage and storage.copy_(storage) is storage
    assert (len(storage.clone()), len(storage.double()), storage.double().dtype) == (3, 3, rl.float64)


def test_tensors_of_storages():
    storage = rl.arange(4.0).storage()
    assert rl.tensor(storage).tolist() == [0.0, 1.0, 2.0, 3.0]
    with pytest.raises(RuntimeError, match="Expected a Storage of type Float or an UntypedStorage, but got Double"):
        rl.tensor(rl.ones(2, dtype=rl.float64).storage())
    with pytest.raises(RuntimeError, match="Expected a Storage of type Double or an UntypedStorage, but got Float"):
        rl.tensor(storage, dtype=rl.float64)
    assert storage._cdata == storage.untyped()._cdata and storage.get_device() == -1


def test_storages_of_files(tmp_path):
    path = tmp_path / "numbers"
    shared = rl.FloatStorage.from_file(str(path.touch() or path), True, 4)
    shared[1] = 2.5
    assert rl.FloatStorage.from_file(str(path), False, 4).tolist() == [0.0, 2.5, 0.0, 0.0]


def test_views_of_larger_elements_look_at_the_offset_first():
    x = rl.zeros(3, 9, dtype=rl.int16)[:, 1:]
    with pytest.raises(RuntimeError, match=r"self.storage_offset\(\) must be divisible by 2"):
        x.view(rl.int32)


def test_bytes_as_elements_and_storages_of_lists_without_data():
    x = rl.tensor([1.5, -2.0], dtype=rl.float64)
    assert rl.tensor(x.untyped_storage(), dtype=rl.float64).tolist() == [1.5, -2.0]
    storage = rl.TypedStorage([1, 2, 3], dtype=rl.int16, device="meta")
    assert (len(storage), storage.device.type) == (3, "meta")
    with pytest.raises(NotImplementedError):
        rl.UntypedStorage(0, device="meta")[0]


def test_powers_in_place_are_of_double_precision():
    assert rl.full((2,), 3.0, dtype=rl.float64).float_power_(2).tolist() == [9.0, 9.0]
    with pytest.raises(RuntimeError, match="float_power_ has dtype Float but the operation's result requires dtype Double"):
        rl.ones(2).float_power_(2)


def test_byteswap_reverses_the_bytes_of_elements() -> None:
    storage = rl.tensor([1, 2], dtype=rl.int16).untyped_storage()
    storage.byteswap(rl.int16)
    assert storage.tolist() == [0, 1, 0, 2]
    numbers = rl.tensor([1 + 2j])
    for _ in range(2):
        numbers.untyped_storage().byteswap(rl.complex64)
    assert numbers.tolist() == [1 + 2j]


def test_memory_whose_dimensions_are_in_another_order(tmp_path):
    """What is computed of a permuted tensor is one block with permuted strides: it has a storage, and is saved, as any other."""
    x = rl.arange(102.0).reshape(2, 3, 17).permute(0, 2, 1) + 1
    assert x.stride() == (51, 1, 17)
    assert x.untyped_storage().tolist() == rl.arange(1.0, 103.0).untyped_storage().tolist()
    rl.save(x, tmp_path / "x.pt")
    again = rl.load(tmp_path / "x.pt")
    assert again.stride() == (51, 1, 17)
    assert rl.equal(again, x)


def test_resize_to_strides_that_no_integer_holds_is_refused():
    with pytest.raises(RuntimeError, match="Stride calculation overflowed"):
        rl.empty(()).resize_([0, 4, 2305843009213693952])
