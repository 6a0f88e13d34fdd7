"""A budget that pays for nothing is refused before anything is read."""

from pathlib import Path

import pytest

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.kinds import KINDS
from fugu.dataflows.pipeline.mechanisms import (
    budget_remarks,
    configure,
    refuse_what_pays_nothing,
)
from tests.dataflows.kinds.example_files import example_of

GRR = {"epsilon": 1.0}


@pytest.mark.parametrize("window", [None, 20])
def test_a_total_below_the_cost_of_a_release_is_refused(window: int | None, tmp_path: Path) -> None:
    file = example_of("grr", tmp_path, GRR, budget={"total": 0.5, "window": window})
    with pytest.raises(ConfigurationError) as refused:
        refuse_what_pays_nothing(configure(file).mechanism)
    assert str(refused.value) == (
        "budget.total: 0.5 is less than one release costs (1 nat), so nothing "
        "would ever be released afresh; write 1 or more"
    )


@pytest.mark.parametrize("epsilon", [1.0, 0.1, 1 / 3, 2.7182818])
def test_what_the_text_says_to_write_is_accepted(epsilon: float, tmp_path: Path) -> None:
    def check(total: float) -> None:
        file = example_of("grr", tmp_path, {"epsilon": epsilon}, budget={"total": total})
        refuse_what_pays_nothing(configure(file).mechanism)

    with pytest.raises(ConfigurationError) as refused:
        check(0.01)
    check(float(str(refused.value).split("write ")[1].split(" or")[0]))


def test_a_total_that_pays_for_one_release_is_accepted(tmp_path: Path) -> None:
    file = example_of("grr", tmp_path, GRR, budget={"total": 1})
    refuse_what_pays_nothing(configure(file).mechanism)
    assert budget_remarks(file.pipeline) == []


def test_a_model_may_pay_with_less_than_epsilon_which_is_warned_of(tmp_path: Path) -> None:
    file = example_of("adaptive_crr", tmp_path, budget={"total": 1.4})
    refuse_what_pays_nothing(configure(file).mechanism)
    [remark] = budget_remarks(file.pipeline)
    assert remark.startswith("budget.total: 1.4 is less than epsilon (1.5 nats)")


def test_a_total_that_the_first_release_of_a_model_exceeds_is_refused(tmp_path: Path) -> None:
    file = example_of("crr", tmp_path, {"epsilon": 3.0}, budget={"total": 0.001})
    with pytest.raises(ConfigurationError, match="nothing would ever be released afresh"):
        refuse_what_pays_nothing(configure(file).mechanism)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_remarked_about_a_budget_that_is_not_there(kind: str, tmp_path: Path) -> None:
    assert budget_remarks(example_of(kind, tmp_path).pipeline) == []
