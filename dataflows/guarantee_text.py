"""Guarantees for people and for machines: words, JSON, and the short id in every record."""

from collections.abc import Sequence
from dataclasses import asdict
from hashlib import blake2b
from math import isinf

import orjson

from dataflows.config import Pipeline
from operators.mechanism import Guarantee

_NOTIONS = {
    "sip": "Sequence Information Privacy",
    "ldp": "Local Differential Privacy",
}


def guarantee_id(guarantees: Sequence[Guarantee]) -> bytes:
    """16 hexadecimal digits that name exactly these promises."""
    content = orjson.dumps([asdict(guarantee) for guarantee in guarantees])
    return blake2b(content, digest_size=8).hexdigest().encode()


def in_words(guarantee: Guarantee) -> str:
    """One sentence: what is promised, about what, relative to what."""
    notion = _NOTIONS.get(guarantee.notion, guarantee.notion)
    if not guarantee.sound or isinf(guarantee.epsilon):
        return f"{notion}: no bound is promised. {guarantee.proof}."
    return (
        f"{notion} with epsilon {guarantee.epsilon:.6g} nats per {guarantee.per}, protecting "
        f"{guarantee.protects}, relative to {guarantee.relative_to}; {guarantee.composition}."
    )


def pipeline_not_covered(pipeline: Pipeline) -> list[str]:
    """What the pipeline around the mechanism leaves open."""
    open_points = ["offsets and reasons of refused records, in the dead-letter topic"]
    if pipeline.source.partitioner == "unchecked":
        open_points.append(
            "a user whose records arrive in several partitions (source.partitioner is unchecked): "
            "each partition counts the user as a stream of its own"
        )
    if pipeline.source.dedupe is None:
        open_points.append(
            "records that a producer sent twice (source.dedupe is not set): each copy is a release "
            "of its own, and is charged"
        )
    if pipeline.budget is None:
        open_points.append(
            "a total over a stream's life (budget is not set): every release adds to what is "
            "spent, without a limit"
        )
    if pipeline.sink.key == "original":
        open_points.append("who a release is about: sink.key is original, keys are published")
    return open_points
