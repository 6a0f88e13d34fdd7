"""A pipeline file that asks for numbers with noise, and what it may not say."""

from pathlib import Path

import pytest

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.pipeline.config import reading_digest
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.dataflows.records.numbers import Numbers
from fugu.operators.noise.number_release import LaplaceRelease
from tests.dataflows.pipeline.pipeline_files import PIPELINE, read, read_error

CRR = PIPELINE[PIPELINE.index("operator:") : PIPELINE.index("sink:")]
LAPLACE = """\
operator:
  kind: laplace
  lower: -5.5
  upper: 200
  unit: 0.1
  epsilon: 0.5
"""


def pipeline(old: str = "", new: str = "") -> str:
    return PIPELINE.replace(CRR, LAPLACE.replace(old, new) if old else LAPLACE)


def test_the_range_is_counted_in_units_exactly(tmp_path: Path) -> None:
    configured = configure(read(tmp_path, pipeline()))
    mechanism = configured.mechanism
    assert isinstance(mechanism, LaplaceRelease)
    assert (mechanism.lower, mechanism.upper, mechanism.units_per_one) == (-55, 2000, 10)
    assert mechanism.epsilon == 0.5
    assert isinstance(configured.codec.domain, Numbers)


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("unit: 0.1", "unit: 0.3", 9, "1 divided by a whole number"),
        ("unit: 0.1", "unit: 0", 9, "1 divided by a whole number"),
        ("unit: 0.1", "unit: -1", 9, "1 divided by a whole number"),
        ("unit: 0.1", "unit: 1", 5, "lower and upper must be whole numbers of unit"),
        ("lower: -5.5", "lower: 200", 5, "lower must be below upper"),
        ("lower: -5.5", "lower: five", 7, "operator.lower: write a number"),
        ("lower: -5.5", "lower: .inf", 7, "operator.lower: "),
        ("epsilon: 0.5", "epsilon: 21", 10, "at most 20"),
        ("epsilon: 0.5", "epsilon: 0", 10, "more than 0"),
        ("epsilon: 0.5", "epsilon: 0.5\n  alphabet: [a]", 11, "operator.alphabet: unknown key"),
        ("  kind: laplace\n", "", 5, "operator.kind: is required; add it"),
    ],
)
def test_an_error_names_the_line_and_what_to_write(
    old: str, new: str, line: int, says: str, tmp_path: Path
) -> None:
    error = read_error(tmp_path, pipeline(old, new))
    assert error.startswith(f"pipeline.yaml:{line}: ")
    assert says in error


def test_an_epsilon_below_the_resolution_of_the_grid_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="budget_below_resolution"):
        configure(read(tmp_path, pipeline("epsilon: 0.5", "epsilon: 1.0e-9")))


def test_another_unit_reads_the_same_records_as_other_values(tmp_path: Path) -> None:
    changed = pipeline("unit: 0.1", "unit: 0.01")
    digests = [reading_digest(read(tmp_path, text).pipeline) for text in (pipeline(), changed)]
    assert digests[0] != digests[1]
