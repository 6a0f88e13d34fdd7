"""Which conditional randomized responses have a compiled step, and what it is.

First-order chains, dense or sparse, with the kernels for 0/1 distance, where time does not matter.
"""

from typing import TYPE_CHECKING

from operators import compiled
from operators.sip.chain import Chain
from operators.sip.hamming_kernel import HammingKernel
from operators.sip.identity_kernel import IdentityKernel
from operators.sip.markov_model import MarkovModel
from operators.sip.proposal import Kernel
from operators.sip.sparse_markov_model import SparseMarkovModel

if TYPE_CHECKING:
    from operators.compiled.crr import CompiledStep


def compiled_step(
    model: Chain,
    kernel: Kernel,
    gain: float,
    growth: float,
    rounding: int | None,
    digests: tuple[bytes, ...],
) -> "CompiledStep | None":
    """None where there is none, or no numba."""
    first_order = type(model) in (MarkovModel, SparseMarkovModel)
    if not first_order or type(kernel) not in (HammingKernel, IdentityKernel):
        return None
    if not compiled.available():
        return None
    from operators.compiled.crr import CompiledChain, CompiledStep

    if isinstance(model, SparseMarkovModel):
        rows = model.rows
        chain = CompiledChain.sparse(rows.sources, rows.columns, rows.kept, rows.restart)
    else:
        assert isinstance(model, MarkovModel)
        chain = CompiledChain.dense(model.transition)
    return CompiledStep(
        chain,
        gain,
        growth,
        isinstance(kernel, IdentityKernel),
        -1 if rounding is None else rounding,
        b"".join(digests),
    )
