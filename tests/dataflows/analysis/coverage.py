"""Count how often 95 % bars of `fugu.read` hold the truth, over many seeded runs of each kind.

All runs are made at once: users are independent, so those of a run are a slice of all users. What
is read are the bytes that the pipeline would publish, and the promise beside them.
"""

import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import fugu
from fugu.dataflows.kinds import KINDS, kinds_of
from fugu.dataflows.kinds.families.collected import CollectedOperator
from fugu.dataflows.kinds.families.models import ModelOperator
from fugu.dataflows.kinds.families.policies import PolicyOperator
from fugu.dataflows.kinds.families.temporal import TemporalOperator
from fugu.operators.mechanism import Floats, Integers
from fugu.operators.sip.markov_model import MarkovModel
from tests.dataflows.analysis.sanitized import BEGIN, MINUTE, sanitized, sanitized_runs
from tests.dataflows.kinds.example_files import example_of

SYMBOLS, EACH, TICKS, PEOPLE = 4, 6, 48, 1_000
EVENING = 1_767_708_000_000
"""Tuesday, 6 January 2026, at 15:00 in Berlin."""
HELD = (0.93, 0.97)
"""Bound what 95 % bars may hold, of all questions of all runs."""
SHARES = (
    "grr",
    "oue",
    "lrm",
    "crr",
    "adaptive_crr",
    "batched_crr",
    "cold_start_crr",
    "robust_crr",
    "planned_crr",
    "paper_crr",
    "pim",
    "pba_ldp",
    "budget_distribution_ldp",
    "budget_absorption_ldp",
    "uniform_ldp",
    "sample_ldp",
)
MEANS = ("laplace", "staircase", "real_time_local")
DISPLACED = kinds_of(TemporalOperator)  # type: ignore[type-abstract]
POLICIES, COLLECTED = kinds_of(PolicyOperator), kinds_of(CollectedOperator)
TREE, TOTALS = "binary_tree", "running_total"
SERIES = (
    "uniform",
    "sample",
    "budget_distribution",
    "budget_absorption",
    "pba",
    "quantified",
    TREE,
    TOTALS,
    *POLICIES,
    *COLLECTED,
)
FILTERED = ("fast", "rescue_dp", "pegasus", "real_time")
LONGER = {"ts_sample": 960}
"""Ticks of kinds that measure once in so long a window that others show nothing of them."""
FEWER = 20
"""Users of each of five questions of a run about values displaced in time."""
FIRST_SEED = 20_000
"""The first seed of runs that no choice was based on."""


@dataclass(frozen=True)
class Coverage:
    """Hold what bars of a kind held: a truth for each question of each run."""

    kind: str
    question: str
    held: Floats
    """The share of the intervals of each run that hold the truth."""
    width: float
    """The median length of an interval."""
    alarms: float
    """The share of runs in which the model check gave an alarm, where there is one."""

    @property
    def row(self) -> str:
        """A line of the table."""
        alarms = "" if np.isnan(self.alarms) else f"{self.alarms:.3f}"
        return (
            f"{self.kind:<31} {self.question:<12} {len(self.held):>5} "
            f"{self.held.mean():.3f} {self.width:>10.4g}  {alarms}".rstrip()
        )


def of_shares(kind: str, runs: int, users: int = 100) -> Coverage:
    """Count over users of the model where one is declared; elsewhere each has habits of its own."""
    truth, shares = _users(kind, runs * users, seed=FIRST_SEED + sum(kind.encode()))
    tables = _read(kind, truth)
    held, widths, alarms = [], [], []
    for run in _runs(tables, runs, users):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", fugu.analysis.ModelAlarm)
            estimates = run.shares()
        low, high = (estimates.table[name].to_numpy() for name in ("low", "high"))
        held.append(np.mean((low <= shares) & (shares <= high)))
        widths.append(np.median(high - low))
        alarms.append(np.nan if estimates.check is None else float(estimates.check.alarm))
    return Coverage(
        kind, "shares", np.array(held), float(np.median(widths)), float(np.mean(alarms))
    )


