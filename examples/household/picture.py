"""The picture: what mechanisms err in a small, a middling and a large zone, over households."""

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from examples.household.study import Study

SHOWN_MW = (0.5, 14.3, 213.6)
_COLOURS = {"Unicorn": "#1f6f8b", "T": "#9ec9d6", "": "#d9d9d9"}
"""By how a name begins: Unicorn, those with noise or budgets for policies, and w-event privacy."""


def save(study: Study, path: Path) -> None:
    """Write the picture; its format follows from the name."""
    figure = Figure(figsize=(10.0, 4.6), dpi=150, layout="constrained")
    panels = figure.subplots(1, len(SHOWN_MW), sharey=True, squeeze=False)[0]
    for axes, mean in zip(panels, SHOWN_MW, strict=True):
        _draw(axes, study, mean)
        axes.set_title(f"a zone of {mean:g} MW", fontsize="medium")
    panels[0].set_ylabel("mean relative error")
    figure.savefig(path)


def _draw(axes: Axes, study: Study, mean: float) -> None:
    names = list(study.errors)
    boxes = axes.boxplot(
        [study.relative(name, mean) for name in names],
        tick_labels=names,
        whis=(5, 95),
        showfliers=False,
        patch_artist=True,
        medianprops={"color": "#2b2b2b"},
        boxprops={"linewidth": 0.8},
    )
    for name, box in zip(names, boxes["boxes"], strict=True):
        begins = next(begin for begin in _COLOURS if name.startswith(begin))
        box.set_facecolor(_COLOURS[begins])
    axes.set_yscale("log")
    axes.axhline(1.0, color="#c0392b", linestyle="--", linewidth=1.0)
    axes.tick_params(axis="x", rotation=90)
    axes.grid(axis="y", color="#e9ecef", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
