"""Forward hooks of scripted Modules: they are scripts too, and are saved with the Module."""

from __future__ import annotations

import inspect
from typing import Any

from .frontend.errors import ScriptError
from .frontend.types import NONE, TupleType, Type, assignable
from .run.program import ScriptProgram
from .script_function import RecursiveCompiler

TABLES = {"pre": "_forward_pre_hooks", "post": "_forward_hooks"}


class ScriptHook:
    """A hook as a script: its program, with the Module as ``self``."""

    def __init__(self, program: ScriptProgram, name: str) -> None:
        self._program = program
        self.__name__ = name

    def __call__(self, module: Any, *args: Any) -> Any:
        return self._program.call(module, args, {})

    def __deepcopy__(self, memo: Any) -> ScriptHook:
        return self


def has_hooks(module: Any) -> bool:
    """Whether there are hooks to script."""
    return any(module.__dict__.get(table) for table in TABLES.values())


def script_hooks(made: Any, module: Any, name: str) -> None:
    """Put the scripted forms of a Module's forward hooks into the Module that was made of it."""
    for when, table in TABLES.items():
        hooks = module.__dict__.get(table)
        if not hooks:
            continue
        marked = {*module.__dict__.get("_forward_hooks_with_kwargs", ()), *module.__dict__.get("_forward_pre_hooks_with_kwargs", ())}
        made.__dict__[table] = type(hooks)(hooks)
        output: Type | None = None  # what the hook before returns
        known: dict[str, Any] = {}
        for number, hook in hooks.items():
            if inspect.isfunction(hook) and number not in marked:
                _check_name(hook, known.setdefault(hook.__name__, hook), made, name, when)
                done = made.__dict__[table][number] = _scripted(hook, made, name, when, output)
                if when != "pre" and done._program.signature.result != NONE:
                    output = done._program.signature.result


def _check_name(hook: Any, known: Any, made: Any, owner: str, when: str) -> None:
    """Refuse a hook that has the name of a method, or of another hook."""
    if hook.__code__ is not known.__code__:
        kind = "Pre-hook" if when == "pre" else "Hook"
        raise RuntimeError(
            f"{kind} '{hook.__name__}' on {owner} has at least two different python definitions. Please use unique names for all hooks."
        )
    if hook.__name__ in made.__dict__["_script_programs"]:
        raise RuntimeError(f"Can't define hook: {hook.__name__} on class: {owner} because a method or hook with that name already exists.")


def _scripted(hook: Any, made: Any, owner: str, when: str, output: Type | None) -> ScriptHook:
    kind = "Pre-hook" if when == "pre" else "Hook"
    title = f"{kind} '{hook.__name__}' on module '{owner}'"
    try:
        compiler = RecursiveCompiler(hook, made)
        if when == "pre" and compiler.source.definition.returns is None and compiler.source.definition.type_comment is None:
            raise ScriptError(f"{title} is missing a return annotation. Return annotations are required, please add one.")
        program = ScriptProgram(*compiler.compile())
        _check(title, program, made, when, output)
    except ScriptError as error:
        what = "forward pre-hook" if when == "pre" else "hook"
        error.add_note(
            f"This error occurred while scripting the {what} '{hook.__name__}' on module '{owner}'. If you did not want to script it, "
            "remove it from the original Module before scripting"
        )
        raise
    return ScriptHook(program, hook.__name__)


def _check(title: str, program: ScriptProgram, made: Any, when: str, output: Type | None = None) -> None:
    """Refuse a hook that does not take what ``forward`` takes (and returns), or returns something else."""
    parameters, result = program.signature.parameters, program.signature.result
    count = 1 if when == "pre" else 2
    if len(parameters) != count:
        raise ScriptError(f"{title} was expected to only have exactly {count + 1} inputs but it had {len(parameters) + 1} inputs")
    given = parameters[0].type
    if not isinstance(given, TupleType):
        raise ScriptError(f"{title} expected the input argument to be typed as a Tuple but found type: '{given}' instead.")
    forward = made.__dict__["_script_programs"].get("forward")
    if forward is None:
        return
    wanted = [each.type for each in forward.signature.parameters]
    if len(given.elements) != len(wanted):
        raise ScriptError(f"{title} has the wrong number of contained types for the input argument's Tuple. Received type: '{given}'")
    if not all(map(assignable, wanted, given.elements)):
        raise ScriptError(f"{title} has the wrong inner types for the input tuple argument. Received type: '{given}'")
    if when == "pre":
        parts = result.elements if isinstance(result, TupleType) else (result,)
        if result != NONE and (len(parts) != len(wanted) or not all(map(assignable, parts, wanted))):
            nested = len(wanted) == 1 and isinstance(wanted[0], TupleType)
            more = (
                ". When forward has a single tuple input argument, the return needs to be 'None' or a nested tuple containing forward's input tuple "
                f"argument as in: 'Tuple[{wanted[0]}]'"
            )
            raise ScriptError(f"{title} returned the wrong type of: '{result}'{more if nested else ''}")
        return
    output = output or forward.signature.result
    if not assignable(output, parameters[1].type):
        raise ScriptError(
            f"{title} has the wrong type for the output argument. Received type: '{parameters[1].type}'. Expected type: '{output}'"
        )
