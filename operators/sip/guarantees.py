"""Promises of conditional randomized response, as data: SIP specification sections 3 to 7."""

from dataclasses import replace

from fugu.operators.guarantee import (
    ANY_PRIOR,
    ARRIVALS,
    KEYED_HASH,
    RAW_VALUES_SEEN,
    REFUSED,
    SECRET,
    STREAMS_INDEPENDENT,
    Guarantee,
    Neighbours,
    Point,
)
from fugu.operators.sip.inputs import Gaps
from fugu.operators.sip.model_sets import ModelIntervals

_DECLARED_MODEL = Point(
    "declared-model",
    "an adversary whose belief before the stream, about accepted records, is the declared Markov "
    "model after smoothing",
)
A_MODEL_OF_A_SET = "model-in-a-set"
"""Name the adversary who may have any model of a set, with or without gaps in time."""
_EVERY_MODEL = Point(
    A_MODEL_OF_A_SET,
    "an adversary whose belief before the stream, about accepted records, is any Markov model "
    "within the declared intervals around the declared model after smoothing ({narrowest:.3g} to "
    "{widest:.3g} wide, set {models}), also one whose probabilities change within them from record "
    "to record",
)
_EVERY_MODEL_LEARNED = Point(
    f"{A_MODEL_OF_A_SET}-learned",
    f"{_EVERY_MODEL.sentence}; the intervals were learned, and contain the chain of their history "
    "with confidence {confidence:g} if that was a Markov chain",
)
_LEARNED_MODEL = Point(
    "learned-model",
    "an adversary who believes in the model that is learned from the first {positions:,} releases "
    "of the stream itself and frozen from there on, which nobody can know before the stream begins",
)
_TIMES_SAY_NOTHING = Point(
    "times-independent",
    "the times of accepted records tell nothing about symbols; everybody may know them",
)
_DECISIONS_SEEN = Point(
    "decisions-seen",
    "every adversary sees whether a release is fresh or repeated: that bit is charged",
)
_SPENT_TWICE = Point("spent-twice", "a stream that spent E nats is 2 E-private under every prior")
_LATER_RELEASES = Point(
    "first-and-later",
    "each of the first {positions:,} releases of a stream is {first:.6g}-private under every "
    "prior, each later one {later:.6g}-private",
)
_LEARNED_FROM_PRIVATE = Point(
    "learned-from-private", "a model learned from the private stream itself"
)
_NOT_COVERED = (
    ARRIVALS,
    Point(
        "other-belief",
        "an adversary with another belief, or who knows part of a stream from elsewhere: the "
        "figure without a model holds",
    ),
    _LEARNED_FROM_PRIVATE,
    Point(
        "model-changes",
        "a model that changes in mid-stream: from then on only the figure without a model composes",
    ),
    REFUSED,
    SECRET,
)

_NOT_COVERED_BY_A_SET = (
    ARRIVALS,
    Point(
        "belief-outside-the-set",
        "an adversary whose model is outside the declared intervals, or who knows part of a stream "
        "from elsewhere: the figure without a model holds",
    ),
    _LEARNED_FROM_PRIVATE,
    Point(
        "set-changes",
        "intervals that change in mid-stream: from then on only the figure without a model "
        "composes",
    ),
    REFUSED,
    SECRET,
)


