"""``torch.export.unflatten``: trees of Modules, their state, and programs in file objects."""

from __future__ import annotations

import io

import rushlight as torch
import rushlight.export
from rushlight import nn


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x):
        self.calls.add_(1)
        return x + self.calls


class Around(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Counter()

    def forward(self, x):
        return self.inner(x + self.inner.calls) * 2


class Twice(nn.Module):
    """Calls a Module inside of another, and reads its buffer, before and after the other one does."""

    def __init__(self):
        super().__init__()
        self.around = Around()

    def forward(self, x):
        x = self.around.inner(x + self.around.inner.calls)
        x = self.around(x)
        x = self.around.inner(x) + self.around.inner.calls
        return self.around(x)


def test_a_tree_of_modules_called_at_several_depths_has_its_own_state():
    expected = Twice()(torch.ones(1))
    program = torch.export.export(Twice(), (torch.ones(1),))
    module, tree = program.module(), torch.export.unflatten(program)
    assert torch.equal(module(torch.ones(1)), expected) and torch.equal(tree(torch.ones(1)), expected)
    assert program.state_dict["around.inner.calls"].item() == 4  # of the Module, and not of the tree as well
    assert tree.around.inner.calls.item() == 4


def test_a_file_object_is_ready_to_be_read_after_saving():
    file = io.BytesIO()
    torch.export.save(torch.export.export(Counter(), (torch.ones(2),)), file)
    assert file.tell() == 0 and torch.export.load(file).module()(torch.ones(2)).tolist() == [2, 2]