def of_means(kind: str, runs: int, users: int = 100) -> Coverage:
    """Count over users with numbers around one of their own, within the range."""
    rng = np.random.default_rng(FIRST_SEED + sum(kind.encode()))
    displaced = kind in DISPLACED
    users, parts = (FEWER, users // FEWER) if displaced else (users, 1)
    count = runs * parts * users
    level = rng.uniform(60, 160, (count, 1))
    noise = rng.uniform(-20, 20, (count, TICKS // 2 if displaced else EACH))
    numbers: Any = np.rint(level + noise).astype(np.int64)
    if displaced:
        numbers = np.array([[b"%d" % one for one in row] for row in numbers], dtype=object)
    held, widths = [], []
    for run in _runs(_read(kind, numbers), runs * parts, users):
        table = run.means(by=None if displaced else "1m").table
        low, high = (table[name].to_numpy() for name in ("low", "high"))
        held.append(float(np.mean((low <= 110.0) & (high >= 110.0))))
        widths.append(float(np.median(high - low)))
    each = np.array(held).reshape(runs, parts).mean(axis=1)
    return Coverage(kind, "means", each, float(np.median(widths)), np.nan)


def of_figures(kind: str, runs: int) -> list[Coverage]:
    """Count over figures of two groups that walk at random: their series, smoothed, and totals of
    four ticks, where the kind has them."""
    answers: dict[str, tuple[list[float], list[float]]] = {}
    made = [_figures(kind, np.random.default_rng(FIRST_SEED + run)) for run in range(runs)]
    given = np.stack([one for one, _ in made])
    with tempfile.TemporaryDirectory() as folder:
        file = example_of(kind, Path(folder))
        released, promise = sanitized_runs(file, given, seed=FIRST_SEED, begin=_begin(kind))
    for records, (_, truth) in zip(released, made, strict=True):
        topic = fugu.read(records, promise=promise)
        for name, estimates, true in _answers(topic, truth):
            low, high = estimates.table["low"].to_numpy(), estimates.table["high"].to_numpy()
            held, widths = answers.setdefault(name, ([], []))
            held.append(float(np.mean((low <= true) & (true <= high))))
            widths.append(float(np.median(high - low)))
    return [
        Coverage(kind, name, np.array(held), float(np.median(widths)), np.nan)
        for name, (held, widths) in answers.items()
    ]


def _begin(kind: str) -> int:
    """Return when figures begin: with policies, before an evening that they say something of."""
    return EVENING if kind in POLICIES else BEGIN


def _figures(kind: str, rng: np.random.Generator) -> tuple[Integers, Floats]:
    """Return what a mechanism is given, and the figures `(groups, ticks)` that it is to tell."""
    if kind in POLICIES:
        ticks = LONGER.get(kind, TICKS)
        walk = 100_000 + np.cumsum(rng.integers(-400, 401, (1, ticks)), axis=1)
        return walk, walk / 100.0
    if kind in COLLECTED:
        chances = np.clip(0.5 + np.cumsum(rng.normal(0.0, 0.004, TICKS)), 0.1, 0.9)
        south = (rng.random((PEOPLE, 1)) < chances).astype(np.int64)
        counts = south.sum(axis=0, dtype=np.float64)
        return south, np.stack([PEOPLE - counts, counts])
    walks = 1_000 + np.cumsum(rng.integers(-4, 5, (2, TICKS)), axis=1)
    return walks, walks.astype(np.float64)


def _answers(
    topic: "fugu.analysis.Topic", truth: Floats
) -> Iterator[tuple[str, "fugu.analysis.Estimates", Floats]]:
    """Yield every answer about the figures with the truth of its rows."""
    series, kind = topic.series(), topic.promise.law.kind
    told = truth.cumsum(axis=1) if kind in (TREE, TOTALS) else truth
    yield "series", series, true_figures(series.table, told, 1, kind)
    if series.smoothing is not None:
        smooth = series.smoothed()
        yield "smoothed", smooth, true_figures(smooth.table, truth, 1, kind)
    if kind != TREE:
        totals = topic.totals(4)
        yield "totals of 4", totals, true_figures(totals.table, truth, 4, kind)


def true_figures(table: pa.Table, truth: Floats, window: int, kind: str) -> Floats:
    names, groups = ["north", "south"], np.zeros(len(table), dtype=np.int64)
    starts = table["start"].cast(pa.int64()).to_numpy()
    ticks = (starts - _begin(kind)) // ((10 if kind in POLICIES else 15) * MINUTE)
    if "group" in table.column_names:
        groups = np.array([names.index(name) for name in table["group"].to_pylist()])
    sums = np.array([truth[g, t : t + window].sum() for g, t in zip(groups, ticks, strict=True)])
    return sums.astype(np.float64)


def _users(kind: str, users: int, seed: int) -> tuple[Integers, Floats]:
    """Return truth `(users, EACH)`, and the shares among all such users."""
    rng = np.random.default_rng(seed)
    if issubclass(KINDS[kind], ModelOperator):
        return _walks(_model_of(kind), users, rng)
    habits = rng.dirichlet([2.0, 1.5, 1.0, 0.5], users)
    if kind.endswith("_ldp"):  # a report stands for the records that repeat it
        first = (habits.cumsum(axis=1) < rng.random((users, 1))).sum(axis=1)
        truth = np.repeat(np.minimum(first, SYMBOLS - 1)[:, None], EACH, axis=1)
    else:
        chances = rng.random((users, EACH))
        truth = (habits.cumsum(axis=1)[:, None, :] < chances[:, :, None]).sum(axis=2)
    return np.minimum(truth, SYMBOLS - 1), np.array([2.0, 1.5, 1.0, 0.5]) / 5.0


def _model_of(kind: str) -> MarkovModel:
    """Return the model that the example of a kind declares."""
    with tempfile.TemporaryDirectory() as folder:
        file = example_of(kind, Path(folder))
        section = file.pipeline.operator
        assert isinstance(section, ModelOperator)
        model = section.chain(file)
    assert isinstance(model, MarkovModel)
    return model


def _walks(model: MarkovModel, users: int, rng: Any) -> tuple[Integers, Floats]:
    truth = np.zeros((users, EACH), dtype=np.int64)
    chance, shares = model.prior, np.zeros(model.symbols)
    rows = np.asarray(model.transition)
    for step in range(EACH):
        law = np.tile(chance, (users, 1)) if step == 0 else rows[truth[:, step - 1]]
        drawn = (law.cumsum(axis=1) < rng.random((users, 1))).sum(axis=1)
        truth[:, step] = np.minimum(drawn, model.symbols - 1)
        shares += chance / EACH
        chance = chance @ rows
    return truth, shares


def _read(kind: str, truth: Integers) -> "fugu.analysis.Topic":
    with tempfile.TemporaryDirectory() as folder:
        file = example_of(kind, Path(folder))
        if truth.dtype != object:
            truth = truth * getattr(file.pipeline.operator, "units_per_one", 1)
        records, promise = sanitized(file, truth)
    return fugu.read(records, promise=promise)


def _runs(topic: "fugu.analysis.Topic", runs: int, users: int) -> Iterator["fugu.analysis.Topic"]:
    numbers = pc.cast(
        pc.utf8_slice_codeunits(topic.records["user"].cast(pa.string()), 5), pa.int64()
    ).to_numpy()
    for run in range(runs):
        own = topic.records.filter(pa.array(numbers // users == run))
        yield fugu.analysis.Topic(own, topic.promises)
