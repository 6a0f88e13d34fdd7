"""Hold a figure of a paper as it was computed anew, and draw it."""

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from math import ceil
from pathlib import Path
from statistics import mean, stdev
from typing import Any, Literal

import numpy as np
import orjson
import yaml
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from rich.console import Console
from rich.progress import Progress

from fugu.dataflows.kafka.client import Client
from fugu.dataflows.kafka.clients import client_of
from fugu.dataflows.offline.demo.embedded_broker import EmbeddedBroker
from fugu.dataflows.offline.demo.raw_records import RawRecord
from fugu.dataflows.offline.demo.whole_path import pipeline_on, produce, sanitize, shown_progress
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.operators.mechanism import Floats

Points = Sequence[tuple[float, float]]
Verdict = Literal["reproduced", "differs", "refuted", "beyond the papers"]
_COLOURS = ("#1f6f8b", "#c8553d", "#2b2b2b", "#6a994e", "#8e6bbf", "#b08900", "#d16ba5")
_STYLES = ("-", "--", "-.", ":")
_APART = 0.07
"""The least distance between names beside lines, as a share of the height."""
_MARKED = 60
"""Lines of so few points show each of them, and are told apart by their dashes, too."""
_IN_A_ROW = 3


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

    def draw(self, path: Path) -> None:
        """Write the picture."""
        panels = self.panels
        rows = ceil(len(panels) / _IN_A_ROW)
        columns = ceil(len(panels) / rows)
        size = (5.0 * columns, 3.5 * rows)
        canvas = Canvas(figsize=size, dpi=100, layout="constrained")
        for place, panel in enumerate(panels, 1):
            _draw(panel, canvas.add_subplot(rows, columns, place))
        canvas.savefig(path, pil_kwargs={"optimize": True})


def _draw(panel: Panel, axes: Axes) -> None:
    for number, points in enumerate(panel.curves.values()):
        colour, marked = _COLOURS[number % len(_COLOURS)], len(points) <= _MARKED
        style, marker = (_STYLES[number % len(_STYLES)], "o") if marked else ("-", "")
        axes.plot(*zip(*points, strict=True), style, color=colour, marker=marker, ms=2.5, lw=1.2)
    axes.set_title(panel.title, fontsize="medium")
    axes.set_xlabel(panel.across)
    axes.set_ylabel(panel.up)
    for wanted, scale in zip(panel.logarithmic, (axes.set_xscale, axes.set_yscale), strict=True):
        if wanted:
            scale("log")
    axes.grid(color="#e9ecef", lw=0.8)
    axes.spines[["top", "right"]].set_visible(False)
    _name(panel, axes)


def _name(panel: Panel, axes: Axes) -> None:
    """Write the name of each curve beside its end."""
    axes.autoscale_view()
    shown = axes.transData + axes.transAxes.inverted()
    ends = [float(shown.transform(points[-1])[1]) for points in panel.curves.values()]
    names = list(panel.curves)
    for number, place in spread(ends).items():
        axes.annotate(
            names[number],
            (1.02, place),
            xycoords="axes fraction",
            color=_COLOURS[number % len(_COLOURS)],
            fontsize="small",
            va="center",
            annotation_clip=False,
        )


def spread(ends: Sequence[float]) -> dict[int, float]:
    """Return a place near each end, by its number, so that none covers another."""
    order = sorted(range(len(ends)), key=ends.__getitem__)
    places: list[float] = []
    for number in order:
        places.append(max(ends[number], places[-1] + _APART if places else 0.0))
    highest = [1.0 - _APART * above for above in reversed(range(len(ends)))]
    return {number: min(pair) for number, *pair in zip(order, places, highest, strict=True)}


# Tell which of two errors is smaller, and where draws do not tell.


_SIGNIFICANT = 2.0
"""Standard errors by which a mean difference is more than chance."""


