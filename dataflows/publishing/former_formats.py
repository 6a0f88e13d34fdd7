"""Read promises as they stand in ledger entries of the formats before, whose points are words."""

import re
from dataclasses import replace
from math import inf
from typing import Any

from fugu.dataflows.pipeline.guarantee_data import (
    checked_guarantee,
    point_in_words,
    read_neighbours,
)
from fugu.operators.guarantee import PRESENCE, Guarantee, Neighbours, Notion
from fugu.operators.points import Point

_DELAY = re.compile(r"0 to (\d+) ticks")
_WEAKER = Point(
    "weaker",
    "contributions that take the place of others, with epsilon: an earlier version entered this "
    "promise without saying whether its noise covers that, so that twice epsilon is counted",
)


def read_format_2(content: dict[str, Any]) -> Guarantee:
    """Return a promise whose neighbouring relation is data; no release wrote a loss with it."""
    return _read(content, read_neighbours(content["neighbours"]))


def read_format_1(content: dict[str, Any]) -> Guarantee:
    """Return one that has a sentence for its neighbouring relation, and says nothing of ticks.

    Where the sentence may claim too much, the weaker promise is taken. Its delta of finite
    precision was stated per release, whatever epsilon counts, and stays that.
    """
    sentence = content.pop("protects")
    read = _read(content, _neighbours(content["notion"], sentence))
    if read.neighbours == PRESENCE:
        read = replace(read, not_covered=(_WEAKER, *read.not_covered))
    if read.per == "release":
        return read
    stated = read.finite_precision_delta
    return replace(read, finite_precision_delta=0.0, delta_per_release=stated)


def _read(content: dict[str, Any], neighbours: Neighbours) -> Guarantee:
    points = {
        "adversary": _adversary(content.pop("relative_to")),
        "accounting": (_point(content.pop("composition")),),
        "trust": _point(content["trust"]),
        "assumptions": tuple(map(_point, content["assumptions"])),
        "not_covered": tuple(map(_point, content["not_covered"])),
        "proof": _point(content["proof"]),
        "epsilon": inf if content["epsilon"] is None else content["epsilon"],
        "neighbours": neighbours,
        "loss": None,
    }
    return checked_guarantee(Guarantee(**{**content, **points}))


def _adversary(words: str) -> Point:
    return point_in_words(words, f"an adversary relative to {words}")


def _point(words: str) -> Point:
    """Return a point that is named by its words."""
    return point_in_words(words, words)


def _neighbours(notion: Notion, sentence: str) -> Neighbours:
    match notion:
        case "sip":
            return Neighbours("stream", "symbol", "believed")
        case "ldp" | "w-event-ldp":
            symbols = "symbol" in sentence
            return Neighbours("stream", "symbol" if symbols else "number", "replaced")
        case "swellfish":
            return Neighbours("person", "contribution", "stated")
        case "delay-law":
            delay = _DELAY.search(sentence)
            return Neighbours("stream", "tick", "delayed", reach=int(delay[1]) if delay else None)
        case _:
            return PRESENCE
