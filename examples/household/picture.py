"""The pictures: boxes of errors over households in three zones, and the figures of the paper.

Errors are relative, and means over runs.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from examples.household.study import Study
from fugu.operators.mechanism import Floats

SHOWN_MW = (0.5, 14.3, 213.6)
_COLOURS = {"": "#d9d9d9", "T": "#9ec9d6", "Unicorn": "#1f6f8b"}
"""By how a name begins: w-event privacy, those with noise or budgets for policies, and Unicorn."""
_LINES = ("#1f6f8b", "#c0392b", "#7f8c3a", "#8e5ea2")
TEAS = {"TSUniform": "Uniform", "TSSample": "Sample", "TSBD": "BD", "TSBA": "BA"}
TINAR = {"TINARUniform": "Uniform", "TINARSample": "Sample"}
"""By which mechanism the paper divides another one in its figures 4 and 5."""
COMPETITORS = ("RescueDP", "TSBD", "TSBA")
SWELLFISH = ("UnicornIS", "UnicornPS", "Unicorn", "Unicorn*")
"""In figure 6."""


def save(study: Study, path: Path) -> None:
    """Write boxes of three zones; the format of the picture follows from the name."""
    figure = Figure(figsize=(11.0, 4.6), dpi=150, layout="constrained")
    panels = figure.subplots(1, len(SHOWN_MW), sharey=True, squeeze=False)[0]
    for axes, mean in zip(panels, SHOWN_MW, strict=True):
        _draw(axes, study, mean)
        axes.set_title(f"a zone of {mean:g} MW", fontsize="medium")
    panels[0].set_ylabel("mean relative error")
    figure.savefig(path)


def save_figures(study: Study, path: Path) -> None:
    """Write figures 4 to 6 of the paper: all zones, medians over households and 5 % to 95 %."""
    figure = Figure(figsize=(10.0, 7.4), dpi=150, layout="constrained")
    panels = figure.subplots(2, 2, sharex=True, sharey="row", squeeze=False)

    def beside(rivals: Mapping[str, str]) -> Callable[[str], Floats]:
        return lambda name: study.expected(name) / study.expected(rivals[name])

    for axes, title, names, of in (
        (panels[0, 0], "figure 4: error over that without TEAS", TEAS, beside(TEAS)),
        (panels[0, 1], "figure 5: error over that without TINAR", TINAR, beside(TINAR)),
        (panels[1, 0], "figure 6: competitors", COMPETITORS, study.expected),
        (panels[1, 1], "figure 6: Swellfish", SWELLFISH, study.expected),
    ):
        for name, colour in zip(names, _LINES, strict=False):
            low, middle, high = np.quantile(of(name), (0.05, 0.5, 0.95), axis=0)
            axes.plot(study.means, middle, color=colour, label=name, marker=".", linewidth=1.4)
            axes.fill_between(study.means, low, high, color=colour, alpha=0.15, linewidth=0)
        axes.set_title(title, fontsize="medium")
        axes.set_xscale("log")
        axes.axhline(1.0, color="#2b2b2b", linestyle="--", linewidth=0.8)
        axes.legend(fontsize="small")
        _style(axes)
    for axes in panels[1]:
        axes.set_xlabel("mean of the zone in MW")
    panels[0, 0].set_ylabel("ratio of mean relative errors")
    panels[1, 0].set_ylabel("mean relative error")
    figure.savefig(path)


def _draw(axes: Axes, study: Study, mean: float) -> None:
    names, zone = sorted(study.errors, key=_beginning), list(study.means).index(mean)
    boxes = axes.boxplot(
        [study.expected(name)[:, zone] for name in names],
        tick_labels=names,
        whis=(5, 95),
        showfliers=False,
        patch_artist=True,
        medianprops={"color": "#2b2b2b"},
        boxprops={"linewidth": 0.8},
    )
    for name, box in zip(names, boxes["boxes"], strict=True):
        box.set_facecolor(_COLOURS[_beginning(name)])
        box.set_hatch("///" if name == "Unicorn*" else "")
    axes.axhline(1.0, color="#c0392b", linestyle="--", linewidth=1.0)
    axes.tick_params(axis="x", rotation=90)
    _style(axes)


def _beginning(name: str) -> str:
    return max(begin for begin in _COLOURS if name.startswith(begin))


def _style(axes: Axes) -> None:
    axes.set_yscale("log")
    axes.grid(axis="y", color="#e9ecef", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
