"""Check what many runs at once leave out: bytes, restarts, and by how much figures are apart."""

from collections.abc import Iterator

from fugu.dataflows.offline.auditing.aggregates.as_drawn import apart
from fugu.dataflows.offline.auditing.aggregates.worlds import Comparison
from fugu.dataflows.offline.auditing.audited import ROOT, Check
from fugu.dataflows.stages.merging import SCHEDULE
from fugu.operators.guarantee import GaussianLoss, Guarantee

_RUNS = [SCHEDULE, b"1", b"2"]


def checks(comparison: Comparison, sensitivity: int) -> Iterator[Check]:
    """Yield checks of the pipeline around the mechanism, and of what noise is for."""
    yield from around(comparison)
    found = apart(comparison)
    yield Check(
        "a tick of neighbours differs by no more than noise is for",
        found <= sensitivity,
        f"{found:,} of {sensitivity:,} units",
    )


def as_stated(guarantee: Guarantee, squares: int) -> Iterator[Check]:
    """Yield a check that neighbours are no more squared grid steps apart than a promise of Gaussian
    noise states."""
    if isinstance(guarantee.loss, GaussianLoss):
        yield Check(
            "neighbours differ by no more squared grid steps than the promise states",
            squares <= guarantee.loss.squares,
            f"{squares:,} of {guarantee.loss.squares:,}",
        )


def around(comparison: Comparison) -> Iterator[Check]:
    """Yield checks of the pipeline around the mechanism."""
    subject, secret = comparison.subject, ROOT.derive("checks")
    log = subject.log(next(iter(comparison.others.values())))
    at_once = subject.released(log, secret, _RUNS, restarts=True)
    alone = [subject.released(log, secret, [name], restarts=True) for name in _RUNS]
    together = [subject.published(at_once, secret, run).values for run in range(len(_RUNS))]
    yield Check(
        "runs at once publish the bytes of runs one by one",
        together == [subject.published(one, secret).values for one in alone],
        f"{sum(map(len, together)):,} records",
    )
    undisturbed = subject.released(log, secret, [SCHEDULE], restarts=False)
    yield Check(
        "a restart changes no published byte",
        subject.published(undisturbed, secret) == subject.published(alone[0], secret),
    )
    base = comparison.truths[comparison.base]
    same = all(truths.keys() == base.keys() for truths in comparison.truths.values())
    yield Check("neighbours release the same ticks", same)
