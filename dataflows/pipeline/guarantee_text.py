"""Say guarantees to people and machines: in words, and as the short id in every record."""

from collections.abc import Sequence
from dataclasses import asdict
from decimal import ROUND_CEILING, Context, Decimal
from hashlib import blake2b
from math import exp, isinf

import orjson

from fugu.dataflows.pipeline.config import Pipeline
from fugu.dataflows.pipeline.neighbours_text import per_in_words, protected_in_words
from fugu.operators.guarantee import Guarantee, Notion

_NOTIONS = {
    "sip": "Sequence Information Privacy",
    "ldp": "Local Differential Privacy",
    "dp": "Differential Privacy",
    "delay-law": "Delay law",
    "w-event-dp": "Differential Privacy of windows (w-event)",
    "w-event-ldp": "Local Differential Privacy of windows (w-event)",
    "swellfish": "Swellfish Privacy",
}


def guarantee_id(guarantees: Sequence[Guarantee]) -> bytes:
    """Return 16 hexadecimal digits that name exactly these promises."""
    content = orjson.dumps([asdict(guarantee) for guarantee in guarantees])
    return blake2b(content, digest_size=8).hexdigest().encode()


def in_words(guarantee: Guarantee) -> str:
    """Say in one sentence what is promised, about what, relative to what."""
    notion = notion_in_words(guarantee.notion)
    if not guarantee.sound or isinf(guarantee.epsilon):
        return f"{notion}: no bound is promised. {guarantee.proof}."
    if guarantee.notion == "delay-law":
        return (
            f"{notion} with epsilon {guarantee.epsilon:.6g} nats"
            f"{delta_in_words(guarantee.total_delta)}, protecting {protected_in_words(guarantee)}. "
            "In steady state the probabilities of any two delays differ by at most a factor "
            f"exp(epsilon/2) = {exp(guarantee.epsilon / 2.0):.4g}. This bounds "
            f"{guarantee.relative_to}."
        )
    if guarantee.total_delta >= 1.0:
        return (
            f"{notion}: no bound is promised. It would be {stated(guarantee)}: no delta below 1 "
            "covers finite precision."
        )
    return (
        f"{notion} with {stated(guarantee)}, protecting {protected_in_words(guarantee)}, "
        f"relative to {guarantee.relative_to}; {guarantee.composition}."
    )


def stated(guarantee: Guarantee) -> str:
    """Say epsilon, the whole delta that goes with it, and per what."""
    per = per_in_words(guarantee.per, guarantee.window, guarantee.tick_milliseconds)
    return figures_in_words(
        guarantee.epsilon, guarantee.total_delta, per, guarantee.delta_per_release
    )


def figures_in_words(epsilon: float, delta: float, per: str, delta_per_release: float) -> str:
    """Say the same of figures that are no promise of one pipeline."""
    rest = rest_in_words(delta_per_release)
    return f"epsilon {epsilon:.6g} nats{delta_in_words(delta)} per {per}{rest}"


def delta_in_words(delta: float) -> str:
    """Say delta after an epsilon: nothing where it is 0, else rounded up to three digits."""
    return f" and delta {_rounded_up(delta)}" if delta > 0.0 else ""


def rest_in_words(delta_per_release: float) -> str:
    """Say the delta of releases whose number has no bound."""
    if delta_per_release == 0.0:
        return ""
    return f" (and a delta of {_rounded_up(delta_per_release)} for every release)"


def _rounded_up(delta: float) -> str:
    """Write a delta, rounded up to three digits."""
    digits = Context(prec=3, rounding=ROUND_CEILING).create_decimal(Decimal(repr(delta)))
    return f"{float(digits):g}"


def notion_in_words(notion: Notion) -> str:
    """Return the full name of a notion."""
    return _NOTIONS.get(notion, notion)


def pipeline_not_covered(pipeline: Pipeline) -> list[str]:
    """Return what the pipeline around the mechanism leaves open."""
    open_points = ["offsets and reasons of refused records, in the dead-letter topic"]
    if pipeline.source.partitioner == "unchecked":
        open_points.append(
            "a user whose records arrive in several partitions (source.partitioner is unchecked): "
            "each partition counts the user as a stream of its own"
        )
    open_points += pipeline.operator.not_covered(
        copies=pipeline.source.dedupe is None,
        budget=pipeline.budget is not None,
        partials=pipeline.partials_topic,
    )
    if pipeline.ledger is None:
        open_points.append("what other pipelines release about the same source (ledger is not set)")
        open_points.append(
            "a start under this name with an empty state directory and new topics (ledger is not "
            "set): nothing shows then what was released before, so what the source still holds is "
            "released a second time"
        )
    else:
        open_points.append(
            "what pipelines release about the same source that are not in the ledger "
            f"{pipeline.ledger.topic}"
        )
    if pipeline.sink.key == "original":
        open_points.append("who a release is about: sink.key is original, keys are published")
    return open_points
