"""SIP, Figs. 7 and 9: gaze on a grid, as it is released and how far off that is."""

import numpy as np

from bench.figures import gaze
from bench.figures.figure import Difference, Figure, Panel, sides_told
from bench.figures.symbol_runs import released
from fugu.operators.mechanism import Floats, Integers

_SECONDS, _SHOWN, _EACH = 1, 10.0, 2
_PER_SECOND = (10.0, 50.0, 200.0)
_WINDOWS = (5, 10)


def sip_gaze() -> Figure:
    """Release two seconds of each of ten people under chains of two orders."""
    people = gaze.Gaze()
    truths = people.samples(_SECONDS * gaze.RATE, seed=11, each=_EACH)
    first, second = people.model(), people.second_order()
    shown = _SHOWN / gaze.RATE
    paths = {
        "true": truths,
        "grr": released(gaze.response(shown), truths, seed=5)[0],
        "crr": released(gaze.one_by_one(first, shown)["crr"], truths, seed=5)[0],
        "batches of 10": released(gaze.in_batches(first, 10, shown), truths, seed=5)[0],
    }
    panels = [
        Panel(
            f"cell over time, {_SHOWN:g} nats a second (Fig. 7)",
            "sample, 50 a second",
            "column of the cell, shifted by 12",
            {name: _column(path, 12.0 * place) for place, (name, path) in enumerate(paths.items())},
            (False, False),
        )
    ]
    apart: dict[tuple[str, float], dict[str, Floats]] = {}
    for order, model in (("first", first), ("second", second)):
        curves: dict[str, list[tuple[float, float]]] = {}
        for spent in _PER_SECOND:
            epsilon = spent / gaze.RATE
            mechanisms = {"grr": gaze.response(epsilon), **gaze.one_by_one(model, epsilon)}
            if order == "first":
                for window in _WINDOWS:
                    batches = gaze.in_batches(first, window, epsilon)
                    mechanisms[f"batches of {window}"] = batches
            for name, mechanism in mechanisms.items():
                found, _ = released(mechanism, truths, seed=5)
                off = gaze.distances(found, truths)
                apart.setdefault((order, spent), {})[name] = off
                curves.setdefault(name, []).append((spent, float(off.mean())))
        panels.append(
            Panel(
                f"chain of {order} order (Fig. 9)",
                "nats for a second of 50 samples",
                "mean distance, cells",
                curves,
                (True, False),
            )
        )
    pairs = {
        (one, other): {
            spent: Difference.of(apart["first", spent][one], apart["first", spent][other])
            for spent in _PER_SECOND
        }
        for one, other in (("crr", "pim, 2 epsilon"), ("batches of 10", "batches of 5"))
    }
    at = _PER_SECOND[-1]
    told = ", ".join(f"{name} {off.mean():.2f}" for name, off in apart["first", at].items())
    whole = all(one.side < 0 for found in pairs.values() for one in found.values())
    against, longer = (sides_told(found, *names) for names, found in pairs.items())
    blind = min(float(off.mean()) for off in apart["first", _SHOWN].values())
    best = float(gaze.distances(_centre(truths), truths).mean())
    return Figure(
        "sip-figures-7-and-9",
        "Jiang, Li and Tandon 2024, Figs. 7 and 9 (generated gaze on 10 x 10 cells, not MOJO's on "
        "100 x 100)",
        panels,
        "reproduced" if whole else "differs",
        f"At {at:g} nats a second and with a chain of first order, releases are {told} cells off. "
        f"By nats a second: {against}; {longer}. A difference counts where it is more than two "
        f"standard errors, of {truths.shape[1]} seconds of gaze; the paper has crr and longer "
        f"batches better everywhere. At the {_SHOWN:g} nats a second of Fig. 7 a sample has an "
        f"epsilon of {shown:g}, and the best of the mechanisms is {blind:.2f} cells off; the "
        f"middle of the grid, which tells nothing, is {best:.2f} cells off.",
    )


def _centre(truths: Integers) -> Integers:
    middle = gaze.SIDE // 2
    return np.full_like(truths, middle * gaze.SIDE + middle)


def _column(path: Integers, shift: float) -> list[tuple[float, float]]:
    return [(float(at), float(cell % gaze.SIDE) + shift) for at, cell in enumerate(path[:, 0])]
