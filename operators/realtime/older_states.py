"""States of real-time release before it made forecasts."""

import numpy as np

from fugu.operators.columns import copied
from fugu.operators.mechanism import State

ADDED = ("steps_ahead", "known", "drift", "rising")


def continued(old: State) -> State:
    """Return a state of implementation 1 with the columns that forecasts need.

    They are made of the old ones, as far as these tell them. The slope is taken to be that from the
    first value to the last one, and the last estimate to be off by what a prediction is. Budgets,
    counts and estimates stay what they are.

    >>> from fugu.operators.realtime import filter as filtering
    >>> old = {name: column for name, column in filtering.start(1, 2).items() if name not in ADDED}
    >>> sorted(continued(old).keys() - old.keys())
    ['drift', 'known', 'rising', 'steps_ahead']
    """
    count = old["count"].astype(np.float64)
    steps, surprises = np.maximum(count - 1.0, 1.0), np.maximum(old["surprises"], 1.0)
    slope = old["last"] / steps
    return {
        **copied(old),
        "steps_ahead": np.zeros_like(old["count"]),
        "known": np.maximum(old["variance"], (old["surprise"] - old["expected"]) / surprises),
        "drift": np.zeros_like(old["estimate"]),
        "rising": 0.5 * (count - 1.0) * old["total"]
        + slope * (count * (count * count - 1.0) / 12.0),
    }
