"""Choose the kernel that proposes releases, by mode, distance and how much work may be done."""

from typing import Literal, get_args

from fugu.operators.sip.distances import Distance, Hamming, Ordered, Points
from fugu.operators.sip.hamming_kernel import HammingKernel
from fugu.operators.sip.identity_kernel import IdentityKernel
from fugu.operators.sip.linear_program_kernel import LinearProgramKernel
from fugu.operators.sip.metric_kernel import MetricKernel
from fugu.operators.sip.ordered_kernel import OrderedKernel
from fugu.operators.sip.proposal import Kernel

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
