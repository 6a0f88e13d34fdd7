"""Envelopes of many releases are those of each by itself."""

from math import isnan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fugu.dataflows.records.payloads import Payloads
from fugu.dataflows.records.series import SAID, Series
from fugu.operators import compiled
from fugu.operators.mechanism import Releases

PAYLOADS = Payloads(["x"], null="as_none")
PHASES = ("warmup", "steady", "cooldown")
BORDERS = [
    *(sign * number for sign in (1, -1) for number in (0.0, 1.0, 0.5, 2.5, 2.0**-7, 2.0**53)),
    *(999_999.4999, 999_999.5, 999_999.6, 99_999.95, 99999.95000001, 0.0999999999, 0.099999949),
    *(1e-4, 1e-5, 9.99999949e-5, 1e6, 1e17, 1e300, 5e-324, np.inf, -np.inf, np.nan, 123456.5),
    *(123455.5, 12345.25, 0.01, 0.0078125, 0.00781249, 1 / 3, 2 / 3, 100.0, 1000.0, 120000.0),
]
numbers = st.floats() | st.floats(-1e6, 1e6) | st.sampled_from(BORDERS)
rows = st.tuples(numbers, st.booleans(), numbers, numbers, numbers, st.booleans())


@pytest.fixture(params=["compiled", "plain"], autouse=True)
def with_and_without_compiled_code(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    if request.param == "plain":
        monkeypatch.setattr(compiled, "available", lambda: False)


def estimates(of: list[tuple[float, bool, float, float, float, bool]]) -> Releases:
    values, *columns = (np.array(column) for column in zip(*of, strict=True))
    return Releases(values, dict(zip(SAID, columns, strict=True)))


def estimate(
    value: float, measured: bool, error: float, spent: float, remaining: float, exhausted: bool
) -> bytes:
    said = "null" if isnan(error) else f"{error:.6g}"
    status = "measured" if measured else "predicted"
    return (
        f'{{"value":{value:.5f},"standard_error":{said},"status":"{status}",'
        f'"predicted":{str(not measured).lower()},"spent_rho":{spent:.6g},'
        f'"remaining_rho":{remaining:.6g},"budget_exhausted":{str(exhausted).lower()}}}'
    ).encode()


@given(st.lists(rows, min_size=1, max_size=8), st.sampled_from([1, 70]))
def test_estimates_of_any_numbers_are_formatted_as_python_does(
    some: list[tuple[float, bool, float, float, float, bool]], copies: int
) -> None:
    series, some = Series("watts", units_per_one=10, whole=False), some * copies
    assert list(series.write(estimates(some))) == [estimate(*one) for one in some]


def test_estimates_of_numbers_of_every_size_are_formatted_as_python_does() -> None:
    random = np.random.default_rng(1)
    drawn = random.normal(size=20_000) * 10.0 ** random.integers(-8, 9, 20_000)
    short = np.round(random.random(20_000) * 1e6) / 10.0 ** random.integers(0, 9, 20_000)
    halves = random.integers(10**5, 10**6, 20_000) / 2.0 ** random.integers(0, 12, 20_000)
    column = [*BORDERS, *drawn.tolist(), *short.tolist(), *halves.tolist()]
    series = Series("watts", units_per_one=10, whole=False)
    some = [(one, True, one, one, -one, False) for one in column]
    assert list(series.write(estimates(some))) == [estimate(*one) for one in some]


@given(
    st.lists(
        st.tuples(
            st.none() | st.binary(max_size=9),
            st.integers(-(2**63), 2**63 - 1),
            st.integers(0, 9),
            st.integers(0, 2),
        ),
        min_size=1,
        max_size=5,
    ),
    st.sampled_from([1, 70]),
)
def test_envelopes_say_when_a_payload_left(
    some: list[tuple[bytes | None, int, int, int]], copies: int
) -> None:
    some = some * copies
    payloads = np.array([payload for payload, *_ in some], dtype=object)
    notes = {
        name: np.array([row[place] for row in some])
        for place, name in enumerate(("tick", "epoch", "phase"), start=1)
    }
    assert list(PAYLOADS.write(Releases(payloads, notes))) == [
        f'{{"tick":{tick},"epoch":{epoch},"phase":"{PHASES[phase]}",'.encode()
        + (
            b'"empty":true,"value":null}'
            if payload is None
            else b'"empty":false,"value":%b}' % payload
        )
        for payload, tick, epoch, phase in some
    ]
