"""Which variables of a frame are live: what a capture that begins there has to guard."""

from __future__ import annotations

from ..vm.frame import Frame


def live_slots(frame: Frame) -> set[int]:
    """The live variables of a frame: those that may be read before they are set."""
    cached = frame.bytecode.live.get(frame.index)
    if cached is not None:
        return cached  # type: ignore[no-any-return]
    instructions = frame.bytecode.instructions
    handlers = frame.bytecode.handler_at
    live: set[int] = set()
    work: list[tuple[int, frozenset[int]]] = [(frame.index, frozenset())]
    visits: dict[int, frozenset[int]] = {}
    while work:
        index, stored = work.pop()
        known = visits.get(index)
        if known is not None:
            if known <= stored:
                continue
            stored = known & stored
        visits[index] = stored
        if index >= len(instructions):
            continue
        instruction = instructions[index]
        op, argument = instruction.op, instruction.argument
        if (
            op in ("load_local", "load_local_and_clear", "load_deref", "make_cell", "delete_local", "delete_deref", "store_deref")
            and argument not in stored
        ):
            live.add(argument)
        if op in ("store_local", "load_local_and_clear"):
            stored = stored | {argument}
        handler = handlers[index]
        if handler is not None:
            work.append((handler.target, stored))
        if op in ("return_value", "raise", "reraise"):
            continue
        if op == "jump":
            work.append((argument, stored))
            continue
        if op.startswith("jump_if") or op in ("for_iter", "send"):
            work.append((argument, stored))
        work.append((index + 1, stored))
    frame.bytecode.live[frame.index] = live
    return live
