"""Which releases of one symbol at a time have compiled code.

A law has it for 0/1 distance, and a whole step for first-order chains where time does not matter.
"""

from fugu.operators import compiled
from fugu.operators.sip.chain import Chain
from fugu.operators.sip.hamming_kernel import HammingKernel
from fugu.operators.sip.identity_kernel import IdentityKernel
from fugu.operators.sip.markov_model import MarkovModel
from fugu.operators.sip.proposal import Kernel
from fugu.operators.sip.sparse_markov_model import SparseMarkovModel


def has_compiled_law(kernel: Kernel) -> bool:
    """Return whether laws from the proposals of a kernel are compiled, whatever the chain is."""
    return type(kernel) in (HammingKernel, IdentityKernel) and compiled.available()


def has_compiled_prediction(model: Chain) -> bool:
    """Return whether the predictions of a chain are compiled."""
    return type(model) in (MarkovModel, SparseMarkovModel) and compiled.available()
