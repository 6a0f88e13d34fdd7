"""A picture of an evaluation is read at a glance: few lines, each with its name at its end."""

from itertools import pairwise

import pytest
from matplotlib.figure import Figure

from fugu.dataflows.offline.evaluation.estimates import Estimate
from fugu.dataflows.offline.evaluation.plot import COLOURS, MOST_LINES, Line, Lines

KINDS = ("sample", "uniform", "pba", "fast", "rescue_dp", "quantified", "pegasus")


def lines(level: tuple[str, float] | None = None) -> Lines:
    """Errors that grow from kind to kind; the pipeline is the one that errs most."""
    found = [
        Line(
            kind,
            COLOURS[number],
            [(eps, Estimate((1.0 + number) / eps, 0.1)) for eps in (0.5, 1.0, 2.0)],
            configured=1.0 if kind == "pegasus" else None,
        )
        for number, kind in enumerate(KINDS)
    ]
    return Lines(found, "epsilon", "error", level=level)


@pytest.mark.parametrize(("level", "most"), [(None, MOST_LINES), (("a guess", 3.0), 5)])
def test_the_pipeline_and_those_that_err_least_are_drawn(
    level: tuple[str, float] | None, most: int
) -> None:
    shown = [line.label for line in lines(level).shown]
    assert shown == [*KINDS[: most - 1], "pegasus"]


def test_names_stand_apart_at_the_ends_of_lines_and_there_is_no_legend() -> None:
    axes = Figure().subplots()
    lines(("a guess", 3.0))(axes)
    names = [text for text in axes.texts if text.get_text()]
    assert {text.get_text() for text in names} == {
        *KINDS[:4],
        "pegasus (ringed: as configured)",
        "a guess",
    }
    heights = sorted(text.get_position()[1] for text in names)
    assert min(b - a for a, b in pairwise(heights)) > 0.06
    assert heights[-1] <= 1.0
    assert not axes.get_legend_handles_labels()[0]
    assert "5 of 7 lines" in axes.get_title(loc="left")
