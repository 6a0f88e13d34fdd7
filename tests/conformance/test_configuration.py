"""Hold what every mechanism says about itself to the same suite."""

import re
import sys
from dataclasses import FrozenInstanceError, fields, is_dataclass, replace
from math import isfinite, isinf
from typing import Any, get_args

import numpy as np
import orjson
import pytest

from fugu.dataflows.pipeline.config import Pipeline
from fugu.operators.guarantee import (
    BEYOND_A_PERIOD,
    BEYOND_A_WINDOW,
    CAP_CHOSEN_IN_PUBLIC,
    CLAMPED,
    CORRELATION,
    DEPENDENT_OTHERS,
    Notion,
    Per,
)
from fugu.operators.mechanism import Mechanism
from tests.conformance.example import Example
from tests.conformance.kinds import KINDS, UNUSABLE

CHOICE = "temporal_perturbation"
"""Names no mechanism: it chooses the cheapest of four."""
FORM = "shaped_real_time"
"""The name of `real_time` with a model of figures under a cap."""


def test_every_kind_that_a_pipeline_file_can_name_has_examples() -> None:
    sections = get_args(Pipeline.model_fields["operator"].annotation)
    named = {kind for one in sections for kind in get_args(one.model_fields["kind"].annotation)}
    assert named - {CHOICE} == set(KINDS) - {FORM}


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_is_documented(kind: str) -> None:
    mechanism = KINDS[kind].mechanism
    assert isinstance(mechanism.implementation, int)
    page = f"{sys.modules[mechanism.__module__].__doc__}{mechanism.__doc__}"
    for heading in ("Claim. ", "Parameters: ", "Source: "):
        assert heading in page
    assert mechanism.__doc__


def test_configuration_is_frozen(example: Example) -> None:
    mechanism: Any = example.mechanism
    assert isinstance(mechanism, Mechanism)
    assert is_dataclass(mechanism)
    for field in fields(mechanism):
        with pytest.raises(FrozenInstanceError):
            setattr(mechanism, field.name, None)


def test_a_number_that_cannot_be_is_refused_naming_the_field(example: Example) -> None:
    mechanism: Any = example.mechanism
    parameters = [field.name for field in fields(mechanism) if field.init]
    numbers = [name for name in parameters if isinstance(getattr(mechanism, name), int | float)]
    unusable = UNUSABLE[type(mechanism)]
    assert set(numbers) <= set(unusable) <= set(parameters)
    for name, values in unusable.items():
        assert values
        for value in values:
            with pytest.raises(ValueError, match=rf"^[a-z_, :]*\b{re.escape(name)}\b") as refused:
                replace(mechanism, **{name: value})
            assert ": " in str(refused.value)


def test_a_whole_number_is_taken_where_a_float_is_declared(example: Example) -> None:
    mechanism: Any = example.mechanism
    for field in fields(mechanism):
        given = getattr(mechanism, field.name)
        if not field.init or not isinstance(given, float):
            continue
        for whole in {max(1, round(given)), max(1, round(given)) * 10, 1}:
            try:
                as_float: Any = replace(mechanism, **{field.name: float(whole)})
            except ValueError as refused:
                with pytest.raises(ValueError, match=re.escape(str(refused))):
                    replace(mechanism, **{field.name: whole})
                continue
            for number in (whole, np.int64(whole)):
                as_integer: Any = replace(mechanism, **{field.name: number})
                assert type(getattr(as_integer, field.name)) is float
                assert as_integer.law_digest() == as_float.law_digest()
                assert as_integer.guarantees() == as_float.guarantees()
                assert as_integer.audit() == as_float.audit()


def test_guarantees_are_data(example: Example) -> None:
    guarantees = example.mechanism.guarantees()
    assert guarantees
    for guarantee in guarantees:
        assert guarantee.notion in get_args(Notion)
        assert guarantee.per in get_args(Per)
        assert (guarantee.window is not None) == (guarantee.per in ("window", "period"))
        assert guarantee.epsilon > 0.0 or guarantee.notion == "delay-law"
        assert 0.0 <= guarantee.delta <= 1.0
        assert 0.0 <= guarantee.finite_precision_delta <= 1.0
        assert guarantee.delta <= guarantee.total_delta <= 1.0
        assert guarantee.proof
        assert guarantee.not_covered
        read: dict[str, Any] = orjson.loads(orjson.dumps(guarantee))
        assert set(read) == {field.name for field in fields(guarantee)}


def test_a_promise_of_periods_says_what_they_leave_open(example: Example) -> None:
    """Say alike of every kind: a window meets two periods, and the cap is no secret."""
    for guarantee in example.mechanism.guarantees():
        beyond = guarantee.per == "period"
        assert (BEYOND_A_PERIOD in guarantee.not_covered) == beyond
        assert (CAP_CHOSEN_IN_PUBLIC in guarantee.assumptions) == beyond
        if beyond:
            assert BEYOND_A_WINDOW not in guarantee.not_covered
            assert {CLAMPED, DEPENDENT_OTHERS, CORRELATION} <= set(guarantee.not_covered)


def test_an_infinite_epsilon_is_null_in_json_and_never_sound(example: Example) -> None:
    for guarantee in example.mechanism.guarantees():
        read: dict[str, Any] = orjson.loads(orjson.dumps(guarantee))
        assert (read["epsilon"] is None) == isinf(guarantee.epsilon)
        assert guarantee.sound == read["sound"]
        unbounded = guarantee.notion == "anonymity"
        assert isfinite(guarantee.epsilon) or unbounded or not guarantee.sound


def test_an_audit_can_be_written_as_json(example: Example) -> None:
    audit = example.mechanism.audit()
    assert audit
    assert orjson.loads(orjson.dumps(audit)) == audit


def test_the_law_digest_tells_every_configuration_apart() -> None:
    digests = [e.mechanism.law_digest() for kind in KINDS.values() for e in kind.examples()]
    assert {len(digest) for digest in digests} == {32}
    assert len(set(digests)) == len(digests)
    again = [e.mechanism.law_digest() for kind in KINDS.values() for e in kind.examples()]
    assert digests == again


def test_a_new_implementation_has_a_new_law_digest(
    example: Example, monkeypatch: pytest.MonkeyPatch
) -> None:
    mechanism: Any = example.mechanism
    before = mechanism.law_digest()
    monkeypatch.setattr(type(mechanism), "implementation", mechanism.implementation + 1)
    assert mechanism.law_digest() != before
