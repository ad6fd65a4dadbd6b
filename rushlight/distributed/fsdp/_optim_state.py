"""States of optimizers of sharded modules: by the names of parameters, whole or in parts, and back to what an optimizer takes."""

from __future__ import annotations

import copy
from typing import Any

from ...autograd import no_grad
from ...core.process_group import world
from ..tensor._api import DTensor
from .api import OptimStateKeyType, StateDictType

FSDP_WRAPPED_MODULE = "_fsdp_wrapped_module"


def plain_name(name: str) -> str:
    """A name without those of wrappers."""
    return name.replace(f"{FSDP_WRAPPED_MODULE}.", "")


def part_of(value: Any, parameter: Any) -> Any:
    """What a sharded parameter keeps of a value of its shape: a DTensor with its placements; other values stay as they are."""
    if not isinstance(parameter, DTensor) or not hasattr(value, "shape") or isinstance(value, DTensor):
        return value
    if tuple(value.shape) == tuple(parameter.shape):
        spec = parameter._spec
        whole = DTensor.from_local(value.detach(), spec.mesh, shape=value.shape)
        return whole.redistribute(placements=spec.placements)
    return value


def _own_part(value: Any, parameter: Any) -> Any:
    """A part with memory of its own: steps write to it, and not to the state that was given."""
    part = part_of(value, parameter)
    return part if part is value else part.clone()


def _named(model: Any) -> dict[str, Any]:
    """Parameters by their names without the wrappers."""
    return {plain_name(name): each for name, each in model.named_parameters()}


def _trained(model: Any, optim_input: Any, optim: Any) -> list[Any]:
    """The parameters of an optimizer in the order of their numbers: of the optimizer, or of what it was made with."""
    if optim is not None:
        return [each for group in optim.param_groups for each in group["params"]]
    given = list(optim_input) if optim_input is not None else list(model.parameters())
    return [each for group in given for each in (group["params"] if isinstance(group, dict) else (group,))]


def _by_name(model: Any, optim: Any, state: dict[str, Any], full: bool, keeps: bool) -> dict[str, Any]:
    """A state of an optimizer by names in alphabetical order: its DTensors whole or as they are.  All processes gather, those that keep nothing too."""
    names = {id(each): name for name, each in _named(model).items()}
    order = [names[id(each)] for each in _trained(model, None, optim)]

    def shown(value: Any) -> Any:
        return value.full_tensor() if full and isinstance(value, DTensor) else value

    with no_grad():
        held = {name if isinstance(name, str) else order[name]: values for name, values in state["state"].items()}
        found = {name: {key: shown(value) for key, value in held[name].items()} for name in sorted(held)}
    if not keeps:
        return {}
    groups = [
        {**one, "params": [each if isinstance(each, str) else order[each] for each in one["params"]]} for one in state["param_groups"]
    ]
    return {"state": found, "param_groups": groups}


def _to_load(model: Any, optim_input: Any, optim: Any, state: dict[str, Any], by_name: bool = False) -> dict[str, Any]:
    """A state by names as an optimizer takes it: by numbers, of whole tensors this process's part."""
    parameters = _named(model)
    numbers = {id(each): at for at, each in enumerate(_trained(model, optim_input, optim))}

    def key_of(name: Any) -> Any:
        return name if by_name or name not in parameters else numbers[id(parameters[name])]

    found = {}
    for name, held in state["state"].items():
        found[key_of(name)] = {key: _own_part(value, parameters.get(name)) for key, value in held.items()}
    made: dict[str, Any] = {"state": found}
    if "param_groups" in state:
        made["param_groups"] = [{**one, "params": [key_of(name) for name in one["params"]]} for one in state["param_groups"]]
    return made