@dataclass(frozen=True)
class Difference:
    """Hold the mean difference of two errors that were measured on the same rows."""

    mean: float
    standard_error: float

    @classmethod
    def of(cls, first: Floats, second: Floats) -> "Difference":
        """Compare row by row; rows are independent."""
        apart = np.asarray(first - second)
        return cls(float(apart.mean()), float(apart.std(ddof=1) / np.sqrt(len(apart))))

    @property
    def side(self) -> int:
        """Return -1 if the first is smaller, 1 if it is larger, and 0 if draws do not tell."""
        told = abs(self.mean) > _SIGNIFICANT * self.standard_error
        return int(np.sign(self.mean)) if told else 0


def sides_told(found: Mapping[float, Difference], first: str, second: str) -> str:
    """Say where `first` errs less than `second`, where more, and where draws do not tell.

    >>> sides_told({1.0: Difference(-3.0, 1.0), 2.0: Difference(1.0, 1.0)}, "crr", "grr")
    'crr errs less than grr at 1, and draws do not tell at 2'
    """
    words = {-1: "less than", 1: "more than"}
    parts: list[str] = []
    for side, word in words.items():
        at = [place for place, one in found.items() if one.side == side]
        if at:
            parts.append(f"{word} {second if not parts else 'it'} at {listed(at)}")
    text = f"{first} errs {' and '.join(parts)}" if parts else ""
    unknown = [place for place, one in found.items() if one.side == 0]
    if not unknown:
        return text
    if not parts:
        return f"draws do not tell {first} from {second} at {listed(unknown)}"
    return f"{text}, and draws do not tell at {listed(unknown)}"


def listed(places: list[float]) -> str:
    """Return numbers as a sentence lists them.

    >>> listed([0.5, 1.0, 3.0])
    '0.5, 1 and 3'
    """
    words = [f"{place:g}" for place in places]
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


# Run pipelines by `fugu run` on the embedded broker, each with a secret of its own.


@dataclass(frozen=True)
class Pipelines:
    """Run pipelines on one broker, each with topics and a state of its own."""

    bootstrap: str
    folder: Path
    progress: Progress

    def released(self, document: dict[str, Any], name: str, seed: int, figures: int) -> Floats:
        """Return released figures, tick by tick, `(ticks, groups)` in the order of `groups`."""
        own = f"{document['name']}-{name}-{seed}"
        document = {
            **document,
            "name": own,
            "sink": {"topic": own},
            "state": {**document["state"], "directory": f"./{own}"},
        }
        file = self.file(document, own)
        secret = blake2b(b"%d" % seed, digest_size=32).hexdigest()
        batches = sanitize(self.client(file), file, figures, self.progress, secret)
        values = [value for batch in batches for value in batch.values if value is not None]
        found = [orjson.loads(value) for value in values]
        found.sort(key=lambda one: one["start"])
        groups = document["operator"]["groups"]
        return np.array(
            [[one["value"] for one in found if one["group"] == group] for group in groups]
        ).T

    def file(self, document: dict[str, Any], name: str) -> PipelineFile:
        text = yaml.safe_dump(document)
        return pipeline_on(self.bootstrap, self.folder, f"{name}.yaml", text)

    def client(self, file: PipelineFile) -> Client:
        return client_of(file.connection())

    def produce(self, document: dict[str, Any], records: Iterable[RawRecord], count: int) -> None:
        file = self.file(document, "produce")
        topic = document["source"]["topic"]
        produce(self.client(file), topic, records, count, self.progress)


@contextmanager
def running() -> Iterator[Pipelines]:
    """Keep a broker and a folder for as long as the context is open."""
    with (
        tempfile.TemporaryDirectory(prefix="fugu-figures-") as folder,
        EmbeddedBroker() as bootstrap,
        shown_progress(Console(quiet=True)) as progress,
    ):
        yield Pipelines(bootstrap, Path(folder), progress)


def runs_panel(title: str, up: str, errors: dict[str, list[float]]) -> Panel:
    """Draw the errors of runs by law, the smallest first."""
    curves = {
        name: [(float(seed), error) for seed, error in enumerate(sorted(found), 1)]
        for name, found in errors.items()
    }
    return Panel(title, "runs, sorted by error", up, curves, (False, True))


def told(errors: list[float]) -> str:
    """Return the mean and its standard error."""
    return f"{mean(errors):.3g} +-{stdev(errors) / len(errors) ** 0.5:.1g}"
