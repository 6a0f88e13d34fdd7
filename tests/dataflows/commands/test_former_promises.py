"""Releases of version 0.1.0 are known by the ids that it gave them."""

import pytest

from fugu.dataflows.commands.former_promises import former_guarantee_id
from fugu.operators.budget import Budgeted
from fugu.operators.mechanism import Mechanism
from fugu.operators.responses.generalized_randomized_response import GeneralizedRandomizedResponse

GRR = GeneralizedRandomizedResponse(symbols=4, epsilon=1.0)


@pytest.mark.parametrize(
    ("mechanism", "name"),
    [
        (GRR, b"808c19f1d39aa1a1"),
        (Budgeted(GRR, total=7.0), b"942ab21858c359f7"),
        (Budgeted(GRR, total=7.0, window=5), b"85090b7187af3f13"),
    ],
    ids=["alone", "total", "window"],
)
def test_the_id_is_what_that_version_computed(mechanism: Mechanism, name: bytes) -> None:
    """The ids are those that `guarantee_id` of commit cc73aa9 returned."""
    assert former_guarantee_id(mechanism) == name
