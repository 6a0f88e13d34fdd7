"""Hold a figure of a paper as it was computed anew, and draw it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from matplotlib.figure import Figure as Canvas

Points = Sequence[tuple[float, float]]
Verdict = Literal["reproduced", "differs", "refuted", "beyond the papers"]
_STYLES = ("-", "--", "-.", ":")


@dataclass(frozen=True)
class Panel:
    """Draw some curves by name over one quantity."""

    title: str
    across: str
    up: str
    curves: Mapping[str, Points]
    logarithmic: tuple[bool, bool] = (False, True)


@dataclass(frozen=True)
class Figure:
    """Say what of a printed figure holds: `sentence` follows from what `panels` show."""

    name: str
    source: str
    panels: Sequence[Panel]
    verdict: Verdict
    sentence: str

    def draw(self, folder: Path) -> Path:
        """Write the picture into a folder; return where it is."""
        path = folder / f"{self.name}.png"
        canvas = Canvas(figsize=(5.2 * len(self.panels), 4.0), dpi=130, layout="constrained")
        for place, panel in enumerate(self.panels, 1):
            axes = canvas.add_subplot(1, len(self.panels), place)
            for number, (label, points) in enumerate(panel.curves.items()):
                style = _STYLES[number % len(_STYLES)]
                axes.plot(*zip(*points, strict=True), style, marker="o", ms=3, lw=1.3, label=label)
            axes.set_title(panel.title, fontsize="medium")
            axes.set_xlabel(panel.across)
            axes.set_ylabel(panel.up)
            for wanted, scale in zip(
                panel.logarithmic, (axes.set_xscale, axes.set_yscale), strict=True
            ):
                if wanted:
                    scale("log")
            axes.grid(color="#e9ecef", lw=0.8)
            axes.legend(fontsize="small", frameon=False)
        canvas.savefig(path)
        return path