def crr_guarantees(*, epsilon: float, records: int = 1) -> tuple[Guarantee, ...]:
    """Return the headline (SIP relative to the model) and the claim that needs no model.

    Both are pure, of what is drawn: laws are whole numbers of words, and what rounding may do to a
    belief is paid in the law. A release is about so many `records`.
    """
    sip = Guarantee(
        notion="sip",
        epsilon=epsilon,
        delta=0.0,
        per="release",
        records=records,
        neighbours=Neighbours("stream", "symbol", "believed"),
        adversary=_DECLARED_MODEL,
        accounting=(),
        trust=RAW_VALUES_SEEN,
        assumptions=(STREAMS_INDEPENDENT, KEYED_HASH),
        not_covered=_NOT_COVERED,
        proof=Point(
            "repair-theorem",
            "SIP specification, section 3 (repair theorem) and section 7 (Theorem 1: leakages of "
            "successive releases of one stream add up)",
        ),
        finite_precision_delta=0.0,
    )
    ldp = replace(
        sip,
        notion="ldp",
        epsilon=2.0 * epsilon,
        neighbours=Neighbours("stream", "symbol", "replaced"),
        adversary=ANY_PRIOR,
        accounting=(_SPENT_TWICE,),
        proof=Point(
            "repaired-rows",
            "SIP specification, section 3 (rows differ by at most 2 epsilon) and section 5",
        ),
    )
    return sip, ldp


def with_gaps(promised: tuple[Guarantee, ...], gaps: Gaps) -> tuple[Guarantee, ...]:
    """Return the promises if steps of the model take time."""
    sip, ldp = promised
    model = sip.adversary
    in_time = Point(f"{model.name}-in-time", f"{model}, {gaps}").of(
        **dict(model.numbers), step_milliseconds=gaps.step_milliseconds, longest=gaps.longest
    )
    assumptions = (*sip.assumptions, _TIMES_SAY_NOTHING)
    return replace(sip, adversary=in_time, assumptions=assumptions), ldp


def of_every_model(
    promised: tuple[Guarantee, ...], models: ModelIntervals
) -> tuple[Guarantee, ...]:
    """Return the promises relative to every model of a set; its number is in their ids."""
    sip, ldp = promised
    proof = Point(
        "envelope-theorem",
        "symbol sampling specification, sections 2 (the theorem holds for all beliefs of a set at "
        "once) and 7 (envelope); SIP specification, section 7 (leakages of each member add up)",
    )
    widths = models.widths
    numbers = {
        "narrowest": float(widths.min()),
        "widest": float(widths.max()),
        "models": models.number,
    }
    adversary = _EVERY_MODEL.of(**numbers)
    if models.confidence is not None:
        adversary = _EVERY_MODEL_LEARNED.of(**numbers, confidence=models.confidence)
    return replace(sip, adversary=adversary, not_covered=_NOT_COVERED_BY_A_SET, proof=proof), ldp


def adaptive_guarantees(decision_epsilon: float, release_epsilon: float) -> tuple[Guarantee, ...]:
    """Return the promises of a decision and a release together.

    Without a model the decision costs its epsilon once, as randomized response does.
    """
    sip, ldp = crr_guarantees(epsilon=decision_epsilon + release_epsilon)
    promised = sip, replace(ldp, epsilon=decision_epsilon + 2.0 * release_epsilon)
    return tuple(
        replace(
            guarantee,
            assumptions=(*guarantee.assumptions, _DECISIONS_SEEN),
            proof=Point(
                f"{guarantee.proof.name}-with-decision",
                f"{guarantee.proof}; section 9 (the decision is a release of its own)",
            ),
        )
        for guarantee in promised
    )


def cold_start_guarantees(epsilon: float, positions: int) -> tuple[Guarantee, ...]:
    """Return the promises relative to a model learned from the first `positions` releases."""
    sip, ldp = crr_guarantees(epsilon=epsilon)
    not_covered = tuple(point for point in _NOT_COVERED if point != _LEARNED_FROM_PRIVATE)
    later = _LATER_RELEASES.of(positions=positions, first=epsilon, later=ldp.epsilon)
    return (
        replace(
            sip,
            adversary=_LEARNED_MODEL.of(positions=positions),
            not_covered=not_covered,
            proof=Point(
                "cold-start-model",
                "SIP specification, sections 6 (cold start) and 7 (Theorem 1)",
            ),
        ),
        replace(
            ldp,
            accounting=(later,),
            not_covered=not_covered,
            proof=Point(
                "cold-start-rows", "SIP specification, sections 6 (cold start) and 9 (GRR)"
            ),
        ),
    )
