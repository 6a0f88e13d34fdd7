"""Promises of a mechanism under a budget: a total per stream, or a limit on the rate."""

from dataclasses import replace

from fugu.operators.guarantee import Guarantee


def of_stream(
    inner: tuple[Guarantee, ...], total: float, releases: int | None
) -> tuple[Guarantee, ...]:
    """Return the promises about a whole stream that spends at most `total` nats.

    The headline is what is charged. A stream that spent E in it is 2 E-private without a model.
    `releases` is their largest number, or None where it depends on what they cost.
    """
    if not inner[0].sound:
        return inner
    charged = inner[0].notion
    return tuple(
        replace(
            guarantee.of_releases(releases),
            epsilon=total * (1 if guarantee.notion == charged else 2),
            per="stream",
            composition="this is the sum over all releases of one stream, enforced by budget",
        )
        for guarantee in inner
    )


def of_window(
    inner: tuple[Guarantee, ...], window: int, total: float, releases: int | None
) -> tuple[Guarantee, ...]:
    """Return the promises per release, with the accounting rule of a window of positions."""
    return tuple(
        replace(guarantee, composition=_rule(guarantee.of_releases(releases), window, total))
        for guarantee in inner
    )


def _rule(of_all: Guarantee, window: int, total: float) -> str:
    delta = of_all.total_delta
    return (
        f"any {window} consecutive records of a stream spend at most {total:g} nats"
        + (f" with a delta of {delta:.3g}" if delta > 0.0 else "")
        + ", which limits the rate and not the sum: everything spent over a stream's life "
        "still adds up"
    )
