"""Which releases of one symbol at a time have a compiled step, and what it is.

First-order chains, dense or sparse, with the kernels for 0/1 distance, where time does not matter.
"""

from typing import TYPE_CHECKING

from operators import compiled
from operators.nats import exact_exp, exact_expm1
from operators.randomized_response import WORDS, Odds
from operators.sip.chain import Chain
from operators.sip.hamming_kernel import HammingKernel
from operators.sip.identity_kernel import IdentityKernel
from operators.sip.markov_model import MarkovModel
from operators.sip.proposal import Kernel
from operators.sip.sparse_markov_model import SparseMarkovModel

if TYPE_CHECKING:
    from operators.compiled.adaptive_crr import CompiledAdaptiveStep
    from operators.compiled.crr import CompiledStep
    from operators.compiled.markov_step import CompiledChain


def compiled_step(
    model: Chain,
    kernel: Kernel,
    gain: float,
    growth: float,
    rounding: int | None,
    digests: tuple[bytes, ...],
) -> "CompiledStep | None":
    """That of conditional randomized response; None where there is none, or no numba."""
    if type(kernel) not in (HammingKernel, IdentityKernel):
        return None
    chain = _compiled_chain(model)
    if chain is None:
        return None
    from operators.compiled.crr import CompiledStep

    full_support = isinstance(kernel, IdentityKernel)
    return CompiledStep(chain, gain, growth, full_support, _or_none(rounding), b"".join(digests))


def compiled_adaptive_step(
    model: Chain,
    odds: Odds,
    release_epsilon: float,
    counts_steps: bool,
    roundings: tuple[int | None, int | None],
    largest_charge: int,
    answers: tuple[bytes, ...],
    symbols: tuple[bytes, ...],
) -> "CompiledAdaptiveStep | None":
    """That of adaptive release; None where there is none, or no numba."""
    chain = _compiled_chain(model)
    if chain is None:
        return None
    from operators.compiled.adaptive_crr import CompiledAdaptiveStep

    decision_rounding, release_rounding = map(_or_none, roundings)
    return CompiledAdaptiveStep(
        chain=chain,
        gain=exact_expm1(release_epsilon),
        growth=exact_exp(release_epsilon),
        favoured=odds.favoured,
        likely=odds.favoured / WORDS,
        unlikely=odds.each / WORDS,
        counts_steps=counts_steps,
        decision_rounding=decision_rounding,
        release_rounding=release_rounding,
        largest_charge=largest_charge,
        answers=b"".join(answers),
        symbols=b"".join(symbols),
    )


def _compiled_chain(model: Chain) -> "CompiledChain | None":
    if type(model) not in (MarkovModel, SparseMarkovModel) or not compiled.available():
        return None
    from operators.compiled.markov_step import CompiledChain

    if isinstance(model, SparseMarkovModel):
        rows = model.rows
        return CompiledChain.sparse(rows.sources, rows.columns, rows.kept, rows.restart)
    assert isinstance(model, MarkovModel)
    return CompiledChain.dense(model.transition)


def _or_none(rounding: int | None) -> int:
    """As `operators.compiled.charges` has it."""
    return -1 if rounding is None else rounding
