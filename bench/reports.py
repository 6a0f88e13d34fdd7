"""Measure what reports under a budget of windows cost beside `crr`, in interleaved rounds.

Other work on the machine slows all of a round alike, so what is compared is the ratio to `crr` of
the same round. Budget distribution is left out: it does not run compiled.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from statistics import median

from bench.comparison.contestants import FUGU
from bench.comparison.data import ALPHABET, stream_of
from bench.grid import Grid, figures
from bench.operator_costs import SHAPES, SYMBOLS, measure_operator, operators
from bench.operator_parts import STEP, USERS, measure_parts
from bench.page import Page
from fugu.dataflows.run.causes import collect_garbage_seldom
from fugu.operators import compiled
from fugu.operators.mechanism import Mechanism
from fugu.operators.wevent.pba import Schedule
from fugu.operators.wevent_local.strategies import (
    LocalBudgetAbsorption,
    LocalPrivacyBudgetAllocation,
    LocalSample,
    LocalUniform,
)

BASELINE = "crr"
_WINDOW, _EPSILON, _ROUNDS = 10, 10.0, 3
_SHAPES = ("1,000 users", "1 user", "half one key")


@dataclass(frozen=True)
class ReportCost:
    """Hold CPU microseconds per record of each round, of the lift or of a whole pipeline."""

    operator: str
    what: str
    microseconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return median(self.microseconds)

    def ratio(self, baseline: "ReportCost") -> float:
        """Return the median of the ratios of single rounds."""
        pairs = zip(self.microseconds, baseline.microseconds, strict=True)
        return median(own / other for own, other in pairs)


def measure_reports(say: Callable[[str], None]) -> list[ReportCost]:
    """Measure the lift by shape, and all parts of a pipeline without Kafka."""
    collect_garbage_seldom()
    for name, mechanism in _mechanisms().items():
        say(f"{name}, compiling")
        measure_operator(name, mechanism, _SHAPES[0], *SHAPES[_SHAPES[0]])
    found: dict[tuple[str, str], list[float]] = {}
    for _ in range(_ROUNDS):
        for name, what, microseconds in _round(say):
            found.setdefault((name, what), []).append(microseconds)
    return [ReportCost(*names, tuple(costs)) for names, costs in found.items()]


def _round(say: Callable[[str], None]) -> Iterator[tuple[str, str, float]]:
    for shape in _SHAPES:
        for name, mechanism in _mechanisms().items():
            say(f"{name}, {shape}")
            cost = measure_operator(name, mechanism, shape, *SHAPES[shape])
            yield name, shape, cost.microseconds
    stream = stream_of(USERS, 1)
    for name, section in _sections().items():
        say(f"{name}, whole")
        contestant = FUGU if section is None else FUGU.with_sections(operator=section, state={})
        parts = measure_parts(contestant, stream)
        yield name, "whole", sum(parts.values()) - parts.get(STEP, 0.0)


def _mechanisms() -> dict[str, Mechanism]:
    always, common = Schedule((True,)), (SYMBOLS, _WINDOW, _EPSILON)
    return {
        BASELINE: operators()[BASELINE],
        "pba_ldp": LocalPrivacyBudgetAllocation(*common, flags=always),
        "pba_ldp, laplace": LocalPrivacyBudgetAllocation(*common, "laplace", always),
        "budget_absorption_ldp": LocalBudgetAbsorption(*common),
        "uniform_ldp": LocalUniform(*common),
        "sample_ldp": LocalSample(*common),
    }


def _sections() -> Mapping[str, dict[str, object] | None]:
    common = {"alphabet": ALPHABET, "epsilon": _EPSILON, "window": _WINDOW}
    kinds = ("budget_absorption_ldp", "uniform_ldp", "sample_ldp")
    return {
        BASELINE: None,
        "pba_ldp": {"kind": "pba_ldp", "flags": True, **common},
        "pba_ldp, laplace": {
            "kind": "pba_ldp",
            "flags": True,
            "dissimilarity": "laplace",
            **common,
        },
        **{kind: {"kind": kind, **common} for kind in kinds},
    }


# Costs of reports under a budget of windows as tables.


def reports_page(costs: list[ReportCost], command: str, load_before: float) -> Page:
    """One row per kind: microseconds, and ratios to `crr` in the same round."""
    columns = list(dict.fromkeys(cost.what for cost in costs))
    by_operator: dict[str, dict[str, ReportCost]] = {}
    for cost in costs:
        by_operator.setdefault(cost.operator, {})[cost.what] = cost
    absolute, relative = [], []
    for name, row in by_operator.items():
        shown = [(row[what], by_operator[BASELINE][what]) for what in columns]
        absolute.append([name, *figures(2, *(own.median for own, _ in shown))])
        relative.append([name, *figures(2, *(own.ratio(crr) for own, crr in shown))])
    header = ["operator", *columns]
    return Page(
        "reports",
        "Reports under a budget of windows",
        command,
        load_before,
        {"compiled": compiled.described(), "costs": [asdict(cost) for cost in costs]},
        [
            Grid("CPU µs a record, median of rounds", header, absolute),
            Grid("Divided by crr, median of ratios within rounds", header, relative),
        ],
        [
            "Ten symbols, windows of ten, 10 nats; pba_ldp with all flags. Shapes: the lift of one "
            "partition, batches of 5,000 records, decoded before. Whole: codec, lift, publisher "
            "and state of a pipeline with 2,500 users, without Kafka.",
            "Rounds are interleaved: where the machine is busy, read the ratios.",
        ],
    )
