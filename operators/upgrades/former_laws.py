"""Compute law digests as the version before did, so that its states are recognised.

A state says which law it belongs to by a digest. Another implementation has another digest for the
same configuration. Whoever continues such a state has to know that the configuration is the same:
it is, where the digest is the one that the implementation of that version gave it.

Version 0.1 drew symbols by doubles (`crr`, `adaptive_crr`, `batched_crr`, `cold_start_crr`), named
no partition in draws at ticks (temporal kinds, `real_time_local`), counted Gaussian noise in
zero-concentrated DP (`real_time`, `real_time_local`), and filtered sums by constants that were
meant for counts (`fast`, `rescue_dp`). Its policies changed without notice, and had no owners.
Versions since mixed running totals wherever they could (`running_total`).
"""

from fugu.operators.budget import Budgeted
from fugu.operators.byte_fields import binding_digest, encode_fields
from fugu.operators.mechanism import Mechanism
from fugu.operators.realtime.local_release import LocalRealTimeRelease
from fugu.operators.realtime.real_time_release import RealTimeRelease
from fugu.operators.sip.adaptive_release import AdaptiveRelease
from fugu.operators.sip.batches.batched_release import BatchedRelease
from fugu.operators.sip.cold_start import ColdStart
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.sip.distances import Hamming
from fugu.operators.sip.markov_model import MarkovModel
from fugu.operators.sip.planned_release import PlannedRelease
from fugu.operators.sip.robust_release import RobustRelease
from fugu.operators.swellfish.strategy import PolicyStrategy
from fugu.operators.swellfish.timeline import Policies
from fugu.operators.temporal.temporal_perturbation import TemporalPerturbation
from fugu.operators.totals.running_total import RunningTotal
from fugu.operators.upgrades.real_time_laws import law_digest_before
from fugu.operators.upgrades.running_total_laws import is_same_law
from fugu.operators.wevent.fast import Fast
from fugu.operators.wevent.rescue_dp import RescueDp
from fugu.operators.wevent.strategy import Strategy
from fugu.operators.wevent.watched import Watched

Identity = tuple[str | int | bytes, ...]


def former_implementation(mechanism: Mechanism) -> int:
    """Return the implementation of the version before; the same as today's, if none came since.

    >>> from fugu.operators.responses.generalized_randomized_response import (
    ...     GeneralizedRandomizedResponse,
    ... )
    >>> grr = GeneralizedRandomizedResponse(symbols=2, epsilon=1.0)
    >>> former_implementation(grr), former_law_digest(grr) == grr.law_digest()
    (1, True)
    """
    match mechanism:
        case Budgeted():
            return former_implementation(mechanism.mechanism)
        case Watched():
            return former_implementation(mechanism.strategy)
        case RealTimeRelease() | LocalRealTimeRelease():
            return 1 if law_digest_before(mechanism, 1) else mechanism.implementation
        case RunningTotal():
            return 1 if is_same_law(mechanism) else mechanism.implementation
        case PolicyStrategy(timeline=Policies()):
            return 1
    return mechanism.implementation - (_former_fields(mechanism) is not None)


def former_law_digest(mechanism: Mechanism) -> bytes:
    """Return the digest that the version before gave this configuration."""
    former = former_implementation(mechanism)
    match mechanism:
        case Budgeted():
            return mechanism.law_digest_of(former, former_law_digest(mechanism.mechanism))
        case Watched():
            return mechanism.law_digest_of(former, former_law_digest(mechanism.strategy))
        case RealTimeRelease() | LocalRealTimeRelease():
            return law_digest_before(mechanism, 1) or mechanism.law_digest()
        case RunningTotal():
            return mechanism.law_digest_of(former)
        case PolicyStrategy(timeline=Policies() as policies):
            return mechanism.law_digest_of(former, policies.digest_without_life())
    fields = _former_fields(mechanism)
    if fields is None:
        return mechanism.law_digest()
    return binding_digest(mechanism.kind, former, *fields)


def _former_fields(mechanism: Mechanism) -> Identity | None:
    """Return what the version before made a digest of, or None if no other came since."""
    match mechanism:
        case RobustRelease() | PlannedRelease():
            return None
        case ConditionalRandomizedResponse(epsilon=epsilon, model=model, gaps=gaps):
            kernel = _former_kernel(mechanism._chosen.identity())
            in_time = () if gaps is None else gaps.identity()
            return epsilon.hex(), *model.identity(), *kernel, *in_time
        case AdaptiveRelease(model=model, distance=str(distance)):
            epsilons = mechanism.decision_epsilon.hex(), mechanism.release_epsilon.hex()
            return *epsilons, distance, *model.identity()
        case ColdStart(symbols=symbols, epsilon=epsilon, distance=Hamming()):
            return symbols, epsilon.hex(), mechanism.positions, float(mechanism.alpha).hex()
        case BatchedRelease(
            model=MarkovModel() as model, window=window, epsilon_per_batch=epsilon, gaps=None
        ):
            plan, chain = mechanism._plan, (model.prior, model.transition)
            return (
                window,
                epsilon.hex(),
                *(numbers.astype("<f8").tobytes() for numbers in chain),
                mechanism.kernel,
                *plan.distance.identity(),
                *(part for one in plan.algorithms for part in _former_algorithm(one.identity())),
            )
        case TemporalPerturbation(k=k, warm_up=warm_up, empty=empty):
            left_out = ("empty ticks are left out",) if empty == "skip" else ()
            return k, warm_up, *mechanism._identity(), *left_out
        case Fast(process_variance=process, measurement_variance=measurement):
            content = encode_fields(mechanism.samples_per_block, process.hex(), measurement.hex())
            return _of_strategy(mechanism, content)
        case RescueDp():
            return _of_strategy(mechanism, encode_fields(mechanism.process.hex()))
    return None


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


def _of_strategy(mechanism: Strategy, identity: bytes) -> Identity:
    cap = mechanism.cap
    caps = (-1, -1) if cap is None else (cap.decision, cap.publication)
    own = mechanism.bins, mechanism.window, mechanism.rule.epsilon, mechanism.sensitivity
    return *own, *caps, identity
