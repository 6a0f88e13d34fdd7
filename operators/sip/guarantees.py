"""Promises of conditional randomized response, as data: SIP specification sections 3 to 7."""

from dataclasses import replace

from fugu.operators.guarantee import Guarantee, Neighbours

_NOT_COVERED = (
    "when records arrive, how many there are, and which key they carry (a pseudonym at most)",
    "a reader who knows part of a stream from elsewhere: the figure without a model applies",
    "a model learned from the private stream itself",
    "a model that changes in mid-stream: from then on only the figure without a model adds up",
    "refused records: they are no step of the model, and that they were refused is public",
    "whoever obtains the secret can remove all randomness",
)

_STREAMS = "streams of different keys are independent of each other"
_HASH = "the keyed hash BLAKE2b is a pseudo-random function of the secret"
_TRUST = "the pipeline and its state see raw values; readers of the sanitized topic do not"


def crr_guarantees(*, epsilon: float) -> tuple[Guarantee, ...]:
    """Return the headline (SIP relative to the model) and the claim that needs no model.

    Both are pure, of what is drawn: laws are whole numbers of words, and what rounding may do to a
    belief is paid in the law.
    """
    sip = Guarantee(
        notion="sip",
        epsilon=epsilon,
        delta=0.0,
        per="release",
        neighbours=Neighbours("stream", "symbol", "believed"),
        relative_to="the declared Markov model, after smoothing",
        composition="leakages of successive releases of one stream add up (Theorem 1)",
        trust=_TRUST,
        assumptions=(
            "an adversary's belief before the stream is the declared model, about accepted records",
            _STREAMS,
            _HASH,
        ),
        not_covered=_NOT_COVERED,
        proof="SIP specification, section 3 (repair theorem) and section 7 (Theorem 1)",
        finite_precision_delta=0.0,
    )
    ldp = replace(
        sip,
        notion="ldp",
        epsilon=2.0 * epsilon,
        neighbours=Neighbours("stream", "symbol", "replaced"),
        relative_to="no model: any prior, and any correlation within the stream",
        composition="a stream that spent E nats is 2 E-private under every prior",
        assumptions=(_STREAMS, _HASH),
        proof="SIP specification, section 3 (rows differ by at most 2 epsilon) and section 5",
    )
    return sip, ldp


def with_gaps(promised: tuple[Guarantee, ...], gaps: str) -> tuple[Guarantee, ...]:
    """Return the promises if steps of the model take time; `gaps` says how they are counted."""
    sip, ldp = promised
    in_time = replace(
        sip,
        relative_to=f"{sip.relative_to}, {gaps}",
        assumptions=(
            *sip.assumptions,
            "the times of accepted records tell nothing about symbols; everybody may know them",
        ),
    )
    return in_time, ldp


def adaptive_guarantees(decision_epsilon: float, release_epsilon: float) -> tuple[Guarantee, ...]:
    """Return the promises of a decision and a release together.

    Without a model the decision costs its epsilon once, as randomized response does.
    """
    sip, ldp = crr_guarantees(epsilon=decision_epsilon + release_epsilon)
    promised = sip, replace(ldp, epsilon=decision_epsilon + 2.0 * release_epsilon)
    return tuple(
        replace(
            guarantee,
            assumptions=(
                *guarantee.assumptions,
                "every reader sees whether a release is fresh or repeated: that bit is charged",
            ),
            proof=f"{guarantee.proof}; section 9 (the decision is a release of its own)",
        )
        for guarantee in promised
    )


def cold_start_guarantees(epsilon: float, positions: int) -> tuple[Guarantee, ...]:
    """Return the promises relative to a model learned from the first `positions` releases."""
    sip, ldp = crr_guarantees(epsilon=epsilon)
    not_covered = tuple(line for line in _NOT_COVERED if "learned" not in line)
    learned = (
        f"the model that is learned from the first {positions} releases of the stream itself, and "
        "frozen from there on"
    )
    return (
        replace(
            sip,
            relative_to=learned,
            assumptions=(
                "an adversary believes in the learned model, which nobody can know before the "
                "stream begins: who believes in anything else is covered by the figure without a "
                "model only",
                _STREAMS,
                _HASH,
            ),
            not_covered=not_covered,
            proof="SIP specification, section 6 (cold start) and section 7 (Theorem 1)",
        ),
        replace(
            ldp,
            composition=(
                f"each of the first {positions} releases of a stream is {epsilon:g}-private under "
                f"every prior, each later one {ldp.epsilon:g}-private; together they add up"
            ),
            not_covered=not_covered,
            proof="SIP specification, section 6 (cold start) and section 9 (GRR)",
        ),
    )
