"""Choose mechanisms that displace values and, for numbers, operators that change them instead."""

from collections.abc import Sequence
from math import ceil, floor, log10

from fugu.dataflows.kinds import TemporalOperator, as_kind
from fugu.dataflows.offline.evaluation.candidates import Candidate, Grid
from fugu.dataflows.offline.evaluation.temporal.numbers import BASELINES, Numbers
from fugu.operators.temporal.extended_threshold import ExtendedThresholdPerturbation
from fugu.operators.temporal.selection import PREFERENCE

_SUFFIX = "_perturbation"
_SHOWN = {"c0": "threshold", "accepted": "acceptance", "calibrate": "calibrate"}


def configured_epsilon(operator: TemporalOperator) -> float:
    """Return that of the law that is drawn, rounded up to three digits: rivals get as much.

    Of a law that is uniform, return the declared one.
    """
    law = operator.perturbation().delay_law_epsilon
    if law == 0.0:
        return float(operator.epsilon or 0.0)
    decimals = 2 - floor(log10(law))
    return round(ceil(law * 10.0**decimals - 1e-6) / 10.0**decimals, decimals)


def grid_of(
    operator: TemporalOperator,
    epsilons: Sequence[float],
    rivals: Sequence[str],
    numbers: Numbers | None,
) -> Grid:
    """Take the own operator first, then its rivals, each with every epsilon it takes.

    Of candidates with the same law the first one stands for all.
    """
    grid = Grid()
    kinds = (operator.kind, *(kind for kind in PREFERENCE if kind in rivals))
    named = {kind.removesuffix(_SUFFIX): kind for kind in kinds}
    grid.add_each(named, epsilons, lambda name, eps: _displacing(operator, named[name], eps))
    laws = {(one.mechanism.law_digest(), one.epsilon): one for one in reversed(grid.candidates)}
    grid.candidates[:] = [one for one in grid.candidates if one in laws.values()]
    grid.require_some()
    if numbers is not None:
        grid.add_each((kind for kind in BASELINES if kind in rivals), epsilons, numbers.baseline)
    return grid


def _displacing(operator: TemporalOperator, kind: str, epsilon: float) -> Candidate:
    """Name the mechanism, even if the section leaves the choice to costs."""
    mechanism = _spending(operator, kind, epsilon).perturbation()
    plain = isinstance(mechanism, ExtendedThresholdPerturbation) and mechanism.accepted == 1.0
    if plain and kind != operator.kind:
        raise ValueError("it drops nothing, and is threshold")
    found = {key: getattr(mechanism, name, None) for name, key in _SHOWN.items()}
    settings = {
        "kind": mechanism.kind,
        "window": mechanism.k,
        **{key: value for key, value in found.items() if value is not None},
    }
    return Candidate(kind, epsilon, mechanism, settings, mechanism.kind.removesuffix(_SUFFIX))


def _spending(operator: TemporalOperator, kind: str, epsilon: float) -> TemporalOperator:
    """Treat every epsilon but the pipeline's own as an upper bound of what the law has."""
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
