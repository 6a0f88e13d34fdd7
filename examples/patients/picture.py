"""The picture: a map of ways as they were recorded and as they are released, and who is found."""

from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from examples.patients.analyst import Record
from examples.patients.people import CATEGORIES, DAYS, PLACES
from examples.patients.report import CROWD, KNOWN, TITLES, Released

_COLOURS = ("#c0392b", "#1f6f8b", "#7b4fa3", "#d9822b")
_WIDEST, _SPREAD = 5.5, 0.1


def save(released: Released, path: Path) -> None:
    """Write the picture; its format follows from the name."""
    figure = Figure(figsize=(13.0, 5.2), dpi=150, layout="constrained")
    left, right, bars = figure.subplots(1, 3, width_ratios=(1.0, 1.0, 0.75))
    before, after = (next(iter(released.days(name))) for name in ("recorded", "repair"))
    most = max(_steps(before).values())
    _map(left, before, most, "recorded on the first day")
    _map(right, after, most, "released of it")
    figure.legend(
        *left.get_legend_handles_labels(), loc="outside lower left", frameon=False, ncols=4
    )
    _found(bars, released)
    figure.savefig(path)


def _steps(records: list[Record]) -> Counter[tuple[str, str, str]]:
    """Return how many go from one place to the next one that their record has, by category."""
    steps = Counter[tuple[str, str, str]]()
    for record in records:
        places = [place for _, place in record.points]
        for one, other in pairwise(places):
            if one != other:
                steps[one, other, record.category] += 1
    return steps


def _map(axes: Axes, records: list[Record], most: int, title: str) -> None:
    for (one, other, category), count in sorted(_steps(records).items()):
        number = list(CATEGORIES).index(category)
        (x, y), (to_x, to_y) = PLACES[one], PLACES[other]
        along = np.array([to_x - x, to_y - y])
        aside = np.array([-along[1], along[0]]) / np.hypot(*along) * _SPREAD * (number + 0.5)
        axes.plot(
            [x + aside[0], to_x + aside[0]],
            [y + aside[1], to_y + aside[1]],
            color=_COLOURS[number],
            linewidth=max(0.3, _WIDEST * count / most),
            alpha=0.55,
            solid_capstyle="round",
        )
    visits = Counter(place for record in records for _, place in record.points)
    for place, (x, y) in PLACES.items():
        axes.plot(x, y, "o", color="#2b2b2b", markersize=2.0 + visits[place] ** 0.5 / 5)
        axes.annotate(
            place,
            (x, y),
            (0, 8),
            textcoords="offset points",
            ha="center",
            fontsize=8,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.6},
        )
    for number, category in enumerate(CATEGORIES):
        axes.plot([], [], color=_COLOURS[number], linewidth=3, label=category)
    points = sum(len(record.points) for record in records)
    axes.set_title(f"{title}: {len(records):,} people, {points:,} points", fontsize="medium")
    axes.set(xlim=(-0.4, 10.4), ylim=(0.2, 9.4), xticks=[], yticks=[], aspect="equal")
    axes.spines[:].set_color("#cccccc")


def _found(axes: Axes, released: Released) -> None:
    width = 0.38
    for number, label in enumerate((f"among fewer than {CROWD} people", "diagnosis told")):
        counts = [released.found(name)[number] for name in TITLES]
        places = [place + (number - 0.5) * width for place in range(len(counts))]
        bars = axes.bar(places, counts, width, label=label, color=("#2b2b2b", "#c0392b")[number])
        axes.bar_label(bars, [f"{count:,}" for count in counts], fontsize=8, padding=2)
    axes.set_xticks(range(len(TITLES)), list(TITLES.values()), fontsize=9)
    axes.set_title(f"records of all {DAYS} days found by {KNOWN} known points", fontsize="medium")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8)
