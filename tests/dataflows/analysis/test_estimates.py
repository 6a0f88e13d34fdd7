"""Pictures of estimates show every bar, and nothing that has none."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from math import inf, nan
from typing import Any

import matplotlib
import pyarrow as pa
import pytest
from matplotlib import pyplot

from fugu.dataflows.analysis.estimates import Estimates
from fugu.dataflows.base.errors import CannotBeEstimated

BEGIN = datetime(2026, 11, 23, tzinfo=UTC)


@pytest.fixture(autouse=True)
def without_a_screen() -> Iterator[None]:
    matplotlib.use("Agg")
    yield
    pyplot.close("all")


def shares(*rows: tuple[str, float, float, float]) -> Estimates:
    names = ("symbol", "low", "estimate", "high")
    told = [dict(zip(names, row, strict=True)) for row in rows]
    return Estimates("shares", pa.Table.from_pylist(told), ())


def figures(groups: dict[str, list[tuple[int, float]]], ages: list[int] | None = None) -> Estimates:
    """Hours and estimates of each group, with bars of 1 to both sides."""
    rows: list[dict[str, Any]] = [
        {
            "start": BEGIN + timedelta(hours=hour),
            "group": name,
            "estimate": value,
            "low": value - 1.0,
            "high": value + 1.0,
            **({} if ages is None else {"age": ages[place]}),
        }
        for name, own in groups.items()
        for place, (hour, value) in enumerate(own)
    ]
    return Estimates("figures", pa.Table.from_pylist(rows), ())


def bars_of(axes: Any) -> list[list[list[float]]]:
    return [segment.tolist() for segment in axes.collections[0].get_segments()]


def bands_of(axes: Any) -> tuple[list[float], list[float]]:
    """Upper and lower ends of the band, window by window."""
    drawn = axes.patches[0].get_data()
    return drawn.values.tolist(), drawn.baseline.tolist()


def test_each_symbol_has_a_row_with_its_bar_and_the_first_one_is_on_top() -> None:
    [axes] = shares(("rest", 0.4, 0.5, 0.7), ("light", -0.1, 0.1, 0.2)).plot()
    assert [label.get_text() for label in axes.get_yticklabels()] == ["rest", "light"]
    assert bars_of(axes) == [[[0.4, 0.0], [0.7, 0.0]], [[-0.1, 1.0], [0.2, 1.0]]]
    assert axes.lines[0].get_xdata().tolist() == [0.5, 0.1]
    below, above = axes.get_ylim()
    assert below > above


@pytest.mark.parametrize("end", [nan, inf])
def test_an_estimate_without_a_bar_is_left_out_and_the_title_says_so(end: float) -> None:
    [axes] = shares(("rest", 0.4, 0.5, 0.7), ("light", -end, 0.9, end)).plot()
    assert axes.get_title() == "shares; 1 without a bar are not drawn"
    assert bars_of(axes)[0] == [[0.4, 0.0], [0.7, 0.0]]
    assert pytest.approx([0.5, nan], nan_ok=True) == axes.lines[0].get_xdata().tolist()


def test_of_very_many_symbols_the_largest_are_shown_and_the_title_says_so() -> None:
    [axes] = shares(*((f"page-{n}", n / 100, n / 100, n / 100) for n in range(50))).plot()
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == [f"page-{n}" for n in range(49, 9, -1)]
    assert axes.get_title() == "shares: the largest 40 of 50"


def test_each_group_has_a_panel_with_its_band_and_dots_where_it_was_measured() -> None:
    told = figures({"in": [(0, 5.0), (1, 7.0)], "out": [(0, 2.0), (1, 2.0)]}, ages=[0, 1])
    panels = told.plot()
    assert [panel.get_title() for panel in panels] == ["in", "out"]
    assert bands_of(panels[0]) == ([6.0, 8.0], [4.0, 6.0])
    assert panels[0].lines[0].get_ydata().tolist() == [5.0]


def test_a_window_that_is_not_there_is_a_gap() -> None:
    [axes] = figures({"in": [(0, 5.0), (1, 7.0), (3, 9.0)]}).plot()
    upper, lower = bands_of(axes)
    assert upper == pytest.approx([6.0, 8.0, nan, 10.0], nan_ok=True)
    assert lower == pytest.approx([4.0, 6.0, nan, 8.0], nan_ok=True)


def test_only_those_that_are_named_are_drawn_in_this_order() -> None:
    told = figures({name: [(0, 1.0), (1, 2.0)] for name in "abc"})
    assert [panel.get_title() for panel in told.plot(only=["c", "a"])] == ["c", "a"]
    with pytest.raises(
        CannotBeEstimated, match="only: d is not in these estimates, which are about a, b, c"
    ):
        told.plot(only=["d"])


def test_of_very_many_groups_the_largest_have_panels() -> None:
    told = figures({f"group {n}": [(0, float(n)), (1, 2.0)] for n in range(30)})
    panels = told.plot()
    assert [panel.get_title() for panel in panels] == [f"group {n}" for n in range(29, 5, -1)]
    assert panels[0].figure.get_suptitle() == "figures: the largest 24 of 30"
    assert len(told.plot(only=["group 3"])) == 1


def test_groups_in_axes_that_are_given_have_colours_and_names() -> None:
    own = pyplot.subplots()[1]
    assert figures({"in": [(0, 5.0)], "out": [(0, 2.0)]}).plot(own) == [own]
    legend = own.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["in", "out"]
    bands = [patch.get_facecolor()[:3] for patch in own.patches[::2]]
    lines = [patch.get_edgecolor()[:3] for patch in own.patches[1::2]]
    assert bands == lines
    assert bands[0] != bands[1]


def test_symbols_are_drawn_into_axes_that_are_given() -> None:
    own = pyplot.subplots()[1]
    assert shares(("rest", 0.4, 0.5, 0.7)).plot(own) == [own]
    assert len(bars_of(own)) == 1
