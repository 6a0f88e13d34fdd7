"""`fugu audit` of every kind: only the kind whose claim is known to fail exceeds its claim.

Writes `results/audits.csv` and `.md`, and `docs/pictures/audits.png`, which are committed.
"""

from pathlib import Path

import pytest

from fugu.dataflows.kinds import KINDS
from tests.acceptance.audits import page
from tests.acceptance.audits.found import audited, stored
from tests.acceptance.audits.proofs import IN_NATS, PROOFS
from tests.acceptance.audits.tables import results
from tests.acceptance.audits.written import PAGE, write
from tests.thinned import in_acceptance

UNSOUND = {"paper_crr"}
LONG = {"real_time", "real_time_local", "unicorn"}
"""Kinds that even a few runs take more than ten seconds for."""
TESTS = Path(__file__).parents[1]
FEW_RUNS = 2_000


def one_of_each_family() -> list[str]:
    """Return the first kind of every way to audit, and the one that breaks its claim."""
    first = {KINDS[kind].evaluation: kind for kind in reversed(IN_NATS)}
    return [*first.values(), *UNSOUND]


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", [in_acceptance(kind) if kind in LONG else kind for kind in one_of_each_family()]
)
def test_a_kind_of_each_family_keeps_what_it_claims(kind: str) -> None:
    rows = audited(kind, FEW_RUNS)
    assert [row.about for row in rows if row.part == "no verdict"] == []
    exact = KINDS[kind].evaluation == "collected"
    assert any(row.part == ("worst case" if exact else "attack") for row in rows)
    assert any(row.broken for row in rows) == (kind in UNSOUND)


def test_the_committed_results_are_about_every_kind_and_none_exceeds_its_claim() -> None:
    rows = stored()
    assert {row.kind for row in rows if row.part != "no verdict"} == set(IN_NATS)
    assert {row.kind for row in rows if row.broken} == UNSOUND


def test_pages_show_the_committed_ones() -> None:
    assert PAGE.read_text() == results(stored())
    assert page.GUARANTEES.read_text() == page.written(stored())


def test_every_kind_names_a_test_that_proves_its_claim() -> None:
    missing = {name for name in PROOFS.values() if not (TESTS / f"{name}.py").is_file()}
    assert missing == set()


@pytest.mark.acceptance
def test_no_kind_exceeds_its_claim() -> None:
    rows = [row for kind in IN_NATS for row in audited(kind)]
    write(rows)
    assert {row.kind for row in rows if row.part == "no verdict"} == set()
    assert {row.kind for row in rows if row.broken} == UNSOUND
    assert {row.kind for row in rows if row.part == "attack"} == set(IN_NATS)
