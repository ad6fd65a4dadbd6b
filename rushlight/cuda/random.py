"""Names of ``torch.cuda`` in the module where PyTorch has them."""

from __future__ import annotations

from .. import cuda
from ..core.missing import missing

globals().update(
    {
        name: getattr(cuda, name)
        for name in "get_rng_state get_rng_state_all set_rng_state set_rng_state_all manual_seed manual_seed_all seed seed_all initial_seed".split()
    }
)
__getattr__ = missing(__name__)
