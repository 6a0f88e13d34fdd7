"""Plant faults in what is counted of several pipelines together."""

from dataclasses import replace
from typing import Any

from fugu.dataflows.pipeline import source_budget
from fugu.dataflows.pipeline.guarantee_data import guarantee_data
from fugu.dataflows.pipeline.source_section import DeclaredBudget
from fugu.dataflows.publishing import ledger_topic
from fugu.operators.composition.spend import Figure, Spend, composed
from fugu.operators.guarantee import Guarantee
from tests.dataflows.pipeline import test_source_budget as budgets
from tests.dataflows.publishing import test_ledger_topic as written
from tests.privacy.faults.planted import InTest, Planted, Replacing

FAMILY = "all"


def any_delta(total: Spend, budget: DeclaredBudget) -> Figure:
    """Compare epsilons with a declared budget, whatever their deltas are."""
    return composed(total)


def data_without_delta(guarantee: Guarantee) -> dict[str, Any]:
    """Enter a promise into the ledger without its delta."""
    return guarantee_data(replace(guarantee, delta=0.0))


BUDGET = Replacing(
    source_budget,
    "_figure_within",
    InTest(budgets.test_two_pipelines_that_promise_next_to_nothing_are_refused),
)
LEDGER = Replacing(
    ledger_topic,
    "guarantee_data",
    InTest(
        written.test_a_pipeline_comes_back_with_its_guarantees_word_for_word,
        lambda data: (written.NOISE,),
    ),
)
PLANTED = (
    Planted("ledger without delta", source_budget._figure_within, any_delta, BUDGET),
    Planted("ledger without delta", guarantee_data, data_without_delta, LEDGER),
)
