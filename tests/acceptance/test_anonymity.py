"""Ten thousand random tables, anonymised, attacked, and compared with the specification's loops.

Writes `results/anonymity.txt`, which is committed.
"""

from collections import Counter
from pathlib import Path

import pytest

from fugu.operators.anonymity.attacks import Attacks
from fugu.operators.anonymity.knowledge import Infeasible
from tests.operators.anonymity import reference
from tests.operators.anonymity.random_tables import Case, cases
from tests.operators.anonymity.test_reference import assert_equals_the_reference

RESULTS = Path(__file__).parent / "results" / "anonymity.txt"
TABLES, SEED = 10_000, 2_510
ATTACKS = ("identity", "attribute", "similarity", "correlated")
STAGES = ("input", "after stage 1", "after stage 2")


@pytest.mark.acceptance
def test_no_attack_succeeds_on_ten_thousand_random_tables() -> None:
    hits = {stage: Counter[str]() for stage in STAGES}
    tables = Counter[str]()
    for case in cases(SEED, TABLES):
        assert_equals_the_reference(case)
        tables[outcome(case, hits)] += 1
    RESULTS.write_text("\n".join(told(tables, hits)) + "\n")
    assert not hits["after stage 2"]


def outcome(case: Case, hits: dict[str, Counter[str]]) -> str:
    """Count the hits on a table, and return what became of it."""
    try:
        done = case.anonymization.anonymize(case.table, None)
    except Infeasible as refused:
        return f"refused: {refused}"
    left = case.table.with_points(done.kept)
    categories = case.anonymization.categories[left.values]
    again = reference.attacked(left, categories, case.anonymization.limits)
    for stage, attacks in zip(STAGES, (done.input, done.after_suppression, again), strict=True):
        hits[stage].update(found(attacks))
    return "released" if len(done.rows) else "released, empty"


def found(attacks: Attacks) -> Counter[str]:
    return +Counter({name: getattr(attacks, name).knowledge for name in ATTACKS})


def told(tables: Counter[str], hits: dict[str, Counter[str]]) -> list[str]:
    """Return the lines of the results."""
    return [
        f"{TABLES:,} random tables of up to 24 rows, with people who have several; K from 2 to 5,",
        "rho from 1 to 3, sigma from 2/5 to 4/5, linked and not. Each stage equals the loops of",
        "the specification, step for step. Hits of attacks on the tables that are released:",
        "",
        f"{'':<14}" + "".join(f"{name:>12}" for name in ATTACKS),
        *(
            f"{stage:<14}" + "".join(f"{hits[stage][name]:>12,}" for name in ATTACKS)
            for stage in STAGES
        ),
        "",
        *(f"{number:>6,} {name}" for name, number in sorted(tables.items())),
    ]
