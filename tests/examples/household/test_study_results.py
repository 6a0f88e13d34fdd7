"""Read a study of many runs: typical runs, factors, standard errors, pictures."""

from pathlib import Path

import numpy as np
import pytest

from examples.household.mechanisms import MECHANISMS
from examples.household.picture import save, save_figures
from examples.household.study import ABSOLUTE, RELATIVE, Study
from examples.household.zones import MEANS_MW

RUNS, HOUSEHOLDS = 100, 7


def drawn(scale: float, seed: int) -> Study:
    """Return a study of mechanisms whose errors are log-normal around a scale."""
    rng = np.random.default_rng(seed)
    shape = RUNS, HOUSEHOLDS, len(MEANS_MW), 2
    return Study(MEANS_MW, {name: scale * np.exp(rng.normal(size=shape)) for name in MECHANISMS})


def test_a_typical_run_is_the_median_and_the_mean_of_runs_is_more() -> None:
    study = drawn(3.0, seed=1)
    assert study.typical("BD", 14.3) == pytest.approx(3.0, rel=0.2)
    assert study.typical_absolute("BD") == np.median(study.errors["BD"][..., ABSOLUTE])
    means = study.errors["BD"][..., RELATIVE].mean(axis=0)
    assert study.expected("BD").tolist() == means.tolist()
    assert study.expected("BD").mean() == pytest.approx(3.0 * np.exp(0.5), rel=0.1)


def test_factors_are_of_errors_in_the_same_run() -> None:
    one = drawn(1.0, seed=2).errors["BD"]
    study = Study(MEANS_MW, {"BD": one, "TSBD": one / 7.0})
    assert study.times_less("TSBD", "BD") == pytest.approx(7.0)


def test_a_standard_error_says_how_far_other_runs_are_off() -> None:
    """Compare the spread of the results of 60 studies with the error that each states of itself."""
    studies = [drawn(1.0, seed) for seed in range(100, 160)]
    results = [study.typical("Sample", 0.5) for study in studies]
    said = [study.standard_error(lambda part: part.typical("Sample", 0.5)) for study in studies]
    assert np.mean(said) == pytest.approx(np.std(results), rel=0.3)


def test_pictures_show_all_mechanisms(tmp_path: Path) -> None:
    study = drawn(1.0, seed=3)
    for number, write in enumerate((save, save_figures)):
        path = tmp_path / f"{number}.svg"
        write(study, path)
        assert path.read_text().startswith("<?xml")
    shown = (tmp_path / "0.svg").read_text() + (tmp_path / "1.svg").read_text()
    assert [name for name in MECHANISMS if f"<!-- {name} -->" not in shown] == []
