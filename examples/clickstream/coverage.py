"""Measure how often 95 % bars hold true shares, over several draws of visitors and secrets.

    python -m examples.clickstream.coverage [DRAWS]

The operator runs by itself here, without Kafka. Two readers are compared: the one of the example,
and posteriors. With `tastes` above 0 the protected visitors are unlike those of the public history.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from examples.clickstream.analyst import estimated_shares
from examples.clickstream.example import PUBLIC_VISITORS, VISITORS
from examples.clickstream.report import SMALLEST_SHARE
from examples.clickstream.site import Click, Site
from fugu.operators.estimates.shares import DifferenceReader, PosteriorReader, ShareReader
from fugu.operators.mechanism import Floats, Inputs, Integers
from fugu.operators.randomness import DrawScope, Secret, record_positions
from fugu.operators.responses.frequency_estimates import FrequencyEstimate
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.sip.learning import Counts, learned

_EPSILON = 4.0
_TASTES = (0.0, 0.3)
_POPULATION = 200_000
_NUMBERS_AT_ONCE = 80_000
"""Numbers of beliefs at once: so many stay in a processor's cache."""


def streams_of(clicks: Sequence[Click]) -> list[Integers]:
    """Return the pages of each visitor, in order."""
    streams: dict[int, list[int]] = {}
    for click in clicks:
        streams.setdefault(click.visitor, []).append(click.page)
    return [np.array(pages) for pages in streams.values()]


def learned_mechanism(site: Site, visitors: int, seed: int) -> ConditionalRandomizedResponse:
    """Return a mechanism relative to a model of other visitors, as `fugu model learn` makes it."""
    streams = streams_of(site.clicks(visitors, seed))
    numbers = np.repeat(np.arange(len(streams)), [len(stream) for stream in streams])
    counts = Counts.of(numbers, np.concatenate(streams), site.pages)
    model = learned(counts, alpha=1.0 / site.pages).sparse()
    return ConditionalRandomizedResponse(model, _EPSILON)


def released(
    mechanism: ConditionalRandomizedResponse, streams: Sequence[Integers], seed: int
) -> list[Integers]:
    """Return the releases of each stream."""
    scope = DrawScope(Secret(bytes(32)).derive(seed), "coverage", "crr", 1, mechanism.law_digest())
    done: list[Integers] = []
    at_once = max(1, _NUMBERS_AT_ONCE // mechanism.model.symbols)
    for first in range(0, len(streams), at_once):
        group = streams[first : first + at_once]
        out = [np.zeros_like(stream) for stream in group]
        state = mechanism.start(len(group))
        for step in range(max(map(len, group))):
            going = [row for row, stream in enumerate(group) if len(stream) > step]
            inputs = Inputs(np.array([group[row][step] for row in going]))
            keys = [b"%d" % (first + row) for row in going]
            draws = scope.draws(keys, record_positions("clicks", 0, [step] * len(going)))
            before = {name: column[going] for name, column in state.items()}
            after, releases = mechanism.step(before, inputs, draws)
            for name, column in after.items():
                state[name][going] = column
            for row, page in zip(going, releases.values.tolist(), strict=True):
                out[row][step] = page
        done += out
    return done


def shares_of(streams: Sequence[Integers], pages: int) -> Floats:
    """Return the shares of all clicks."""
    clicks = np.concatenate(streams)
    return np.asarray(np.bincount(clicks, minlength=pages) / len(clicks))


@dataclass
class Found:
    """Hold what one reader made of every population: one entry for each frequent page."""

    errors: list[float] = field(default_factory=list)
    population_errors: list[float] = field(default_factory=list)
    margins: list[float] = field(default_factory=list)

    def add(self, estimate: FrequencyEstimate, truth: Floats, population: Floats) -> None:
        """Add another draw of visitors: their own shares, and those of all visitors like them."""
        frequent = population >= SMALLEST_SHARE
        bars = estimate.intervals(0.95)[frequent]
        self.errors += (estimate.shares - truth)[frequent].tolist()
        self.population_errors += (estimate.shares - population)[frequent].tolist()
        self.margins += ((bars[:, 1] - bars[:, 0]) / 2.0).tolist()

    def cells(self) -> list[str]:
        """Return coverage, and errors and bars in per cent of clicks."""
        errors, margins = np.array(self.errors), np.array(self.margins)
        held = np.abs(errors) <= margins
        population_held = np.abs(self.population_errors) <= margins
        return [
            f"{held.mean():.1%} of {len(held)}",
            f"{population_held.mean():.1%}",
            f"{errors.mean():+.3%}",
            f"{np.sqrt(np.mean(errors**2)):.3%}",
            f"{np.median(margins):.3%}",
        ]


def main() -> None:
    """Print a row for each difference of tastes and each reader."""
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    headings = ("their own shares held", "of all such visitors", "mean error", "RMS", "median ±")
    table = Table("tastes", "reader", *headings)
    with Progress() as progress:
        task = progress.add_task("visitors", total=len(_TASTES) * draws)
        for tastes in _TASTES:
            site = Site(tastes=tastes)
            population = shares_of(streams_of(site.clicks(_POPULATION, seed=0)), site.pages)
            found = {"difference": Found(), "posterior": Found()}
            for seed in range(1_000, 1_000 * (draws + 1), 1_000):
                mechanism = learned_mechanism(Site(), PUBLIC_VISITORS, seed)
                streams = streams_of(site.clicks(VISITORS, seed + 1))
                told = released(mechanism, streams, seed + 2)
                readers: dict[str, ShareReader] = {
                    "difference": DifferenceReader(mechanism),
                    "posterior": PosteriorReader(mechanism),
                }
                for name, reader in readers.items():
                    estimate = estimated_shares(reader, site.pages, told)
                    found[name].add(estimate, shares_of(streams, site.pages), population)
                progress.advance(task)
            for name, one in found.items():
                table.add_row(f"{tastes:g}", name, *one.cells())
    Console().print(table)


if __name__ == "__main__":
    main()
