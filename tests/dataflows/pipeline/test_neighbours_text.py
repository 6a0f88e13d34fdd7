"""One sentence for whatever neighbours may differ in, written from data."""

from dataclasses import replace

import pytest

from fugu.dataflows.base.durations import duration
from fugu.dataflows.pipeline.neighbours_text import per_in_words, protected_in_words
from fugu.operators.guarantee import CONTRIBUTIONS, PRESENCE, Guarantee, Neighbours, Per
from tests.conformance.kinds import KINDS

UNIFORM = KINDS["uniform"].examples()[0].mechanism.guarantees()[0]
KEPT = "while every record keeps its place and its timestamp"


def promise(neighbours: Neighbours, per: Per = "window") -> Guarantee:
    return replace(UNIFORM, neighbours=neighbours, per=per)


@pytest.mark.parametrize(
    ("neighbours", "per", "says"),
    [
        (
            CONTRIBUTIONS,
            "window",
            "what one person contributes within any such window, of which any part may be replaced "
            f"by another contribution or by none, {KEPT}",
        ),
        (
            CONTRIBUTIONS,
            "period",
            "what one person contributes within one such period, of which any part may be replaced "
            f"by another contribution or by none, {KEPT}",
        ),
        (
            PRESENCE,
            "stream",
            "everything that one person contributes, of which any part may be there or absent, but "
            f"no contribution may take the place of another one, {KEPT}",
        ),
        (
            Neighbours("stream", "symbol", "replaced"),
            "release",
            "the symbols of one stream that one release is about, of which any part may be "
            f"replaced by other symbols, {KEPT}",
        ),
        (
            Neighbours("stream", "number", "replaced"),
            "stream",
            "all numbers of one stream, of which any part may be replaced by other numbers of the "
            f"range, {KEPT}",
        ),
        (
            Neighbours("stream", "symbol", "believed"),
            "release",
            "the sequence of true symbols of one stream",
        ),
        (
            Neighbours("stream", "tick", "delayed", reach=9),
            "release",
            "the original tick of each value, which is published unchanged, delayed by a random "
            "0 to 9 ticks",
        ),
    ],
)
def test_a_sentence_says_whose_what_may_be_other_and_what_stays(
    neighbours: Neighbours, per: Per, says: str
) -> None:
    assert protected_in_words(promise(neighbours, per)) == says


@pytest.mark.parametrize(
    ("kept", "says"),
    [
        (("presence",), "while every record stays"),
        (("presence", "timestamp"), "while every record keeps its timestamp"),
        ((), "while records may be added or removed"),
        (
            ("timestamp",),
            "while records may be added or removed, and each of the others keeps its timestamp",
        ),
    ],
)
def test_what_is_not_kept_is_not_said_to_be(kept: tuple[str, ...], says: str) -> None:
    neighbours = replace(CONTRIBUTIONS, kept=kept)  # type: ignore[arg-type]
    assert says in protected_in_words(promise(neighbours))


@pytest.mark.parametrize(
    ("per", "window", "tick", "says"),
    [
        ("release", None, None, "release"),
        ("window", 10, None, "window of 10 consecutive ticks"),
        ("window", 10, 900_000, "window of 10 consecutive ticks of 15 min (2 h 30 min)"),
        ("window", 1, 86_400_000, "window of 1 tick of 1 day"),
        ("period", 7, 86_400_000, "aligned period of 7 ticks of 1 day (7 days)"),
        ("stream", None, None, "stream, over its whole life"),
    ],
)
def test_a_window_has_its_length_in_time_where_ticks_have_one(
    per: Per, window: int | None, tick: int | None, says: str
) -> None:
    assert per_in_words(per, window, tick) == says


def test_durations_are_exact() -> None:
    assert duration(1) == "1 ms"
    assert duration(86_400_000 * 2 + 1) == "2 days 1 ms"
