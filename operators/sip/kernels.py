"""Choose the kernel that proposes releases, and the integer law that makes them private."""

from typing import Literal, cast, get_args

from fugu.operators import compiled
from fugu.operators.mechanism import Floats
from fugu.operators.sip.distances import Distance, Hamming, Ordered, Points
from fugu.operators.sip.hamming_kernel import HammingKernel
from fugu.operators.sip.integer_law import IntegerLaw, SharesLaw
from fugu.operators.sip.linear_program_kernel import LinearProgramKernel
from fugu.operators.sip.markov_model import Chain, MarkovModel
from fugu.operators.sip.metric_kernel import MetricKernel
from fugu.operators.sip.ordered_kernel import MOST_TARGETS, OrderedKernel
from fugu.operators.sip.privacy_bound import PrivacyBound
from fugu.operators.sip.proposals import (
    IdentityKernel,
    Kernel,
    Proposal,
    SharedProposal,
    StayOrFill,
)
from fugu.operators.sip.release_law import ReleaseLaw
from fugu.operators.sip.sparse_models import SparseMarkovModel

Mode = Literal["optimal", "full_support"]
"""As close to the truth as the kernel can, or with every symbol always releasable."""

Search = Literal["heuristic", "linear_program"]
"""Choose an `optimal` proposal among good candidates, or the best one for at most 32 symbols."""


def choose_kernel(
    distance: Distance, mode: Mode, search: Search, symbols: int, gain: float, growth: float
) -> Kernel:
    """Return the kernel for an alphabet; `gain` is e^eps - 1 and `growth` is e^eps.

    Raises `ValueError` naming the parameter, for choices that do not exist or exclude each other.
    """
    if mode not in get_args(Mode):
        raise ValueError("mode: must be optimal or full_support")
    if search not in get_args(Search):
        raise ValueError("kernel: must be heuristic or linear_program")
    if isinstance(distance, Points) and len(distance.coordinates) != symbols:
        raise ValueError(
            f"distance: has {len(distance.coordinates)} points, but there are {symbols} symbols"
        )
    if mode == "full_support":
        if search != "heuristic" or not isinstance(distance, Hamming):
            raise ValueError(
                "mode: full_support always proposes the true symbol; "
                "leave out distance and kernel, or write mode: optimal"
            )
        return IdentityKernel()
    heuristic = _heuristic(distance, gain, growth)
    if search == "heuristic":
        return heuristic
    return LinearProgramKernel(distance, symbols, heuristic, gain, growth)


def _heuristic(distance: Distance, gain: float, growth: float) -> Kernel:
    match distance:
        case Hamming():
            return HammingKernel(gain, growth)
        case Ordered():
            return OrderedKernel(gain, growth)
        case Points():
            return MetricKernel(distance, gain, growth)


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
