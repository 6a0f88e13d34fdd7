"""SIP, Figs. 7 and 9: gaze on a grid, as it is released and how far off that is."""

from bench.figures import gaze
from bench.figures.figure import Figure, Panel
from bench.figures.symbol_runs import released
from fugu.operators.mechanism import Integers

_SECONDS, _SHOWN = 1, 10.0
_PER_SECOND = (10.0, 50.0, 200.0)
_WINDOWS = (5, 10)


def sip_gaze() -> Figure:
    """Release a second of ten people under chains of two orders."""
    people = gaze.Gaze()
    truths = people.samples(_SECONDS * gaze.RATE, seed=11)
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
                curves.setdefault(name, []).append((spent, gaze.distance(found, truths)))
        panels.append(
            Panel(
                f"chain of {order} order (Fig. 9)",
                "nats for a second of 50 samples",
                "mean distance, cells",
                curves,
                (True, False),
            )
        )
    dist = {name: dict(curve) for name, curve in panels[1].curves.items()}
    beats = [e for e in _PER_SECOND if dist["crr"][e] < dist["pim, 2 epsilon"][e]]
    longer = [e for e in _PER_SECOND if dist["batches of 10"][e] < dist["batches of 5"][e]]
    at = _PER_SECOND[-1]
    told = ", ".join(f"{name} {row[at]:.2f}" for name, row in dist.items())
    whole = len(beats) == len(longer) == len(_PER_SECOND)
    return Figure(
        "sip-figures-7-and-9",
        "Jiang, Li and Tandon 2024, Figs. 7 and 9 (generated gaze on 10 x 10 cells, not MOJO's on "
        "100 x 100)",
        panels,
        "reproduced" if whole else "differs",
        f"At {at:g} nats a second releases are {told} cells off. crr errs less than pim with twice "
        f"epsilon at {len(beats)} of {len(_PER_SECOND)} budgets, and batches of 10 less than "
        f"batches of 5 at {len(longer)}. At the {_SHOWN:g} nats a second of Fig. 7 an epsilon of "
        f"{shown:g} a sample tells next to nothing of where anybody looks, by any mechanism.",
    )


def _column(path: Integers, shift: float) -> list[tuple[float, float]]:
    return [(float(at), float(cell % gaze.SIDE) + shift) for at, cell in enumerate(path[:, 0])]
