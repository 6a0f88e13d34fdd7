"""Draws per second beside OpenDP and numpy: `python -m bench.samplers`, a quarter of a minute.

All in one process, in turn, so that the ratios are of the same minutes. Fugu's draws are keyed: a
replay repeats them; OpenDP's and numpy's are new ones. numpy's are doubles, whose last bits give
values away (Mironov 2012): they are here as what noise costs where it protects nobody.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from rich.console import Console

from bench.grid import Grid, figures
from bench.page import Page
from fugu.operators.mechanism import Integers
from fugu.operators.noise import discrete_laplace
from fugu.operators.noise.gaussian import GaussianNoise
from fugu.operators.noise.laplace import LaplaceNoise
from fugu.operators.randomness import DrawScope, Secret, record_positions

COMMAND = ".venv/bin/python -m bench.samplers"
VALUES_PER_CALL = 1_000
ROUNDS = 5
_SECONDS = 0.3
_RESULTS = Path(__file__).parent / "results"

OPENDP_ONE = "OpenDP Laplace, one value a call"
OPENDP_MANY = "OpenDP Laplace, a vector a call"
NUMPY_MANY = "numpy Laplace, a vector a call (unsafe)"
BASELINES = {
    "/ OpenDP, one": OPENDP_ONE,
    "/ OpenDP, vector": OPENDP_MANY,
    "/ numpy, vector": NUMPY_MANY,
}


class Missing(RuntimeError):
    """A library to compare with is not installed."""


@dataclass(frozen=True)
class SamplerRate:
    """Draws per second of one sampler, by round."""

    sampler: str
    values_per_call: int
    rates: list[float]

    @property
    def draws_per_second(self) -> float:
        """The median of the rounds."""
        return median(self.rates)


@dataclass(frozen=True)
class Contender:
    """A sampler, and one call of it."""

    name: str
    values: int
    call: Callable[[], object]

    def rate(self) -> float:
        """Draws per second of CPU time, over calls that together take a third of a second."""
        calls, began = 0, time.process_time()
        while (spent := time.process_time() - began) < _SECONDS:
            self.call()
            calls += 1
        return calls * self.values / spent


def measure_samplers(rounds: int = ROUNDS) -> list[SamplerRate]:
    """Every sampler in every round."""
    contenders = [*_fugu(), *_opendp(), *_numpy()]
    for contender in contenders:
        contender.call()
    rates = [[contender.rate() for contender in contenders] for _ in range(rounds)]
    return [
        SamplerRate(contender.name, contender.values, list(column))
        for contender, column in zip(contenders, zip(*rates, strict=True), strict=True)
    ]


def samplers_grid(measured: list[SamplerRate]) -> Grid:
    """One row for each sampler; ratios are of medians."""
    medians = {one.sampler: one.draws_per_second for one in measured}
    rows = []
    for one in measured:
        ratios = (one.draws_per_second / medians[baseline] for baseline in BASELINES.values())
        cells = [f"{ratio:.3g}" for ratio in ratios]
        rows.append([one.sampler, *figures(0, one.draws_per_second), *cells])
    return Grid(
        f"Draws per second of CPU time; a vector has {VALUES_PER_CALL:,} values; "
        f"median of {len(measured[0].rates)}",
        ["sampler", "draws/s", *BASELINES],
        rows,
    )


def samplers_page(measured: list[SamplerRate], load_before: float) -> Page:
    """Return what is written and shown."""
    return Page(
        "samplers",
        "Samplers",
        COMMAND,
        load_before,
        {
            "command": COMMAND,
            "load_before": load_before,
            "opendp": version("opendp"),
            "samplers": [
                {**asdict(one), "draws_per_second": one.draws_per_second} for one in measured
            ],
        },
        [samplers_grid(measured)],
        [
            f"OpenDP {version('opendp')}. Fugu's and OpenDP's noise is integer, with a scale of "
            "2^24 (Laplace) or a deviation of 2^14 (Gaussian). Fugu's draws include putting values "
            "on the grid and the keyed hashes that make a replay repeat them.",
        ],
    )


def _fugu() -> Iterator[Contender]:
    laplace = LaplaceNoise(sensitivity=1000, epsilon=1.0, lower=0, upper=1000)
    gaussian = GaussianNoise(sensitivity=1000, deviation=500.0, lower=0, upper=1000)
    scope = DrawScope(Secret(bytes(32)), "bench", "samplers", 1, bytes(32))

    def add(noise: LaplaceNoise | GaussianNoise, values: Integers) -> Callable[[], object]:
        rows = len(values)
        keys = [b"user-%06d" % row for row in range(rows)]
        draws = scope.draws(keys, record_positions("bench", 0, range(rows)))
        return lambda: noise.add(values, draws)

    many = np.arange(VALUES_PER_CALL)
    vector = many[None, :]
    words = np.random.default_rng(1).integers(
        2**64, size=(VALUES_PER_CALL, discrete_laplace.WORDS_PER_DRAW), dtype=np.uint64
    )
    yield Contender("Fugu Laplace, one value a call", 1, add(laplace, many[:1]))
    yield Contender("Fugu Laplace, a vector a call", len(many), add(laplace, vector))
    yield Contender("Fugu Laplace, 1,000 streams a call", len(many), add(laplace, many))
    yield Contender(
        "· without hashing: words ready made",
        len(many),
        lambda: discrete_laplace.SAMPLER.sample(words),
    )
    yield Contender("Fugu Gaussian, a vector a call", len(many), add(gaussian, vector))


def _opendp() -> Iterator[Contender]:
    try:
        opendp: Any = import_module("opendp.prelude")
    except ModuleNotFoundError as error:
        raise Missing(
            "OpenDP, to compare with, is not installed; run: .venv/bin/pip install opendp"
        ) from error
    opendp.enable_features("contrib")
    domain = opendp.atom_domain(T=int)
    vectors = opendp.vector_domain(domain)
    one = opendp.m.make_laplace(domain, opendp.absolute_distance(T=int), scale=2.0**24)
    many = opendp.m.make_laplace(vectors, opendp.l1_distance(T=int), scale=2.0**24)
    gaussian = opendp.m.make_gaussian(vectors, opendp.l2_distance(T=float), scale=2.0**14)
    zeros = [0] * VALUES_PER_CALL
    yield Contender(OPENDP_ONE, 1, lambda: one(0))
    yield Contender(OPENDP_MANY, VALUES_PER_CALL, lambda: many(zeros))
    yield Contender("OpenDP Gaussian, a vector a call", VALUES_PER_CALL, lambda: gaussian(zeros))


def _numpy() -> Iterator[Contender]:
    rng = np.random.default_rng(1)
    yield Contender(
        "numpy Laplace, one value a call (unsafe)", 1, lambda: rng.laplace(0.0, 2.0**24)
    )
    yield Contender(NUMPY_MANY, VALUES_PER_CALL, lambda: rng.laplace(0.0, 2.0**24, VALUES_PER_CALL))


def main() -> None:
    """Measure, write, show."""
    load_before = os.getloadavg()[0]
    with Console().status("drawing"):
        page = samplers_page(measure_samplers(), load_before)
    page.publish(_RESULTS)


if __name__ == "__main__":
    try:
        main()
    except Missing as error:
        sys.exit(f"bench.samplers: {error}")
