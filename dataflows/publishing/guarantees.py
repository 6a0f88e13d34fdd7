"""Read promises as they stand in ledger entries, of this version and of the one before."""

import re
from dataclasses import replace
from typing import Any

from fugu.operators.guarantee import PRESENCE, Guarantee, Neighbours, Notion
from fugu.operators.loss import (
    GaussianLoss,
    LaplaceLoss,
    Loss,
    PureLoss,
    ResponseLoss,
    StatedLoss,
)

_DELAY = re.compile(r"0 to (\d+) ticks")
_WEAKER = (
    "contributions that take the place of others, with epsilon: an earlier version entered this "
    "promise without saying whether its noise covers that, so that twice epsilon is counted"
)


def read_guarantee(content: dict[str, Any]) -> Guarantee:
    """Return what `orjson.dumps` made of a guarantee."""
    neighbours = content["neighbours"]
    kept = tuple(neighbours["kept"])
    return _read(content, Neighbours(**{**neighbours, "kept": kept}))


def read_sentence(content: dict[str, Any]) -> Guarantee:
    """Return the same of format 1, which has a sentence (`protects`), and says nothing of ticks.

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
    lists = {name: tuple(content[name]) for name in ("assumptions", "not_covered")}
    epsilon = float("inf") if content["epsilon"] is None else content["epsilon"]
    loss = _read_loss(content.pop("loss", None))
    return Guarantee(
        **{**content, **lists, "epsilon": epsilon, "neighbours": neighbours, "loss": loss}
    )


def _read_loss(content: dict[str, Any] | None) -> Loss | None:
    match content:
        case {"squares": squares, "draws": draws}:
            return GaussianLoss(squares, draws)
        case {"epsilon": epsilon, "delta": delta}:
            return StatedLoss(epsilon, delta)
        case {"rate": rate, "shift": shift}:
            return LaplaceLoss(rate, shift)
        case {"epsilon": epsilon, "symbols": symbols}:
            return ResponseLoss(epsilon, symbols)
        case {"epsilon": epsilon}:
            return PureLoss(epsilon)
        case _:
            return None


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
