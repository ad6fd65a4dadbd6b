"""Scripted Modules as tools see them: ``module._c``, types that are shared, and freezing of attributes that are written to."""

import io

import pytest

import rushlight as torch
from rushlight import jit, nn
from rushlight.capture.script.module_part import freeze_part


class Counting(nn.Module):
    def __init__(self, width=3):
        super().__init__()
        self.linear = nn.Linear(width, 2)
        self.seen = [0]
        self.scale = 2.0
        self.offset = torch.zeros(4)

    def forward(self, x):
        self.seen.append(1)
        self.offset.view(2, 2)[0] += 1
        return self.linear(x) * self.scale + self.offset[0] + len(self.seen)

    @jit.export
    def twice(self, x):
        return self.forward(x) * 2


def test_attributes_and_methods_by_name():
    part = jit.script(Counting())._c
    assert part.hasattr("linear") and part.hasattr("seen") and part.hasattr("training") and not part.hasattr("forward")
    assert part.getattr("scale") == 2.0
    assert part.getattr("linear").hasattr("weight") and part.linear.hasattr("bias")
    assert part._has_method("twice") and not part._has_method("other")
    assert part._method_names() == ["forward", "twice"]
    assert part.qualified_name.startswith("__torch__.") and part.qualified_name.endswith("Counting")
    with pytest.raises(RuntimeError, match="has no attribute 'missing'"):
        part.getattr("missing")
    with pytest.raises(RuntimeError, match="Method 'other' is not defined"):
        part._get_method("other")
    part.setattr("scale", 3.0)
    assert part.getattr("scale") == 3.0
    assert "method forward" in part.dump_to_str()


def test_types_are_shared_by_modules_that_are_made_alike():
    first, second, wider = jit.script(Counting()), jit.script(Counting()), jit.script(Counting(4))
    assert first._c._type() == second._c._type() and hash(first._c._type()) == hash(second._c._type())
    assert first._c._type() != wider._c._type()
    first.new_attribute = "later"
    assert first._c._type() == second._c._type()
    traced = [jit.trace(nn.ReLU(), torch.ones(2)) for _ in range(2)]
    assert traced[0]._c._type() == traced[0]._c._type() and traced[0]._c._type() != traced[1]._c._type()


def test_frozen_modules_keep_what_they_write_to():
    module = jit.script(Counting().eval())
    frozen = freeze_part(module._c)
    assert frozen.hasattr("seen") and frozen.hasattr("offset")
    assert not frozen.hasattr("linear") and not frozen.hasattr("scale")
    x = torch.ones(1, 3)
    first, second = frozen.forward(x), frozen.forward(x)
    assert torch.allclose(second, first + 2)  # one more was seen, and the offset has grown


def test_frozen_modules_keep_attributes_that_share_memory():
    class Shared(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = torch.tensor([1.0, 2.0])
            self.b = self.a.view(2, 1)

        def forward(self, x):
            self.b[1] += 10
            return self.a.sum() + x

    frozen = freeze_part(jit.script(Shared().eval())._c)
    assert frozen.hasattr("a") and frozen.hasattr("b")
    assert [float(frozen.forward(torch.zeros(()))) for _ in range(2)] == [13.0, 23.0]


def test_writes_of_methods_that_are_not_kept_do_not_count():
    class Lists(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = {"a": "1"}

        def forward(self, x):
            return self.table

        @jit.export
        def write(self, x):
            self.table["a"] = self.table["a"] + "2"
            return self.table

    module = jit.script(Lists().eval())
    frozen = freeze_part(module._c)
    module.write(torch.ones(1))
    assert not frozen.hasattr("table") and frozen.forward(torch.ones(1)) == {"a": "1"}
    kept = jit.freeze(module, ["write"])
    assert kept._c.hasattr("table") and kept.write(torch.ones(1)) == {"a": "122"}


def test_only_exported_methods():
    class Exported(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(2, 1)

        @jit.export
        def run(self, x):
            return self.linear(x)

    module = jit.script(Exported().eval())
    x = torch.ones(2)
    assert torch.equal(jit.freeze(module, ["run"]).run(x), module.run(x))


def test_parts_are_saved_and_put_in_place():
    module = jit.script(Counting().eval())
    expected = module(torch.ones(1, 3))
    module = jit.script(Counting().eval())
    frozen = freeze_part(module._c)
    stream = io.BytesIO()
    jit.save(frozen, stream)
    stream.seek(0)
    assert jit.load(stream)(torch.ones(1, 3)).shape == expected.shape
    module._c = frozen
    assert not module._c.hasattr("scale") and module(torch.ones(1, 3)).shape == expected.shape
    with pytest.raises(TypeError, match="part of a scripted Module"):
        module._c = 3


def test_sparse_attributes_are_frozen():
    class Sparse(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.eye(2).to_sparse()

        def forward(self, x):
            return torch.sparse.mm(self.table, x) + x

    frozen = jit.freeze(jit.script(Sparse().eval()))
    assert torch.equal(frozen(torch.ones(2, 2)), torch.full((2, 2), 2.0))


def test_types_of_layers_that_give_several_tensors():
    class Pooled(nn.Module):
        def __init__(self):
            super().__init__()
            self.pool = nn.MaxPool1d(2, return_indices=True)
            self.linear = nn.Linear(2, 2)

        def forward(self, x):
            return self.pool(self.linear(x))

    calls = jit.script(Pooled()).graph.findAllNodes("prim::CallMethod")
    assert [str(each.output().type()) for each in calls] == ["Tensor", "Any"]
