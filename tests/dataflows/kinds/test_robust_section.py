"""Pipeline files about sets of models: how far off, by intervals of the file, and what is said."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.commands.explain import explain
from fugu.dataflows.pipeline.mechanisms import configure, remarks_of
from fugu.operators.sip.markov_model import MarkovModel
from fugu.operators.sip.model_sets import ModelIntervals
from fugu.operators.sip.robust_release import RobustRelease
from tests.dataflows.pipeline.pipeline_files import MODEL, PIPELINE, read, read_error

ROBUST = PIPELINE.replace("kind: crr", "kind: robust_crr\n  within: WITHIN")
ENDS = {"prior": {"low": [0.4, 0.2, 0.1], "high": [0.6, 0.4, 0.3]}}
ROWS = {
    "low": [[0.7, 0.1, 0.0]] * 2 + [[0, 0.2, 0.6]],
    "high": [[0.9, 0.8, 0.2]] * 2 + [[0.1, 0.4, 0.8]],
}


def configured(directory: Path, within: str, model: dict[str, Any] = MODEL) -> RobustRelease:
    (directory / "model.json").write_bytes(orjson.dumps(model))
    mechanism = configure(read(directory, ROBUST.replace("WITHIN", within))).mechanism
    assert isinstance(mechanism, RobustRelease)
    return mechanism


@pytest.mark.parametrize(
    ("within", "share", "amount"),
    [
        ("10%", 0.1, 0.0),
        ("2.5%", 0.025, 0.0),
        ("0.02", 0.0, 0.02),
        ("0", 0.0, 0.0),
        ("{share: 0.1, amount: 0.001}", 0.1, 0.001),
    ],
)
def test_a_share_an_amount_or_both_make_the_set(
    within: str, share: float, amount: float, tmp_path: Path
) -> None:
    robust = configured(tmp_path, within)
    assert robust.epsilon == 1.0
    around = ModelIntervals.around(robust.model, share=share, amount=amount)  # type: ignore[arg-type]
    assert robust.intervals.identity() == around.identity()


@pytest.mark.parametrize("within", ["100%", "-1%", "ten%", "1.0", "-0.1", "true", "about", "[1]"])
def test_what_is_no_width_is_refused_with_what_to_write(within: str, tmp_path: Path) -> None:
    error = read_error(tmp_path, ROBUST.replace("WITHIN", within))
    assert "operator.within" in error
    assert "10% of itself, 0.02, or {share: 0.1, amount: 0.001}" in error


def test_learned_takes_the_intervals_of_the_model_file(tmp_path: Path) -> None:
    model = MODEL | {"format_version": 2, "intervals": {**ENDS, "transition": ROWS}}
    robust = configured(tmp_path, "learned", model)
    assert robust.intervals.first_low.tolist() == [0.4, 0.2, 0.1]
    assert robust.intervals.high[2].tolist() == [0.1, 0.4, 0.8]
    with_center = robust.model.transition[1, 0]  # type: ignore[attr-defined]
    assert robust.intervals.low[1, 0] == with_center


def test_the_set_is_said_to_be_around_the_smoothed_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The model of the file itself may be outside."""
    model = MODEL | {"smoothing": 0.3}
    robust = configured(tmp_path, "2%", model)
    unsmoothed = np.array(MODEL["transition"])
    assert not (robust.intervals.low <= unsmoothed).all()
    explain([read(tmp_path, ROBUST.replace("WITHIN", "2%"))])
    said = " ".join(capsys.readouterr().out.split())
    assert "differ from model.json after smoothing by at most 0.02 of itself" in said
    assert "within the declared intervals around the declared model after smoothing (" in said


def test_a_file_without_intervals_or_with_others_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigurationError, match=r"model\.json has no intervals; learn it with fugu"
    ):
        configured(tmp_path, "learned")
    wrong = MODEL | {
        "format_version": 2,
        "intervals": {**ENDS, "transition": {"low": [], "high": []}},
    }
    with pytest.raises(ConfigurationError, match=r"intervals\.transition: write a number for each"):
        configured(tmp_path, "learned", wrong)


@pytest.mark.parametrize(
    ("end", "number", "place"),
    [
        ("low", 0.95, "transition row 2"),
        ("high", 1.5, "transition row 2"),
        ("low", -0.1, "transition row 2"),
        ("high", None, "transition row 2"),
        ("low", 0.7, "prior"),
        ("high", 1.1, "prior"),
    ],
)
def test_ends_that_are_no_interval_are_refused_with_their_place(
    end: str, number: float | None, place: str, tmp_path: Path
) -> None:
    """Widened to the model itself, ends in the wrong order would look like an interval."""
    intervals: Any = deepcopy({**ENDS, "transition": ROWS})
    name, _, row = place.partition(" row ")
    ends = intervals[name][end]
    (ends[int(row)] if row else ends)[2] = number
    wrong = MODEL | {"format_version": 2, "intervals": intervals}
    with pytest.raises(ConfigurationError, match=rf"intervals\.{place}: every .* \(column 2\)"):
        configured(tmp_path, "learned", wrong)


def with_rows(**more: Any) -> dict[str, Any]:
    rows = [{"from": symbol, "to": {symbol: 0.9}, "uniform": 0.1} for symbol in MODEL["alphabet"]]
    return MODEL | {"format_version": 2, "transition": rows} | more


def test_sparse_rows_are_written_out(tmp_path: Path) -> None:
    model = configured(tmp_path, "10%", with_rows(smoothing=0.0)).model
    assert isinstance(model, MarkovModel)
    np.testing.assert_allclose(model.transition, 0.9 * np.eye(3) + 0.1 / 3, rtol=1e-15)


def test_a_chain_of_second_order_has_no_intervals(tmp_path: Path) -> None:
    first, second, _ = MODEL["alphabet"]
    rows = [
        *with_rows()["transition"],
        {"from": [first, second], "to": {second: 0.9}, "uniform": 0.1},
    ]
    with pytest.raises(ConfigurationError, match="model: robust_crr takes a chain of first order"):
        configured(tmp_path, "10%", with_rows(transition=rows))


@pytest.mark.slow
@pytest.mark.parametrize(("within", "as_good"), [("2%", False), ("0.3", True)])
def test_a_set_so_wide_that_grr_is_as_good_is_remarked(
    within: str, as_good: bool, tmp_path: Path
) -> None:
    robust = configured(tmp_path, within)
    file = read(tmp_path, ROBUST.replace("WITHIN", within))
    remarks = [remark for remark in remarks_of(file, robust) if "operator.within" in remark]
    assert len(remarks) == as_good
    if as_good:
        assert "kind: grr, which needs no model at all, has 57.6% at the same epsilon" in remarks[0]
