"""`torch.nn.utils._named_member_accessor`: tensors of Modules by their dotted names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..core.base import TensorBase
from ..nn.modules.module import Module

_MISSING = object()


def set_tensor(module: Any, name: str, tensor: Any) -> None:
    """Set a parameter or buffer of a Module (not of one inside it)."""
    swap_tensor(module, name, tensor, allow_missing=True)


def swap_tensor(module: Any, name: str, tensor: Any, allow_missing: bool = False) -> Any:
    """Set a parameter or buffer of a Module, and give the one before."""
    if not isinstance(module, Module):
        raise TypeError(f"{module} is not an instance of torch.nn.Module")
    if tensor is not _MISSING and not isinstance(tensor, TensorBase) and tensor is not None:
        raise TypeError(f"{tensor} is not an instance of torch.Tensor")
    if "." in name:
        raise KeyError('tensor name can\'t contain "."')
    if name == "":
        raise KeyError('tensor name can\'t be empty string ""')
    for fields in (module._parameters, module._buffers):
        if name in fields:
            before = fields[name]
            if tensor is _MISSING:
                del fields[name]
            else:
                fields[name] = tensor
            return before
    before = getattr(module, name, _MISSING)
    if before is _MISSING and not allow_missing:
        raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    if before is not _MISSING and not isinstance(before, TensorBase):
        raise TypeError(f"attribute `{name}`: {before} is not an instance of torch.Tensor")
    if tensor is not _MISSING:
        setattr(module, name, tensor)
    elif before is not _MISSING:
        delattr(module, name)
    return before


class NamedMemberAccessor:
    """Reads, sets and swaps parameters and buffers of a Module and of those inside it, by dotted names."""

    def __init__(self, module: Any) -> None:
        self.module = module

    def _owner(self, name: str) -> tuple[Any, str]:
        path, _, last = name.rpartition(".")
        return self.get_submodule(path), last

    def get_submodule(self, name: str) -> Any:
        """A Module inside it."""
        return self.module.get_submodule(name)

    def get_tensor(self, name: str) -> Any:
        """One tensor."""
        owner, last = self._owner(name)
        found = getattr(owner, last)
        if not isinstance(found, TensorBase) and found is not None:
            raise TypeError(f"{found} is not an instance of torch.Tensor")
        return found

    def set_tensor(self, name: str, value: Any) -> None:
        """Set one tensor."""
        owner, last = self._owner(name)
        set_tensor(owner, last, value)

    def del_tensor(self, name: str) -> None:
        """Remove one tensor."""
        owner, last = self._owner(name)
        swap_tensor(owner, last, _MISSING)

    def swap_tensor(self, name: str, value: Any, allow_missing: bool = False) -> Any:
        """Set one tensor, and give the one before."""
        owner, last = self._owner(name)
        return swap_tensor(owner, last, value, allow_missing=allow_missing)

    def get_tensors(self, names: Any) -> list[Any]:
        """Several tensors."""
        return [self.get_tensor(name) for name in names]

    def set_tensors(self, names: Any, values: Any) -> None:
        """Set several tensors."""
        for name, value in zip(names, values, strict=True):
            self.set_tensor(name, value)

    def set_tensors_dict(self, named_tensors: dict[str, Any]) -> None:
        """Set tensors by name."""
        for name, value in named_tensors.items():
            self.set_tensor(name, value)

    def del_tensors(self, names: Any) -> None:
        """Remove several tensors."""
        for name in names:
            self.del_tensor(name)

    def swap_tensors(self, names: Any, values: Any, allow_missing: bool = False) -> list[Any]:
        """Set several tensors, and give those before."""
        return [self.swap_tensor(name, value, allow_missing) for name, value in zip(names, values, strict=True)]

    def swap_tensors_dict(self, named_tensors: dict[str, Any], allow_missing: bool = False) -> tuple[dict[str, Any], list[str]]:
        """Set tensors by name; those before, and the names that were not there."""
        before: dict[str, Any] = {}
        for name, value in named_tensors.items():
            before[name] = self.swap_tensor(name, value, allow_missing=True)
        absent = [name for name, value in before.items() if value is _MISSING]
        if absent and not allow_missing:
            for name, value in before.items():
                self.swap_tensor(name, value, allow_missing=True)
            raise RuntimeError(f"Missing key(s): {', '.join(map(repr, absent))}.")
        return before, absent

    def check_keys(self, keys: Any) -> tuple[list[str], list[str]]:
        """Names of tensors that are missing among these, and names that the Module does not have."""
        given, own = set(keys), {name for name, _ in self.named_tensors(remove_duplicate=False)}
        return sorted(own - given), sorted(given - own)

    def named_parameters(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        """The parameters with their names."""
        yield from self.module.named_parameters(remove_duplicate=remove_duplicate)

    def named_buffers(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        """The buffers with their names."""
        yield from self.module.named_buffers(remove_duplicate=remove_duplicate)

    def named_tensors(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        """Parameters and buffers with their names."""
        yield from self.named_parameters(remove_duplicate)
        yield from self.named_buffers(remove_duplicate)

    def named_modules(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        """The Module and those inside it, with their names."""
        yield from self.module.named_modules(remove_duplicate=remove_duplicate)
