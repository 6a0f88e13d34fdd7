"""What conditional randomized response promises, in data: SIP specification sections 3 to 7."""

from dataclasses import replace

from operators.mechanism import Guarantee

_NOT_COVERED = (
    "when records arrive, how many there are, and which key they carry (a pseudonym at most)",
    "a reader who knows part of a stream from elsewhere: the figure without a model applies",
    "a model learned from the private stream itself",
    "records that a producer sent twice: each copy is a release of its own and is charged",
    "whoever obtains the secret can remove all randomness",
)

_TRUST = "the pipeline and its state see raw values; readers of the sanitized topic do not"


def crr_guarantees(
    *,
    epsilon: float,
    rounding_epsilon: float,
    rounding_covered: bool,
    finite_precision_delta: float,
) -> tuple[Guarantee, ...]:
    """The headline (SIP relative to the model) and the weaker claim that needs no model."""
    factor = 1.0 if rounding_covered else 2.0
    sip = Guarantee(
        notion="sip",
        epsilon=factor * epsilon + rounding_epsilon,
        delta=0.0,
        per="release",
        protects="the sequence of true symbols of one stream",
        relative_to="the declared Markov model, after smoothing",
        composition="leakages of successive releases of one stream add up (Theorem 1)",
        trust=_TRUST,
        assumptions=(
            "streams of different keys are independent",
            "an adversary's belief before the stream is the declared model",
            "the keyed hash BLAKE2b is a pseudo-random function of the secret",
        ),
        not_covered=_NOT_COVERED,
        proof="SIP specification, section 3 (repair theorem) and section 7 (Theorem 1)",
        finite_precision_delta=finite_precision_delta,
    )
    ldp = replace(
        sip,
        notion="ldp",
        epsilon=2.0 * epsilon,
        protects="one true symbol against any other",
        relative_to="no model: any prior, any correlation, any background knowledge",
        composition="a stream that spent E nats is 2 E-private under every prior",
        assumptions=("the keyed hash BLAKE2b is a pseudo-random function of the secret",),
        proof="SIP specification, section 3 (rows differ by at most 2 epsilon) and section 5",
    )
    return sip, ldp
