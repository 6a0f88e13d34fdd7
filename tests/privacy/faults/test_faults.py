"""Every planted fault is caught by the detector that the table names, and no original is.

Detectors are tests of the suite and `fugu audit`. Every seed is fixed.
"""

from typing import Any

import pytest

from tests.privacy.faults.planted import Detector, Planted
from tests.privacy.faults.table import GUARANTEES, families, is_audit, written

FAULTS = {
    f"{family}-{planted.mutant.__name__}": planted
    for family, some in families().items()
    for planted in some
}
ORIGINALS = {
    (planted.original, planted.detector): name for name, planted in reversed(FAULTS.items())
}


WINDOWS = "figures in windows"
AUDITED_LIKE_WINDOWS = {
    "figures in real time",
    "figures under policies",
    "running totals and caps",
}
"""Families whose audits attack figures of ticks in the same way."""
AUDITED_IN_TEST = {
    next(name for name, planted in FAULTS.items() if name.startswith(f"{family}-"))
    for family in families().keys() - AUDITED_LIKE_WINDOWS
}
"""The first fault of a family for each way to audit. Audits take seconds, so `make acceptance` runs
the others. Of originals, one is enough here: `tests/acceptance/test_audits.py` audits them too."""
ORIGINALS_AUDITED_IN_TEST = {name for name in AUDITED_IN_TEST if name.startswith(f"{WINDOWS}-")}


def case(detector: Detector, name: str, in_test: set[str], *values: object) -> object:
    """Return one case; where an audit is the detector, it is slow or for `make acceptance`."""
    if not is_audit(detector):
        return pytest.param(*values, id=name)
    mark = pytest.mark.slow if name in in_test else pytest.mark.acceptance
    return pytest.param(*values, id=name, marks=mark)


@pytest.mark.parametrize(
    "planted",
    [case(planted.detector, name, AUDITED_IN_TEST, planted) for name, planted in FAULTS.items()],
)
def test_the_mutant_is_caught(planted: Planted) -> None:
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        planted.detector(planted.mutant)


@pytest.mark.parametrize(
    ("original", "detector"),
    [
        case(detector, name, ORIGINALS_AUDITED_IN_TEST, one, detector)
        for (one, detector), name in ORIGINALS.items()
    ],
)
def test_the_original_passes(original: Any, detector: Detector) -> None:
    detector(original)


def test_a_detector_is_wrong_about_an_original_in_one_of_1000_runs_at_most() -> None:
    assert max(planted.false_alarm for planted in FAULTS.values()) <= 1e-3


def test_no_two_faults_of_a_family_have_one_name() -> None:
    assert len(FAULTS) == sum(map(len, families().values()))


def test_the_page_lists_every_fault_and_who_catches_it() -> None:
    """`python -m tests.privacy.faults` writes it."""
    assert GUARANTEES.read_text() == written()
