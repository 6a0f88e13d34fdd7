"""Measure what reports under a budget of windows cost beside `crr`, in interleaved rounds.

Other work on the machine slows all of a round alike, so what is compared is the ratio to `crr` of
the same round. Budget distribution is left out: it does not run compiled.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from statistics import median

from bench.comparison.contestants import FUGU
from bench.comparison.data import ALPHABET, stream_of
from bench.operator_costs import SHAPES, SYMBOLS, measure_operator, operators
from bench.operator_parts import STEP, USERS, measure_parts
from fugu.dataflows.run.causes import collect_garbage_seldom
from fugu.operators.mechanism import Mechanism
from fugu.operators.wevent.flags import Schedule
from fugu.operators.wevent_local.budget_absorption_ldp import LocalBudgetAbsorption
from fugu.operators.wevent_local.pba_ldp import LocalPrivacyBudgetAllocation
from fugu.operators.wevent_local.sample_ldp import LocalSample
from fugu.operators.wevent_local.uniform_ldp import LocalUniform

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
