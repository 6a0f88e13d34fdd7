"""Which releases of one symbol at a time have a compiled step, and what it is.

First-order chains, dense or sparse, with the kernels for 0/1 distance, where time does not matter.
"""

from typing import TYPE_CHECKING

from fugu.operators import compiled
from fugu.operators.mechanism import Floats
from fugu.operators.responses.randomized_response import WORDS, Odds
from fugu.operators.sip.chain import Chain
from fugu.operators.sip.hamming_kernel import HammingKernel
from fugu.operators.sip.identity_kernel import IdentityKernel
from fugu.operators.sip.markov_model import MarkovModel
from fugu.operators.sip.privacy_bound import PrivacyBound
from fugu.operators.sip.proposal import Kernel
from fugu.operators.sip.sparse_markov_model import SparseMarkovModel

if TYPE_CHECKING:
    from fugu.operators.sip.compiled_adaptive_release import CompiledAdaptiveStep
    from fugu.operators.sip.compiled_conditional_randomized_response import CompiledStep
    from fugu.operators.sip.compiled_markov_step import CompiledChain


def compiled_step(
    model: Chain,
    kernel: Kernel,
    bound: PrivacyBound,
    doubts: Floats,
    digests: tuple[bytes, ...],
) -> "CompiledStep | None":
    """That of conditional randomized response; None where there is none, or no numba."""
    if not has_compiled_law(kernel):
        return None
    chain = _compiled_chain(model)
    if chain is None:
        return None
    from fugu.operators.sip.compiled_conditional_randomized_response import CompiledStep
    from fugu.operators.sip.compiled_integer_law import Limits

    limits = Limits.of(bound, model.symbols, isinstance(kernel, IdentityKernel))
    return CompiledStep(chain, limits, doubts, b"".join(digests))


def has_compiled_law(kernel: Kernel) -> bool:
    """Return whether laws from its proposals are compiled, whatever the chain is."""
    return type(kernel) in (HammingKernel, IdentityKernel) and compiled.available()


def compiled_adaptive_step(
    model: Chain,
    odds: Odds,
    bound: PrivacyBound,
    doubts: Floats,
    counts_steps: bool,
    answers: tuple[bytes, ...],
    symbols: tuple[bytes, ...],
) -> "CompiledAdaptiveStep | None":
    """That of adaptive release; None where there is none, or no numba."""
    chain = _compiled_chain(model)
    if chain is None:
        return None
    from fugu.operators.sip.compiled_adaptive_release import CompiledAdaptiveStep
    from fugu.operators.sip.compiled_integer_law import Limits

    return CompiledAdaptiveStep(
        chain=chain,
        limits=Limits.of(bound, model.symbols, full_support=False),
        doubts=doubts,
        favoured=odds.favoured,
        likely=odds.favoured / WORDS,
        unlikely=odds.each / WORDS,
        decision_charge=odds.charge,
        counts_steps=counts_steps,
        answers=b"".join(answers),
        symbols=b"".join(symbols),
    )


def _compiled_chain(model: Chain) -> "CompiledChain | None":
    if type(model) not in (MarkovModel, SparseMarkovModel) or not compiled.available():
        return None
    from fugu.operators.sip.compiled_markov_step import CompiledChain

    if isinstance(model, SparseMarkovModel):
        rows = model.rows
        return CompiledChain.sparse(rows.sources, rows.columns, rows.kept, rows.restart)
    assert isinstance(model, MarkovModel)
    return CompiledChain.dense(model.transition)
