"""TLDP, Table II: clusters of trajectories that were displaced in time, or moved by noise."""

import numpy as np

from bench.figures.figure import Figure, Panel
from fugu.operators.mechanism import Floats, Inputs, Integers
from fugu.operators.noise.number_release import LaplaceRelease
from fugu.operators.temporal.dispatch_law import smallest_budget
from fugu.operators.temporal.temporal_perturbation import TemporalPerturbation
from fugu.operators.temporal.threshold import ExtendedThresholdPerturbation, ThresholdPerturbation
from tests.operators.noise.simulated import SimulatedDraws
from tests.operators.temporal.runs import Run

_TAXIS, _TICKS, _GROUPS, _WINDOW, _SIDE, _UNITS = 300, 100, 6, 10, 10.0, 1000
_EPSILONS = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0)
_PRINTED = {
    "Laplace": (0.003, 0.003, 0.004, 0.005, 0.006, 0.005, 0.006, 0.007),
    "threshold": (0.572, 0.590, 0.610, 0.616, 0.699, 0.705, 0.706, 0.768),
}
_STARTS, _ROUNDS, _ALIKE = 8, 30, 0.1


def temporal_clusters() -> Figure:
    """Cluster 300 generated trips of 100 ticks before and after."""
    rng = np.random.default_rng(3)
    trips = _trips(rng)
    truth = _clusters(trips, rng)
    found: dict[str, list[tuple[float, float]]] = {"threshold": [], "Laplace": []}
    for epsilon in _EPSILONS:
        for name, released in (
            ("threshold", _displaced(trips, epsilon)),
            ("Laplace", _noisy(trips, epsilon, rng)),
        ):
            found[name].append((epsilon, _shared(truth, _clusters(released, rng))))
    curves = {
        **found,
        **{
            f"{name}, printed": list(zip(_EPSILONS, values, strict=True))
            for name, values in _PRINTED.items()
        },
    }
    ahead = all(ours > noisy for (_, ours), (_, noisy) in zip(*found.values(), strict=True))
    off = {
        name: max(abs(found[name][at][1] - value) for at, value in enumerate(printed))
        for name, printed in _PRINTED.items()
    }
    alike = max(off.values()) < _ALIKE
    return Figure(
        "tldp-table-2",
        "Ye et al. 2021, Table II (generated trips from district to district, not the taxis)",
        [Panel(f"k = {_WINDOW}", "epsilon", "shared information (NMI)", curves, (False, False))],
        "refuted" if not ahead else "reproduced" if alike else "differs",
        f"The order is {'the printed one' if ahead else 'not the printed one'}: clusters of "
        f"displaced trips share {found['threshold'][0][1]:.2f} (epsilon 1) to "
        f"{found['threshold'][-1][1]:.2f} (epsilon 8) with those of the true ones, "
        f"{'always' if ahead else 'not always'} more than clusters of noisy trips, "
        f"{found['Laplace'][0][1]:.2f} to {found['Laplace'][-1][1]:.2f}. The figures are "
        f"{'near' if alike else 'not'} the printed ones, from which they are up to "
        f"{off['threshold']:.2f} (threshold) and {off['Laplace']:.2f} (Laplace) away: these trips "
        "are generated in six groups.",
    )


def _trips(rng: np.random.Generator) -> Floats:
    """Return `(ticks, taxis, 2)` places in kilometres: from one corner of a district to another."""
    ends = rng.uniform(0.0, _SIDE, (2, _GROUPS, 2))
    groups = rng.integers(_GROUPS, size=_TAXIS)
    scattered = ends[:, groups] + rng.normal(0.0, 0.8, (2, _TAXIS, 2))
    driven = np.linspace(0.0, 1.0, _TICKS)[:, None] ** rng.uniform(0.7, 1.4, _TAXIS)
    trips = scattered[0] + driven[:, :, None] * (scattered[1] - scattered[0])
    return np.asarray(trips + np.cumsum(rng.normal(0.0, 0.05, trips.shape), axis=0))


def threshold_for(k: int, epsilon: float) -> TemporalPerturbation:
    """Return the threshold mechanism, or the extended one where epsilon is too small for it."""
    if epsilon >= smallest_budget(k)[0]:
        return ThresholdPerturbation.for_budget(k=k, epsilon=epsilon)
    return ExtendedThresholdPerturbation.for_budget(k=k, epsilon=epsilon)


def _displaced(trips: Floats, epsilon: float) -> Floats:
    released = np.array(Run(threshold_for(_WINDOW, epsilon), _TAXIS).advance(_TICKS).released)[
        _WINDOW:
    ]
    ticks = np.arange(len(released))[:, None]
    held = np.maximum.accumulate(np.where(released > 0, ticks, 0), axis=0)
    last = np.maximum(np.take_along_axis(released, held, axis=0), 1)
    displaced: Floats = trips[last - 1, np.arange(_TAXIS)]
    return displaced


def _noisy(trips: Floats, epsilon: float, rng: np.random.Generator) -> Floats:
    """Add noise of scale 2 range / epsilon to each coordinate, as the paper does."""
    units = np.rint(trips * _UNITS).astype(np.int64)
    release = LaplaceRelease(int(units.min()), int(units.max()), epsilon / 2.0, _UNITS)
    flat = units.ravel()
    draws = SimulatedDraws(rng)
    _, releases = release.step(release.start(len(flat)), Inputs(flat), draws)
    return np.asarray(releases.values, dtype=np.float64).reshape(trips.shape)


def _clusters(trips: Floats, rng: np.random.Generator) -> Integers:
    """Assign trips to 6 medoids, the best of 8 starts."""
    flat = trips.transpose(1, 0, 2).reshape(_TAXIS, -1)
    squared = (flat * flat).sum(axis=1)
    apart = np.sqrt(np.maximum(squared[:, None] + squared - 2.0 * flat @ flat.T, 0.0))
    best: tuple[float, Integers] | None = None
    for _ in range(_STARTS):
        medoids = rng.choice(_TAXIS, _GROUPS, replace=False)
        for _ in range(_ROUNDS):
            groups = apart[:, medoids].argmin(axis=1)
            after = np.array(
                [
                    members[apart[np.ix_(members, members)].sum(axis=1).argmin()]
                    for members in (np.flatnonzero(groups == one) for one in range(_GROUPS))
                ]
            )
            if (after == medoids).all():
                break
            medoids = after
        cost = float(apart[np.arange(_TAXIS), medoids[groups]].sum())
        if best is None or cost < best[0]:
            best = cost, groups
    assert best is not None
    return best[1]


def _shared(one: Integers, other: Integers) -> float:
    """Return the normalised mutual information of two clusterings."""
    joint = np.zeros((_GROUPS, _GROUPS))
    np.add.at(joint, (one, other), 1.0 / len(one))
    apart = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    there = joint > 0.0
    mutual = float((joint[there] * np.log(joint[there] / apart[there])).sum())
    entropies = [_entropy(joint.sum(axis=axis)) for axis in (0, 1)]
    return mutual / max(float(np.mean(entropies)), 1e-12)


def _entropy(shares: Floats) -> float:
    there = shares[shares > 0.0]
    return -float((there * np.log(there)).sum())
