"""States of a model and its optimizers by full names, without the wrappers of parallel training."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ...autograd import no_grad
from ...core.process_group import world
from ...ops.create.factories import zeros_like
from ...tensor import Tensor
from ..fsdp._optim_state import part_of
from ..fsdp.fully_sharded_data_parallel import load_parts
from ..tensor._api import DTensor

__all__ = ["StateDictOptions", "get_model_state_dict", "get_optimizer_state_dict", "get_state_dict", "set_model_state_dict",
           "set_optimizer_state_dict", "set_state_dict"]  # fmt: skip


@dataclass
class StateDictOptions:
    """What a state holds."""

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"


def _plain(name: str) -> str:
    """A name without the wrappers that parallel training and compilation put around modules."""
    return ".".join(
        part for part in name.split(".") if part not in ("_orig_mod", "_checkpoint_wrapped_module", "_fsdp_wrapped_module")
    ).removeprefix("module.")


def _given(value: Any, options: StateDictOptions) -> Any:
    """A value of a state as options want it: whole, in the memory of the CPU."""
    if isinstance(value, dict):
        return {key: _given(each, options) for key, each in value.items()}
    if options.full_state_dict and isinstance(value, DTensor):
        with no_grad():
            value = value.detach().full_tensor()
    if not options.cpu_offload or not isinstance(value, Tensor) or isinstance(value, DTensor):
        return value
    value = value.detach()
    return value.clone() if value.device.type == "cpu" else value.cpu()  # training goes on while it is kept


def _only_first(state: dict[str, Any], options: StateDictOptions) -> dict[str, Any]:
    """A whole state that is kept in the memory of the CPU is that of the first process; others have none."""
    alone = options.full_state_dict and options.cpu_offload and world.default is not None and world.collectives.get_rank() != 0
    return {} if alone else state


def _sent(state: dict[str, Any]) -> dict[str, Any]:
    """A whole state of the first process, on all."""
    held = [state]
    world.collectives.broadcast_object_list(held, src=0)
    return held[0]


def get_model_state_dict(model: Any, *, submodules: Any = None, options: StateDictOptions | None = None) -> dict[str, Any]:
    """The state of a model: DTensors where parameters are, or whole tensors; of some of its modules only, where they are given."""
    chosen = options or StateDictOptions()
    frozen = {name for name, each in model.named_parameters() if not each.requires_grad} if chosen.ignore_frozen_params else set()
    found = {_plain(name): _given(value, chosen) for name, value in model.state_dict().items() if name not in frozen}
    if submodules:
        prefixes = [f"{_plain(name)}." for name, each in model.named_modules() if each in submodules]
        kept = {name: next((each for each in prefixes if name.startswith(each)), None) for name in found}
        found = {
            name if chosen.keep_submodule_prefixes else name.removeprefix(prefix): found[name]
            for name, prefix in kept.items()
            if prefix is not None
        }
    return _only_first(found, chosen)


def set_model_state_dict(model: Any, model_state_dict: dict[str, Any], *, options: StateDictOptions | None = None) -> Any:
    """Put a state into a model: of whole tensors, a model in parts keeps its parts."""
    chosen = options or StateDictOptions()
    if chosen.broadcast_from_rank0 and world.default is not None:
        model_state_dict = _sent(model_state_dict)
    names = {_plain(name): name for name in model.state_dict()}
    return load_parts(model, {names.get(name, name): value for name, value in model_state_dict.items()}, chosen.strict)


def _parameters(model: Any) -> dict[int, str]:
    return {id(each): _plain(name) for name, each in model.named_parameters()}


def _init_optim_state(optimizer: Any) -> None:
    """Let an optimizer that has not stepped make its state, as a step of no length does: what is loaded needs tensors to be put into."""
    parameters = [each for group in optimizer.param_groups for each in group["params"]]
    if optimizer.state or any(each.grad is not None for each in parameters):
        return
    rates = [group.get("lr") for group in optimizer.param_groups]
    for each in parameters:
        if each.requires_grad:
            each.grad = zeros_like(each)
    for group, rate in zip(optimizer.param_groups, rates):
        if rate is not None:
            group["lr"] = zeros_like(rate) if isinstance(rate, Tensor) else 0.0
    optimizer.step(closure=None)
    for group, rate in zip(optimizer.param_groups, rates):
        if rate is not None:
            group["lr"] = rate
    optimizer.zero_grad(set_to_none=True)


def _flattened(found: dict[str, Any]) -> dict[str, Any]:
    """The state of an optimizer with one name for each value: ``state.layer.weight.exp_avg``, ``param_groups.layer.weight.lr``."""
    flat = {f"state.{name}.{key}": value for name, values in found["state"].items() for key, value in values.items()}
    for group in found["param_groups"]:
        flat.update({f"param_groups.{name}.{key}": value for name in group["params"] for key, value in group.items() if key != "params"})
    return flat


def _unflattened(flat: dict[str, Any], optimizers: Sequence[Any], names: dict[int, str]) -> dict[str, Any]:
    """The state of optimizers from one with a name for each value."""
    state: dict[str, Any] = {}
    groups = []
    for group in (group for optimizer in optimizers for group in optimizer.param_groups):
        members = [names[id(each)] for each in group["params"]]
        for name in members:
            start = f"state.{name}."
            held = {key.removeprefix(start): value for key, value in flat.items() if key.startswith(start)}
            if held:
                state[name] = held
        groups.append(
            {
                "params": members,
                **{key: flat.get(f"param_groups.{members[0]}.{key}", value) for key, value in group.items() if key != "params"},
            }
        )
    return {"state": state, "param_groups": groups}


def _listed(optimizers: Any) -> list[Any]:
    return list(optimizers) if isinstance(optimizers, Iterable) else [optimizers]


def get_optimizer_state_dict(
    model: Any, optimizers: Any, *, submodules: Any = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """The states of optimizers, by the names of parameters."""
    chosen = options or StateDictOptions()
    names, state, groups = _parameters(model), {}, []
    for optimizer in _listed(optimizers):
        _init_optim_state(optimizer)
        for group in optimizer.param_groups:
            rest = {key: value for key, value in group.items() if key != "params"}
            groups.append({**rest, "params": [names[id(each)] for each in group["params"]]})
            state.update({names[id(each)]: _given(optimizer.state[each], chosen) for each in group["params"] if each in optimizer.state})
    found = {"state": state, "param_groups": groups}
    return _only_first(_flattened(found) if chosen.flatten_optimizer_state_dict else found, chosen)


def set_optimizer_state_dict(
    model: Any, optimizers: Any, optim_state_dict: dict[str, Any], *, options: StateDictOptions | None = None
) -> None:
    """Put states into optimizers."""
    names, parameters = _parameters(model), {_plain(name): each for name, each in model.named_parameters()}
    if (options or StateDictOptions()).broadcast_from_rank0 and world.default is not None:
        optim_state_dict = _sent(optim_state_dict)
    if optim_state_dict and "param_groups" not in optim_state_dict:
        optim_state_dict = _unflattened(optim_state_dict, _listed(optimizers), names)
    for optimizer in _listed(optimizers):
        numbers = {names[id(each)]: at for at, each in enumerate(one for group in optimizer.param_groups for one in group["params"])}
        groups = [
            {**group, "params": [numbers[name] for name in group["params"]]}
            for group in optim_state_dict["param_groups"] if any(name in numbers for name in group["params"])
        ]  # fmt: skip
        state = {
            numbers[name]: {key: _own(part_of(each, parameters[name]), each) for key, each in value.items()}
            for name, value in optim_state_dict["state"].items() if name in numbers
        }  # fmt: skip
        optimizer.load_state_dict({"state": state, "param_groups": groups})


def _own(part: Any, given: Any) -> Any:
    """A part of a value of a state, or a number of steps, with memory of its own: steps write to it, and not to the state that was given."""
    return part.clone() if isinstance(part, Tensor) and (part is not given or not part.dim()) else part


def get_state_dict(model: Any, optimizers: Any, *, submodules: Any = None, options: StateDictOptions | None = None) -> tuple[Any, Any]:
    """The states of a model and of its optimizers."""
    return get_model_state_dict(model, submodules=submodules, options=options), get_optimizer_state_dict(model, optimizers, options=options)


def set_state_dict(
    model: Any,
    optimizers: Any,
    *,
    model_state_dict: dict[str, Any],
    optim_state_dict: dict[str, Any],
    options: StateDictOptions | None = None,
) -> Any:
    """Put states into a model and its optimizers."""
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return set_model_state_dict(model, model_state_dict, options=options)