class OptimStateMethods:
    """The methods of ``FullyShardedDataParallel`` for the states of optimizers."""

    @staticmethod
    def optim_state_dict(model: Any, optim: Any, optim_state_dict: Any = None, group: Any = None) -> dict[str, Any]:
        """The state of an optimizer by the names of parameters: whole tensors or DTensors, as the settings say."""
        settings = OptimStateMethods._settings_of(model)
        full = settings.state_dict_type is StateDictType.FULL_STATE_DICT
        keeps = not getattr(settings.optim_state_dict_config, "rank0_only", False) or world.collectives.get_rank(group) == 0
        return _by_name(model, optim, optim_state_dict or optim.state_dict(), full, keeps)

    @staticmethod
    def _settings_of(model: Any) -> Any:
        return next(each._settings for each in model.modules() if isinstance(each, OptimStateMethods))  # type: ignore[attr-defined]

    @staticmethod
    def optim_state_dict_to_load(
        model: Any, optim: Any, optim_state_dict: dict[str, Any], is_named_optimizer: bool = False, load_directly: bool = False,
        group: Any = None,
    ) -> dict[str, Any]:  # fmt: skip
        """A state by names as the optimizer takes it: of whole tensors each process keeps its part."""
        settings = OptimStateMethods._settings_of(model)
        if getattr(settings.optim_state_dict_config, "rank0_only", False):
            optim_state_dict = _of_first(optim_state_dict, group)
        made = _to_load(model, None, optim, optim_state_dict, is_named_optimizer)
        if load_directly:
            optim.load_state_dict(made)
        return made

    @staticmethod
    def full_optim_state_dict(
        model: Any, optim: Any, optim_input: Any = None, rank0_only: bool = True, group: Any = None
    ) -> dict[str, Any]:
        """The state of an optimizer by names, of whole tensors; empty on other processes than the first, unless ``rank0_only`` is False."""
        return _by_name(model, optim, optim.state_dict(), True, not rank0_only or world.collectives.get_rank(group) == 0)

    @staticmethod
    def sharded_optim_state_dict(model: Any, optim: Any, group: Any = None) -> dict[str, Any]:
        """The state of an optimizer by names, of DTensors."""
        return _by_name(model, optim, optim.state_dict(), False, True)

    @staticmethod
    def shard_full_optim_state_dict(
        full_optim_state_dict: dict[str, Any], model: Any, optim_input: Any = None, optim: Any = None
    ) -> dict[str, Any]:
        """What an optimizer takes of a state of whole tensors that each process has."""
        return _to_load(model, optim_input, optim, full_optim_state_dict)

    @staticmethod
    def flatten_sharded_optim_state_dict(sharded_optim_state_dict: dict[str, Any], model: Any, optim: Any) -> dict[str, Any]:
        """What an optimizer takes of a state of DTensors."""
        return _to_load(model, None, optim, sharded_optim_state_dict)

    @staticmethod
    def scatter_full_optim_state_dict(
        full_optim_state_dict: dict[str, Any] | None, model: Any, optim_input: Any = None, optim: Any = None, group: Any = None
    ) -> dict[str, Any]:
        """What an optimizer takes of a state of whole tensors that the first process has."""
        return _to_load(model, optim_input, optim, _of_first(full_optim_state_dict, group))

    @staticmethod
    def rekey_optim_state_dict(
        optim_state_dict: dict[str, Any], optim_state_key_type: OptimStateKeyType, model: Any, optim_input: Any = None, optim: Any = None
    ) -> dict[str, Any]:
        """The state of an optimizer by the names of parameters, or by their numbers."""
        held = optim_state_dict["state"]
        kinds = {type(key) for key in held}
        if len(kinds) > 1:
            raise ValueError(f"Invalid parameter keys: {held.keys()}")
        wanted = str if optim_state_key_type is OptimStateKeyType.PARAM_NAME else int
        if kinds <= {wanted}:
            return optim_state_dict
        trained = _trained(model, optim_input, optim)
        names = {id(each): name for name, each in _named(model).items()}
        keys: dict[Any, Any] = {at: names[id(each)] for at, each in enumerate(trained)}
        if wanted is int:
            keys = {name: at for at, name in keys.items()}
        groups = copy.deepcopy(optim_state_dict["param_groups"])
        for each in groups:
            each["params"] = sorted(keys[key] for key in each["params"])
        return {"state": {keys[key]: value for key, value in held.items()}, "param_groups": groups}


def _of_first(state: dict[str, Any] | None, group: Any) -> Any:
    """A state that the first process has, on all."""
    held = [state if world.collectives.get_rank(group) == 0 else None]
    world.collectives.broadcast_object_list(
        held, src=0 if group is None else world.collectives.get_process_group_ranks(group)[0], group=group
    )
    return held[0]
