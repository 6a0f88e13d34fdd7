"""The compiled stages equal the specification's loops, record for record and step for step."""

import sys
from pathlib import Path
from subprocess import run

import pytest

from fugu.operators.anonymity.attacks import attacked
from fugu.operators.anonymity.suppression import repaired, suppressed, virtual_values
from tests.operators.anonymity import reference
from tests.operators.anonymity.random_tables import Case, cases


def assert_equals_the_reference(case: Case) -> set[str]:
    """Compare all stages, and return the reasons for which points were removed."""
    table, settings, limits = case.table, case.anonymization, case.anonymization.limits
    categories = settings.categories[table.values]
    virtual = virtual_values(table, settings.taxonomy, settings.privacy_height)
    sizes = {"people": limits.people, "known_points": limits.known_points}
    kept = suppressed(table, virtual, **sizes)
    assert kept.tolist() == reference.suppressed(table, virtual, **sizes).tolist()
    fast = repaired(table, kept, categories, limits)
    slow = reference.repaired(table, kept, categories, limits)
    assert fast.removals == slow.removals
    assert fast.kept.tolist() == slow.kept.tolist()
    for left in (table, table.with_points(kept), table.with_points(fast.kept)):
        assert attacked(left, categories, limits) == reference.attacked(left, categories, limits)
    return {step.reason for step in fast.removals}


WITHOUT_NUMBA = """
import sys
sys.modules["numba"] = None
from fugu.operators import compiled
from tests.operators.anonymity.test_reference import assert_equals_the_reference, cases
assert not compiled.available()
reasons = set().union(*map(assert_equals_the_reference, cases(seed=25, count=60)))
assert reasons == {"support", "confidence", "correlated"}
"""


def test_random_tables_give_what_the_reference_gives() -> None:
    reasons = set[str]().union(*map(assert_equals_the_reference, cases(seed=25, count=200)))
    assert reasons == {"support", "confidence", "correlated"}


@pytest.mark.slow
def test_a_process_without_numba_gives_the_same() -> None:
    done = run(
        [sys.executable, "-c", WITHOUT_NUMBA],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
