"""Law digests as the implementation before computed them, so that its states are recognised.

A state says which law it belongs to by a digest. Another implementation has another digest for the
same configuration. Whoever continues such a state has to know that the configuration is the same:
it is, where the digest is the one that the implementation before gave it.

The implementation before 0.2 drew symbols by doubles (`crr`, `adaptive_crr`, `batched_crr`,
`cold_start_crr`), named no partition in draws at ticks (temporal kinds, `real_time_local`), left
the sampler's delta out of delta (`real_time`, `real_time_local`), and filtered sums by constants
that were meant for counts (`fast`, `rescue_dp`).
"""

from functools import singledispatch

from fugu.operators.budget import Budgeted
from fugu.operators.byte_fields import binding_digest, encode_fields
from fugu.operators.mechanism import Mechanism
from fugu.operators.realtime.local_release import LocalRealTimeRelease
from fugu.operators.realtime.real_time_release import RealTimeRelease
from fugu.operators.realtime.zcdp import units_of_rho
from fugu.operators.sip.adaptive_release import AdaptiveRelease
from fugu.operators.sip.batches.batched_release import BatchedRelease
from fugu.operators.sip.cold_start import ColdStart
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.temporal.temporal_perturbation import TemporalPerturbation
from fugu.operators.wevent.fast import Fast
from fugu.operators.wevent.quantified import Quantified
from fugu.operators.wevent.rescue_dp import RescueDp
from fugu.operators.wevent.strategy import Strategy
from fugu.operators.wevent.watched import Watched

Identity = tuple[str | int | bytes, ...]


@singledispatch
def former_implementation(mechanism: Mechanism) -> int:
    """Return the implementation whose states this one can continue; the same, if none came since.

    >>> from fugu.operators.responses.generalized_randomized_response import (
    ...     GeneralizedRandomizedResponse,
    ... )
    >>> grr = GeneralizedRandomizedResponse(symbols=2, epsilon=1.0)
    >>> former_implementation(grr), former_law_digest(grr) == grr.law_digest()
    (1, True)
    """
    return mechanism.implementation


@singledispatch
def former_law_digest(mechanism: Mechanism) -> bytes:
    """Return the digest that the implementation before gave this configuration."""
    return mechanism.law_digest()


@former_implementation.register(ConditionalRandomizedResponse)
@former_implementation.register(AdaptiveRelease)
@former_implementation.register(BatchedRelease)
@former_implementation.register(ColdStart)
@former_implementation.register(TemporalPerturbation)
@former_implementation.register(RealTimeRelease)
@former_implementation.register(LocalRealTimeRelease)
@former_implementation.register(Fast)
@former_implementation.register(RescueDp)
@former_implementation.register(Quantified)
def _one_before(mechanism: Mechanism) -> int:
    return mechanism.implementation - 1


@former_implementation.register
def _(mechanism: Budgeted) -> int:
    return former_implementation(mechanism.mechanism)


@former_implementation.register
def _(mechanism: Watched) -> int:
    return former_implementation(mechanism.strategy)


@former_law_digest.register
def _(mechanism: ConditionalRandomizedResponse) -> bytes:
    return _digest(
        mechanism,
        mechanism.epsilon.hex(),
        *mechanism.model.identity(),
        *_former_kernel(mechanism._chosen.identity()),
        *(() if mechanism.gaps is None else mechanism.gaps.identity()),
    )


@former_law_digest.register
def _(mechanism: AdaptiveRelease) -> bytes:
    return _digest(
        mechanism,
        mechanism.decision_epsilon.hex(),
        mechanism.release_epsilon.hex(),
        mechanism.distance,
        *mechanism.model.identity(),
    )


@former_law_digest.register
def _(mechanism: ColdStart) -> bytes:
    return _digest(
        mechanism,
        mechanism.symbols,
        mechanism.epsilon.hex(),
        mechanism.positions,
        float(mechanism.alpha).hex(),
    )


@former_law_digest.register
def _(mechanism: BatchedRelease) -> bytes:
    return _digest(
        mechanism,
        mechanism.window,
        mechanism.epsilon_per_batch.hex(),
        mechanism.model.prior.astype("<f8").tobytes(),
        mechanism.model.transition.astype("<f8").tobytes(),
        mechanism.kernel,
        *mechanism._plan.distance.identity(),
        *(part for one in mechanism._plan.algorithms for part in _former_algorithm(one.identity())),
    )


@former_law_digest.register
def _(mechanism: TemporalPerturbation) -> bytes:
    left_out = ("empty ticks are left out",) if mechanism.empty == "skip" else ()
    return _digest(mechanism, mechanism.k, mechanism.warm_up, *mechanism._identity(), *left_out)


@former_law_digest.register
def _(mechanism: RealTimeRelease) -> bytes:
    return _digest(
        mechanism,
        mechanism.bins,
        mechanism.sensitivity,
        mechanism.changed_bins,
        units_of_rho(mechanism.epsilon, mechanism.delta),
        mechanism.horizon or 0,
        mechanism.period or 0,
        (mechanism.decay or 0.0).hex(),
        (mechanism.weight or 0.0).hex(),
        mechanism.presentation,
        *(share.hex() for share in mechanism.shares),
    )


@former_law_digest.register
def _(mechanism: LocalRealTimeRelease) -> bytes:
    return _digest(
        mechanism,
        mechanism.lower,
        mechanism.upper,
        mechanism.units_per_one,
        former_law_digest(mechanism.series),
    )


@former_law_digest.register
def _(mechanism: Quantified) -> bytes:
    return _of_strategy(mechanism, mechanism._identity())


@former_law_digest.register
def _(mechanism: Fast) -> bytes:
    variances = mechanism.process_variance.hex(), mechanism.measurement_variance.hex()
    return _of_strategy(mechanism, encode_fields(mechanism.samples_per_block, *variances))


@former_law_digest.register
def _(mechanism: RescueDp) -> bytes:
    return _of_strategy(mechanism, encode_fields(mechanism._process.hex()))


@former_law_digest.register
def _(mechanism: Budgeted) -> bytes:
    return mechanism.law_digest_of(
        former_implementation(mechanism), former_law_digest(mechanism.mechanism)
    )


@former_law_digest.register
def _(mechanism: Watched) -> bytes:
    return mechanism.law_digest_of(
        former_implementation(mechanism), former_law_digest(mechanism.strategy)
    )


def _former_kernel(identity: Identity) -> Identity:
    """Return what a kernel said of itself: that for ordered symbols has another version now."""
    before = ("", *identity)
    return tuple(
        1 if (name, version) == ("ordered", 2) else version
        for name, version in zip(before, identity, strict=False)
    )


def _former_algorithm(identity: Identity) -> Identity:
    """Return what an algorithm for batches said of itself: all have another version now."""
    name, version, *rest = identity
    assert isinstance(version, int)
    return (name, version - 1, *_former_kernel(tuple(rest)))


def _of_strategy(mechanism: Strategy, identity: bytes) -> bytes:
    cap = mechanism.cap
    return _digest(
        mechanism,
        mechanism.bins,
        mechanism.window,
        mechanism.rule.epsilon,
        mechanism.sensitivity,
        -1 if cap is None else cap.decision,
        -1 if cap is None else cap.publication,
        identity,
    )


def _digest(mechanism: Mechanism, *fields: str | int | bytes) -> bytes:
    return binding_digest(mechanism.kind, former_implementation(mechanism), *fields)
