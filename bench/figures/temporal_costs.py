"""TLDP, section V-B: what mechanisms in time cost, by epsilon and by the length of a window."""

from bench.figures.figure import Figure, Panel
from fugu.operators.temporal.dispatch_law import Costs
from fugu.operators.temporal.selection import Choice, choose

_EPSILONS = tuple(0.5 * half for half in range(1, 33))
_WINDOWS = (10, 50)
_NAMES = {
    "threshold": "threshold (extended where epsilon is small)",
    "backward_perturbation": "backward",
    "forward_perturbation": "forward",
}


def temporal_costs() -> Figure:
    """Compute expected costs where a missing, repeated or empty value costs as much as a window."""
    panels, crossings = [], []
    for window in _WINDOWS:
        chosen = {epsilon: _chosen(window, epsilon) for epsilon in _EPSILONS}
        costs = {
            epsilon: {
                "threshold": min(
                    cost for kind, cost in choice.totals.items() if "threshold" in kind
                ),
                **{kind: choice.totals[kind] for kind in _NAMES if kind in choice.totals},
            }
            for epsilon, choice in chosen.items()
        }
        curves = {
            label: [(epsilon, one[name]) for epsilon, one in costs.items() if name in one]
            for name, label in _NAMES.items()
        }
        panels.append(Panel(f"k = {window}", "epsilon", "cost of a value", curves))
        cheaper = [e for e, one in costs.items() if one["threshold"] == min(one.values())]
        crossings.append(f"{min(cheaper):g} to {max(cheaper):g} (k = {window})")
    return Figure(
        "tldp-costs",
        "Ye et al. 2021, section V-B (expected costs by epsilon, no data)",
        panels,
        "differs",
        f"Threshold mechanisms are cheapest for epsilon {', '.join(crossings)}; below and above "
        "backward and forward are. The paper gives the ends as properties of the mechanism, 10 and "
        "16; they are where costs cross. Backward and forward cost the same under these prices.",
    )


def _chosen(window: int, epsilon: float) -> Choice:
    price = float(window)
    costs = Costs(missing=price, repeated=price, empty=price)
    return choose(window, epsilon, costs, by_cost=True, calibrate="nominal")
