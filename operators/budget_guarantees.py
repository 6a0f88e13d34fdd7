"""Promises of a mechanism under a budget: a total per stream, or a limit on the rate."""

from dataclasses import replace

from fugu.operators.guarantee import Guarantee
from fugu.operators.points import Point

_ENFORCED = Point("budget", "the budget refuses every release beyond it")
RATE = Point(
    "budget-of-a-window",
    "any {records:,} consecutive records of a stream spend at most {nats:.6g} nats, which limits "
    "the rate and not the composed privacy loss of a stream",
)
_RATE_OF_DELTA = Point("delta-of-a-window", "the deltas of so many records are at most {delta:.3g}")


def of_stream(
    inner: tuple[Guarantee, ...], total: float, releases: int | None
) -> tuple[Guarantee, ...]:
    """Return the promises about a whole stream that spends at most `total` nats.

    The headline is what is charged. A stream that spent E in it is 2 E-private without a model.
    `releases` is their largest number, or None where it depends on what they cost.
    """
    if not inner[0].sound:
        return inner
    return tuple(
        replace(
            guarantee.of_releases(releases),
            epsilon=total * _factor(guarantee, inner),
            per="stream",
            accounting=(_ENFORCED,),
        )
        for guarantee in inner
    )


def of_window(
    inner: tuple[Guarantee, ...], window: int, total: float, releases: int | None
) -> tuple[Guarantee, ...]:
    """Return the promises per release, with the accounting rule of a window of positions."""
    return tuple(
        replace(
            guarantee,
            accounting=(
                *guarantee.accounting,
                RATE.of(records=window, nats=total * _factor(guarantee, inner)),
                *_deltas(guarantee.of_releases(releases).total_delta),
            ),
        )
        for guarantee in inner
    )


def _factor(guarantee: Guarantee, inner: tuple[Guarantee, ...]) -> int:
    return 1 if guarantee.notion == inner[0].notion else 2


def _deltas(delta: float) -> tuple[Point, ...]:
    return (_RATE_OF_DELTA.of(delta=delta),) if delta > 0.0 else ()
