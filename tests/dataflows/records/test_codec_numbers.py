"""Numbers are read into whole units, exactly or to the nearest, and written with their decimals."""

from decimal import Decimal

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fugu.dataflows.base.batches import Decoded, Reason
from fugu.dataflows.records.codec import Codec
from fugu.dataflows.records.numbers import Numbers
from fugu.operators.mechanism import Kind, Releases
from tests.dataflows.stages.columns import batch_of

TENTHS = Numbers("watts", units_per_one=10)


def decoded(*values: bytes) -> Decoded:
    return Codec(TENTHS, 1_000).decode(batch_of([(b"alice", value) for value in values]))


@pytest.mark.parametrize(
    ("written", "units"),
    [
        (b"3", 30),
        (b"-3", -30),
        (b"0.34", 3),
        (b"0.35", 4),
        (b"-0.35", -3),
        (b"1e300", 2**61),
        (b"-1e300", -(2**61)),
        (b"123456789012345678", 1234567890123456780),
        (b"18446744073709551615", 2**61),
    ],
)
def test_a_number_becomes_the_nearest_unit_and_never_overflows(written: bytes, units: int) -> None:
    assert decoded(b'{"watts": %s}' % written).values.tolist() == [units]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b'{"watts": "3"}', Reason.WRONG_TYPE),
        (b'{"watts": true}', Reason.WRONG_TYPE),
        (b'{"watts": null}', Reason.WRONG_TYPE),
        (b'{"watts": 1e308}', Reason.NOT_FINITE),
        (b'{"watts": NaN}', Reason.NOT_FINITE),
        (b'{"watts": 1e999}', Reason.NOT_FINITE),
        (b"{}", Reason.FIELD_MISSING),
    ],
)
def test_what_is_no_number_is_a_dead_letter(value: bytes, reason: Reason) -> None:
    assert decoded(value).dead.reasons == [reason]


@given(st.integers(-(2**53), 2**53), st.sampled_from([1, 2, 10, 100]))
def test_integers_are_read_exactly(number: int, units_per_one: int) -> None:
    assert Numbers("n", units_per_one=units_per_one).read({"n": number}) == number * units_per_one


@pytest.mark.parametrize(
    ("units_per_one", "written"),
    [(1, b"-12"), (2, b"-12.3"), (4, b"-12.35"), (10, b"-12.3"), (100, b"-12.35")],
)
def test_releases_have_the_decimals_of_the_unit(units_per_one: int, written: bytes) -> None:
    releases = Releases(np.array([-12.346]))
    [value] = Numbers("watts", units_per_one=units_per_one).write(releases)
    assert value == b'{"watts":%s}' % written


def test_names_are_escaped_and_repeated_releases_marked() -> None:
    releases = Releases(np.array([1.0, 2.0]), kinds=np.array([Kind.FRESH, Kind.REPEATED]))
    lines = Numbers('100 %d "x"', units_per_one=1).write(releases)
    assert [orjson.loads(line) for line in lines] == [
        {'100 %d "x"': 1},
        {'100 %d "x"': 2, "repeated": True},
    ]


@given(
    hundredths=st.integers(-(10**7), 10**7),
    apart=st.integers(0, 2_000),
    more=st.sampled_from([0, 1, 5, 9]),
)
def test_numbers_are_read_no_farther_apart_than_they_are_written(
    hundredths: int, apart: int, more: int
) -> None:
    """Also where both are halfway between two units, and doubles would err in either direction."""
    numbers = Numbers("kw", units_per_one=100)
    thousandths = 10 * hundredths + more
    one, other = (
        orjson.loads(str(Decimal(number) / 1000))
        for number in (thousandths, thousandths + 10 * apart)
    )
    read = [numbers.read({"kw": number}) for number in (one, other)]
    assert read[1] - read[0] == apart
