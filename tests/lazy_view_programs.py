"""Programs with conjugate and negative views; what they show in PyTorch is recorded (``tests/record/lazy_views.py``)."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import numpy as np

PROGRAMS = """
z=Z(); c=z.conj(); r=[c, z.is_conj(), c.is_conj(), c.data_ptr()==z.data_ptr(), c._base is z, c._is_view()]
z=Z(); r=[z.real.conj(), z.real.conj() is z.real]; x=z.real; r.append(x.conj() is x); r.append(torch.ones(2).conj().is_conj())
z=Z(); c=z.conj(); c[0,0]=9+9j; r=[z,c]
z=Z(); c=z.conj(); c.mul_(1j); r=[z,c]
z=Z(); c=z.conj(); c.imag.add_(100); r=[z,c,c.imag]
z=Z(); c=z.conj(); c.imag.fill_(5); r=[z,c,c.imag]
z=Z(); c=z.conj(); c.real.fill_(5); r=[z,c,c.real]
z=Z(); c=z.conj(); i=c.imag; r=[i.is_neg(), i, i+1, i.resolve_neg(), i.clone(), i.abs(), i.neg(), torch._neg_view(i)]
z=Z(); r=[z.conj().conj(), z.conj().T, z.mH, z.H, z.adjoint(), z.conj()[0], z.conj()[:,1], z.conj().reshape(4), z.conj().t().reshape(4)]
z=Z(); r=[z.conj().clone(), z.conj().contiguous(), z.conj().t().contiguous(), z.conj().resolve_conj(), z.resolve_conj() is z, z.conj().to(torch.complex128), z.conj().detach(), z.conj().data]
z=Z(); r=[z.conj_physical(), z.conj().conj_physical(), torch.conj_physical(z.conj())]
z=Z(); c=z.conj(); c.conj_physical_(); r=[z,c]
z=Z(); r=[z.conj()@z, z@z.conj(), z.conj()@z.mH, (z.conj()*z.conj()), z.conj()+1, 2*z.conj(), z.conj()==z, -z.conj(), torch.neg(z.conj())]
z=Z(); r=[torch.view_as_real(z.conj())]
z=Z(); r=[z.conj().view(torch.float32)]
z=Z(); r=[z.conj().numpy()]
z=Z(); r=[np.asarray(z.conj())]
z=Z(); r=[z.conj().imag.numpy()]
z=Z(); r=[z.conj().numpy(force=True).tolist(), z.conj().imag.numpy(force=True).tolist()]
z=Z(); r=[z.conj().tolist(), z.conj()[0,0].item(), str(z.conj()), repr(z.conj().imag), complex(z.conj()[0,0])]
z=Z(); r=[torch.stack([z.conj(),z]), torch.cat([z.conj(),z.conj()]), z.conj().sum(), z.conj().sum(0), z.conj().mean(), z.conj().abs(), z.conj().angle(), z.conj().exp(), z.conj().real, z.conj().real.is_neg()]
z=Z().requires_grad_(); y=z.conj(); r=[y.grad_fn.name(), y.requires_grad]; (y*torch.tensor(2+1j)).sum().abs().backward(); r.append(z.grad.resolve_conj())
z=Z().requires_grad_(); y=(z*1).conj(); y.mul_(2j); y.sum().abs().backward(); r=[z.grad]
z=Z().requires_grad_(); y=z*1; y.conj().imag.mul_(3); y.abs().sum().backward(); r=[z.grad]
z=Z().requires_grad_(); y=z.conj(); y.sum().backward(torch.tensor(1+2j)); r=[z.grad]
z=Z(); c=z.conj(); v=c._version; z.add_(1); r=[c._version-v, c]
z=Z(); f=io.BytesIO(); torch.save(z.conj(),f); f.seek(0); r=[torch.load(f)]
z=Z(); r=[pickle.loads(pickle.dumps(z.conj().imag))]
z=Z(); c=z.conj(); c.copy_(z); r=[z,c]
z=Z(); c=torch.empty(2,2,dtype=torch.complex64).conj(); torch.add(z,1,out=c); r=[c]
z=Z(); r=[torch.zeros_like(z.conj()), torch.empty_like(z.conj()).is_conj(), z.conj().new_ones(2), torch.ones_like(z.conj().imag)]
z=Z(); r=[torch.equal(z.conj(), z.conj_physical()), torch.allclose(z.conj(), z.conj_physical())]
z=Z(); r=list(z.conj().unbind())+list(z.conj().split(1))+list(torch.chunk(z.conj(),2,1))
z=Z(); c=z.conj(); c.zero_(); r=[z,c]
z=Z(); c=z.conj(); c.fill_(1j); r=[z,c]
z=Z(); c=z.conj(); c.t_(); r=[c,z]
z=Z(); c=z.conj(); c[c.abs()>5]=0; r=[z,c]
z=Z(); c=z.conj(); r=[c[torch.tensor([1,0])], c[c.abs()>5], c.gather(0,torch.tensor([[0,1]])), c.index_select(0,torch.tensor([1])), c.masked_fill(c.abs()>5,0), c.where(c.abs()>5,torch.tensor(0j))]
z=Z(); c=z.conj(); c.index_put_((torch.tensor([0]),),torch.tensor(1j)); r=[z]
z=Z(); r=[torch.view_as_complex(torch.view_as_real(z)[...,:].neg()), z.untyped_storage().data_ptr()==z.conj().untyped_storage().data_ptr(), z.conj().storage_offset(), z[1].conj().storage_offset()]
z=Z(); n=torch._neg_view(z.real); n.add_(1); r=[n,z]
n=torch._neg_view(torch.ones(2,2)); r=[n, n.is_neg(), n@n, n.numpy]; r=r[:3]
n=torch._neg_view(torch.ones(2,2)); r=[torch.view_as_complex(n)]
z=Z(); r=[z.imag.is_neg(), z.conj().imag.conj() , z.conj().imag.T, z.conj().imag[0]]
z=Z(); r=[torch.linalg.inv(z.conj()).shape, torch.fft.fft(z.conj()), z.conj().cumsum(0), torch.einsum("ij,kj->ik",z,z.conj()), torch.vdot(z[0],z[1]), torch.dot(z[0].conj(),z[1]), torch.linalg.norm(z.conj())]
z=Z(); x=z.conj().imag; y=x.to(torch.float64); r=[y, x.to(torch.float32) is x, x.float() is x, x.double()]
z=Z(); r=[torch.is_conj(z.conj()), torch.is_neg(z.conj().imag), torch.resolve_neg(z.conj().imag), torch.resolve_conj(z.conj())]
z=Z(); c=z.conj(); c+=1j; r=[c,z]
z=Z(); c=z.conj(); c.real=torch.zeros(2,2); c.imag=torch.ones(2,2); r=[c,z]
z=Z(); c=z.conj(); c.requires_grad_(); r=[c.is_leaf, c.requires_grad]; (c*c).sum().abs().backward(); r.append(c.grad)
z=Z(); c=z.conj(); c.squeeze_(); c.unsqueeze_(0); r=[c, c.expand(3,2,2)[2], c.flatten(), c.view(4)]
z=Z(); r=[hash(z.conj()) is not None, len(z.conj()), [show(t) for t in z.conj()]]
z=Z(); r=[z.conj().share_memory_().is_conj(), z.conj().cpu().is_conj(), z.conj().type(torch.complex128)]
z=Z(); a=np.array([1+1j]); r=[torch.from_numpy(a).conj()*1]
z=Z(); z.conj().__dlpack__(); r=[]
z=torch.tensor([1+2j]); p=torch.nn.Parameter(z.conj()); r=[p, p.is_conj()]
z=Z(); r=[torch.real(z.conj()), torch.imag(z.conj()), torch.sgn(z.conj()), torch.polar(torch.ones(2),torch.ones(2)).conj().angle()]
z=Z(); r=[torch.complex(z.conj().real, z.conj().imag), torch.isreal(z.conj()), torch.isfinite(z.conj()), torch.pow(z.conj(),2), z.conj()**2, 1/z.conj()]
""".strip().split("\n")


def show(t: Any, value: Any) -> str:
    """A value as text: of a tensor the marks, sizes, strides, type and elements."""
    if not isinstance(value, t.Tensor):
        return repr(value)
    marks = "conj " * value.is_conj() + "neg " * value.is_neg()
    plain = value.resolve_conj().resolve_neg().detach().numpy()
    plain = np.array([f"{each:.3g}" for each in plain.reshape(-1)]).reshape(plain.shape)
    return f"{marks}{tuple(value.shape)} {tuple(value.stride())} {str(value.dtype)[6:]} {plain.tolist()}"


def outcome(t: Any, program: str) -> str:
    """What a program leaves in ``r``, or the error that ends it."""
    names = {"torch": t, "Z": lambda: t.tensor([[1 + 2j, 3 - 4j], [5 + 6j, -7 + 8j]]), "copy": copy, "io": io, "pickle": pickle, "np": np}
    names["show"] = lambda value: show(t, value)
    try:
        exec(program, names)
    except (RuntimeError, BufferError) as error:
        return f"!! {str(error).splitlines()[0]}"
    return "; ".join(show(t, value) for value in names["r"])
