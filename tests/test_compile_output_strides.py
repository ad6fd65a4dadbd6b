"""compile: strides of results.  Those that are computed point by point from inputs have the strides of eager mode, in every call."""

import pytest

import rushlight as torch

F = torch.nn.functional
PROGRAMS = {
    "transposed": (lambda x: x.t() + 1, (5, 7)),
    "chain": (lambda x: torch.where(x.mT > 0, F.gelu(x.mT), 0.5).double(), (5, 7)),
    "permuted": (lambda x: x.permute(2, 0, 1) * x.permute(2, 0, 1).sigmoid(), (4, 5, 7)),
    "heads": (lambda x: x.view(2, 6, 3, 4).transpose(1, 2) * 2, (2, 6, 12)),
    "chunk": (lambda x: x.movedim(0, 1).chunk(2, 0)[1].sin(), (5, 8)),
    "operands that disagree": (lambda x: x.t() + torch.arange(35.0).view(7, 5), (5, 7)),
    "broadcast": (lambda x: x.t() + x[:, 0], (5, 7)),
    "row-major again": (lambda x: (x.t() * 2).contiguous(), (5, 7)),
    "gaps": (lambda x: x[:, ::2].exp(), (5, 8)),
    "two results": (lambda x: (x.t() * 2, (x.t() * 2).sum(0)), (5, 8)),
}


@pytest.fixture(autouse=True)
def native_code(caplog):
    """Native code declines none of the programs: they would run as in eager mode."""
    yield
    assert not [each for each in caplog.records if each.levelname == "WARNING"]


def same_as_eager(program, compiled, x):
    expected, found = program(x), compiled(x)
    for one, other in zip(expected if isinstance(expected, tuple) else (expected,), found if isinstance(found, tuple) else (found,)):
        assert torch.allclose(one, other)
        assert one.stride() == other.stride()


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_strides_of_eager_mode(name, dynamic, grad):
    program, shape = PROGRAMS[name]
    compiled = torch.compile(program, dynamic=dynamic)
    for seed in range(3):
        torch.manual_seed(seed)
        same_as_eager(program, compiled, torch.randn(shape, requires_grad=grad))


@pytest.mark.parametrize("grad", [False, True])
def test_channels_last(grad):
    compiled = torch.compile(program := lambda x: F.relu(x) * x.sigmoid())
    for size in (4, 4, 6, 6):
        x = torch.randn(2, 3, size, size).to(memory_format=torch.channels_last).requires_grad_(grad)
        same_as_eager(program, compiled, x)
        same_as_eager(program, compiled, x.detach().contiguous().requires_grad_(grad))


def test_gradients_with_permuted_results():
    def program(x):
        return x.t().sin() * 2

    compiled = torch.compile(program)
    for _ in range(3):
        gradients = []
        for each in (program, compiled):
            x = torch.linspace(0, 1, 12).view(3, 4).requires_grad_()
            each(x).mul(torch.arange(12.0).view(4, 3)).sum().backward()
            gradients.append(x.grad)
        assert torch.allclose(*gradients)


def test_view_of_a_permuted_result():
    """What eager mode views, a compiled program's result allows, and what it refuses is refused."""
    compiled = torch.compile(lambda x: x.t() + 1)
    for _ in range(3):
        found = compiled(torch.ones(5, 7))
        assert found.t().view(35).shape == (35,)
        with pytest.raises(RuntimeError, match="view size is not compatible"):
            found.view(35)


NORMS = {
    "layer_norm": lambda x: F.layer_norm(x, x.shape[-1:]),
    "layer_norm with weight": lambda x: F.layer_norm(x, x.shape[-1:], torch.ones(x.shape[-1]), torch.ones(x.shape[-1])),
    "rms_norm": lambda x: F.rms_norm(x, x.shape[-1:]),
    "batch_norm": lambda x: F.batch_norm(x, None, None, training=True),
    "batch_norm of running statistics": lambda x: F.batch_norm(x, torch.zeros(x.shape[1]), torch.ones(x.shape[1])),
    "instance_norm": F.instance_norm,
    "group_norm": lambda x: F.group_norm(x, 1),
}


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", NORMS)
def test_normalisations_of_transposed_inputs_are_contiguous(name, compiled):
    """As PyTorch's are, so that ``view`` works on them; those of channels last keep that format, but for layer and instance norms."""
    norm = torch.compile(NORMS[name]) if compiled else NORMS[name]
    for x in (torch.randn(2, 4, 3).transpose(1, 2), torch.randn(4, 2, 3).transpose(0, 1), torch.randn(2, 4, 5, 3).permute(0, 3, 2, 1)):
        assert not x.is_contiguous()
        assert norm(x).is_contiguous()
        torch.testing.assert_close(norm(x), NORMS[name](x.contiguous()))
        leaf = x.detach().requires_grad_()
        assert torch.autograd.grad((norm(leaf) ** 3).sum(), leaf)[0].is_contiguous()
    images = torch.randn(2, 3, 4, 4).to(memory_format=torch.channels_last)
    if not compiled:
        assert norm(images).is_contiguous(memory_format=torch.channels_last) is not name.startswith(("layer", "instance"))
