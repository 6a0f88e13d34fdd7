"""What is compared: the pipeline as it is, with other epsilons, the other mechanisms that displace
values, and, where values are numbers, operators that change them instead."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from fugu.dataflows.base.errors import FuguError
from fugu.dataflows.kinds import TemporalOperator, as_kind
from fugu.dataflows.offline.evaluation.candidates import Candidate
from fugu.dataflows.offline.evaluation.grid import Grid
from fugu.dataflows.offline.evaluation.temporal.numbers import BASELINES, Numbers
from fugu.operators.temporal.extended_threshold import ExtendedThresholdPerturbation
from fugu.operators.temporal.selection import PREFERENCE
from fugu.operators.temporal.temporal_perturbation import TemporalPerturbation

_SUFFIX = "_perturbation"
_SHOWN = {"c0": "threshold", "accepted": "acceptance", "calibrate": "calibrate"}


@dataclass(frozen=True, eq=False)
class Displacing(Candidate):
    """A mechanism that displaces values; `kind` is what its section says."""

    @property
    def name(self) -> str:
        """What it is, even if the section leaves the choice to costs."""
        return self.mechanism.kind.removesuffix(_SUFFIX)


def configured_epsilon(operator: TemporalOperator) -> float:
    """Return that of the law that is drawn, rounded up to three digits: rivals get as much.

    Of a law that is uniform, return the declared one.
    """
    law = operator.perturbation().delay_law_epsilon
    if law == 0.0:
        return float(operator.epsilon or 0.0)
    decimals = 2 - floor(log10(law))
    return round(ceil(law * 10.0**decimals - 1e-6) / 10.0**decimals, decimals)


def chosen_rivals(operator: TemporalOperator, text: str | None) -> list[str]:
    """Kinds with commas between them; without any, all that there are."""
    known = [*PREFERENCE, *BASELINES]
    named = known if text is None else [kind.strip() for kind in text.split(",")]
    for kind in named:
        if kind not in (*known, operator.kind):
            raise FuguError(
                f"--rivals {kind}: is nothing to compare {operator.kind} with. Write some of: "
                f"{', '.join(known)}"
            )
    return [kind for kind in named if kind != operator.kind]


def grid_of(
    operator: TemporalOperator,
    epsilons: Sequence[float],
    rivals: Sequence[str],
    numbers: Numbers | None,
) -> Grid[Candidate]:
    """The pipeline's own operator first, then its rivals, each with every epsilon it takes."""
    grid = Grid[Candidate]()
    for kind in (operator.kind, *(kind for kind in PREFERENCE if kind in rivals)):
        for epsilon in epsilons:
            _add(grid, operator, kind, epsilon)
    if not grid.candidates:
        raise FuguError("\n".join(["--epsilons: nothing is left to compare", *grid.left_out]))
    for kind in (kind for kind in BASELINES if kind in rivals):
        for epsilon in epsilons:
            if numbers is not None:
                _add_baseline(grid, numbers, kind, epsilon)
    return grid


def _add(grid: Grid[Candidate], operator: TemporalOperator, kind: str, epsilon: float) -> None:
    """One of each law: the pipeline's own stands for a rival that is the same."""
    own = kind == operator.kind
    try:
        mechanism = _spending(operator, kind, epsilon).perturbation()
    except ValueError as error:
        return grid.leave_out(kind.removesuffix(_SUFFIX), epsilon, str(error))
    candidate = Displacing(kind, epsilon, mechanism, _settings(mechanism))
    plain = isinstance(mechanism, ExtendedThresholdPerturbation) and mechanism.accepted == 1.0
    if plain and not own:
        return grid.leave_out(candidate.name, epsilon, "it drops nothing, and is threshold")
    laws = {(one.mechanism.law_digest(), one.epsilon) for one in grid.candidates}
    if (mechanism.law_digest(), epsilon) not in laws:
        grid.candidates.append(candidate)


def _spending(operator: TemporalOperator, kind: str, epsilon: float) -> TemporalOperator:
    """Every epsilon but the pipeline's own is an upper bound of what the law has."""
    own = kind == operator.kind
    if own and epsilon == configured_epsilon(operator):
        return operator
    changed: dict[str, object] = {
        "epsilon": epsilon,
        "threshold": None,
        "acceptance": None,
        "calibrate": "visible",
    }
    if not own:
        changed |= {"require": []}
    made: TemporalOperator = as_kind(operator, kind, **changed)
    return made


def _add_baseline(grid: Grid[Candidate], numbers: Numbers, kind: str, epsilon: float) -> None:
    try:
        grid.candidates.append(numbers.baseline(kind, epsilon))
    except ValueError as error:
        grid.leave_out(kind, epsilon, str(error))


def _settings(mechanism: TemporalPerturbation) -> dict[str, object]:
    """As a section of this kind says so."""
    found = {key: getattr(mechanism, name, None) for name, key in _SHOWN.items()}
    return {
        "kind": mechanism.kind,
        "window": mechanism.k,
        **{key: value for key, value in found.items() if value is not None},
    }
