"""Documents declare what changes may make of a collection, in the unit of the query."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from fugu.dataflows.policies.changes import change
from fugu.dataflows.policies.document import PolicyDocument
from fugu.operators.swellfish.policy import UNDECLARED, Limits
from tests.dataflows.policies.documents import read, read_error, with_change

NOW = 2_953_866
"""March 2026."""
LIMITS = "limits: {noise: 60 kW, added: 40, interval: P1D, policies: 3}\n"
DECLARED = Limits(demand=6_000, added=4_000, interval=152, policies=3)
"""A day has 25 hours when clocks are put back, and touches a tick more."""


def limited(directory: Path, limits: str = LIMITS) -> PolicyDocument:
    return read(directory, with_change("epsilon: 1.0\n", f"epsilon: 1.0\n{limits}"))


def policy(**members: Any) -> dict[str, Any]:
    interval = {"start": "2026-04-01T20:00", "end": "2026-04-01T22:00"}
    return {"id": "x", "interval": interval, "pattern": {"ticks": 4}, "theta": 1, **members}


def adds(document: PolicyDocument, **members: Any) -> bytes:
    value = orjson.dumps({"effective": 0, "policy": policy(**members)})
    content = change(b"household/x", value, document).to_bytes()
    return document.policies.changed(b"", content, NOW)


def test_limits_are_numbers_of_the_query_and_of_the_grid(tmp_path: Path) -> None:
    assert limited(tmp_path).policies.limits == DECLARED
    half = with_change("epsilon: 1.0", "epsilon: 0.5\nlimits: {noise: 0.015}")
    assert read(tmp_path, half).policies.limits == Limits(demand=0)
    own = with_change("    policies: []\n", f"    {LIMITS}    policies: []\n")
    home, shop = read(tmp_path, own).policies.collections
    assert (home.limits, shop.limits) == (UNDECLARED, DECLARED)


def test_a_change_beyond_them_is_refused_with_its_cost_in_words(tmp_path: Path) -> None:
    document = limited(tmp_path)
    assert adds(document, theta=9)
    with pytest.raises(ValueError, match=r"^policy x: limits.added: would add 51 kW of noise"):
        adds(document, theta=14.5)
    with pytest.raises(ValueError, match=r"would make noise of 92 kW .* may cause 60 kW; make"):
        adds(document, theta=11.5, pattern={"ticks": 8})
    week = {"start": "2026-04-01T20:00", "end": "2026-04-08T20:00"}
    with pytest.raises(ValueError, match=r"intervals of up to 1,008 ticks where 152 are the most"):
        adds(document, interval=week)


def test_a_whole_day_is_as_long_as_a_day_may_be(tmp_path: Path) -> None:
    calendar = {"days": ["sun"], "start": "00:00", "end": "00:00"}
    whole = policy(calendar=calendar)
    del whole["interval"]
    for limits in (LIMITS, ""):
        document = limited(tmp_path, limits)
        value = orjson.dumps({"effective": 0, "policy": whole})
        content = change(b"shop/x", value, document).to_bytes()
        assert document.policies.changed(b"", content, NOW)


def test_where_none_are_declared_a_day_of_whole_contributions_may_be_added(tmp_path: Path) -> None:
    document = limited(tmp_path, "")
    assert document.policies.limits == UNDECLARED
    assert document.policies.otherwise == Limits(demand=144 * 1_450, interval=152, policies=100)
    assert adds(document, theta=14.5, pattern={"ticks": 12})
    assert document.policies.longest == 152


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ("limits: {noise: 60 W}\n", "limits.noise: is in another unit than the query; write it in"),
        ("limits: {noise: -1}\n", "limits.noise: must be 0 or more"),
        ("limits: {interval: soon}\n", "limits.interval: "),
        ("limits: {policies: -1}\n", "limits.policies: "),
        ("limits: {nose: 1}\n", "limits.nose: unknown key; did you mean noise?"),
    ],
)
def test_what_is_no_limit_names_its_line(limits: str, said: str, tmp_path: Path) -> None:
    error = read_error(tmp_path, with_change("epsilon: 1.0\n", f"epsilon: 1.0\n{limits}"))
    assert error.startswith("policies.yaml:5: ")
    assert said in error


def test_limits_of_a_collection_name_the_collection(tmp_path: Path) -> None:
    own = "    limits: {added: 3 W}\n    policies: []\n"
    error = read_error(tmp_path, with_change("    policies: []\n", own))
    assert "collections.shop.limits.added: is in another unit" in error
