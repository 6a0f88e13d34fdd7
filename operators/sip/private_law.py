"""The integer law of any proposal: of one that stays or fills, or of one with rows of its own."""

from typing import cast

from fugu.operators import compiled
from fugu.operators.mechanism import Floats
from fugu.operators.sip.chain import Chain
from fugu.operators.sip.hamming_kernel import HammingKernel
from fugu.operators.sip.identity_kernel import IdentityKernel
from fugu.operators.sip.integer_law import IntegerLaw
from fugu.operators.sip.linear_program_kernel import LinearProgramKernel
from fugu.operators.sip.markov_model import MarkovModel
from fugu.operators.sip.ordered_kernel import MOST_TARGETS
from fugu.operators.sip.privacy_bound import PrivacyBound
from fugu.operators.sip.proposal import Kernel, Proposal, SharedProposal
from fugu.operators.sip.release_law import ReleaseLaw
from fugu.operators.sip.shares_law import SharesLaw
from fugu.operators.sip.sparse_markov_model import SparseMarkovModel
from fugu.operators.sip.stay_or_fill import StayOrFill

PrivateLaw = IntegerLaw | SharesLaw
SymbolLaw = PrivateLaw | ReleaseLaw
"""A law that a step can draw from, however it is made; one column per stream."""


def private_law(
    belief: Floats, proposal: Proposal, bound: PrivacyBound, doubt: Floats
) -> PrivateLaw:
    """Return the law of the `proposal` that is private whatever the exact belief in `doubt` is."""
    if isinstance(proposal, StayOrFill):
        return IntegerLaw.of(belief, proposal, bound, bound.reserve(len(belief)), doubt)
    return SharesLaw.of(belief, cast(SharedProposal, proposal), bound, doubt)


def check_words(bound: PrivacyBound, kernel: Kernel, symbols: int) -> None:
    """Raise `ValueError` where 64 bits are too few for laws over so many symbols."""
    bound.reserve(symbols)
    if isinstance(kernel, HammingKernel | IdentityKernel):
        return
    largest_row = symbols if isinstance(kernel, LinearProgramKernel) else MOST_TARGETS
    bound.reserve_of_rows(symbols, largest_row)


def has_compiled_law(kernel: Kernel) -> bool:
    """Return whether laws from the proposals of a kernel are compiled, whatever the chain is."""
    return type(kernel) in (HammingKernel, IdentityKernel) and compiled.available()


def has_compiled_prediction(model: Chain) -> bool:
    """Return whether the predictions of a chain are compiled, and with them whole steps."""
    return type(model) in (MarkovModel, SparseMarkovModel) and compiled.available()
