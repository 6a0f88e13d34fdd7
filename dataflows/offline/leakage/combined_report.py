"""Compute what two releases about the same people leak together, and print it tick by tick."""

from dataclasses import asdict, dataclass

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from fugu.operators.leakage.combined import Topology, combined
from fugu.operators.leakage.correlation import LeakageOverTime, TemporalCorrelation
from fugu.operators.leakage.inversion import rounded_up

_MEANINGS: dict[Topology, str] = {
    "parallel": (
        "Both read the raw data of the same people: epsilons of a tick add up before the "
        "recursion. The sum of both leakages would be no bound."
    ),
    "serial": (
        "The second reads what the first has released, and nothing else. The first may release "
        "something again, or remember a value, and the second perturbs every copy anew: so it "
        "tells what the first tells, and no more. --memoryless says that this never happens."
    ),
    "disjoint": "Nobody is in both: the larger leakage counts.",
    "independent": (
        "They are about attributes that say nothing about each other: leakages add up."
    ),
}


_MEMORYLESS = (
    "The second reads what the first has released, and nothing else. Each release of the first "
    "depends on its own tick alone, and is there once, so that both perturb it: a tick tells less "
    "than the smaller epsilon. Who reads the first, too, learns what that tells."
)


@dataclass(frozen=True)
class CombinedReport:
    """Hold the leakage about every tick: by the first release, by the second, and by both."""

    topology: Topology
    epsilons: tuple[float, float]
    first: LeakageOverTime
    second: LeakageOverTime
    together: LeakageOverTime
    memoryless: bool

    @property
    def meaning(self) -> str:
        """Return what the topology means for the sum."""
        return _MEMORYLESS if self.memoryless else _MEANINGS[self.topology]

    def document(self) -> dict[str, object]:
        """Return the report for machines."""
        return {**asdict(self), "meaning": self.meaning}


def combined_report(
    topology: Topology,
    correlations: tuple[TemporalCorrelation, TemporalCorrelation],
    epsilons: tuple[float, float],
    ticks: int,
    *,
    memoryless: bool,
) -> CombinedReport:
    """Compute the leakage where every tick spends the same; `memoryless` is for `serial` alone."""
    one, other = (
        (correlation, [epsilon] * ticks)
        for correlation, epsilon in zip(correlations, epsilons, strict=True)
    )
    alone = one[0].over(one[1]), other[0].over(other[1])
    together = combined(topology, one, other, memoryless=memoryless)
    return CombinedReport(topology, epsilons, *alone, together, memoryless)


def print_combined(console: Console, report: CombinedReport) -> None:
    """Print a row for every tick, and what the topology means."""
    first, second = report.epsilons
    table = Table(box=SIMPLE_HEAD, padding=(0, 1), show_edge=False, pad_edge=False)
    headings = ("tick", f"first, {first:g} nats", f"second, {second:g} nats", "together")
    for heading in headings:
        table.add_column(heading, justify="right")
    totals = zip(report.first.total, report.second.total, report.together.total, strict=True)
    for tick, figures in enumerate(totals, start=1):
        table.add_row(str(tick), *map(rounded_up, figures))
    console.print(f"\n[bold]Two releases, {report.topology}[/bold]: nats about the value of a tick")
    console.print(table)
    console.print(report.meaning, highlight=False)
