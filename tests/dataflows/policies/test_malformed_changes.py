"""Whatever stands in the topic of policies: what is no change is refused, and none takes long."""

from pathlib import Path
from random import Random
from statistics import median
from time import process_time

import orjson
import pytest

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.policies.changes import UnusableChange, change
from fugu.dataflows.policies.document import PolicyDocument
from tests.dataflows.policies.documents import read
from tests.dataflows.policies.malformed import Record, malformed

NOW = 2_953_866
"""March 2026."""
REFUSED = 5_000
LARGEST_VALUE = 16_384


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> PolicyDocument:
    return read(tmp_path_factory.mktemp("policies"))


def reason(record: Record, document: PolicyDocument, owner: bool) -> str | None:
    """Why a record is refused, where it is read or where it is applied; None if it is taken.

    Nothing else is raised, and what is taken can be asked about.
    """
    try:
        made = change(*record, document, owner=owner)
    except UnusableChange as error:
        return str(error)
    policies, content = document.policies, made.to_bytes()
    try:
        after = policies.changed(b"", content, NOW)
    except ValueError as error:
        return str(error)
    assert policies.explained(b"", content, NOW)
    for tick in (NOW, NOW + 1_000, NOW + 10**6):
        assert policies.relevance(tick, after).sensitivity >= 0
    return None


def taken(record: Record, document: PolicyDocument) -> float:
    """The least seconds of some rounds."""
    rounds = []
    for _ in range(5):
        begun = process_time()
        reason(record, document, owner=False)
        rounds.append(process_time() - begun)
    return min(rounds)


def test_every_malformed_record_is_refused_with_a_reason_and_none_is_slow(
    document: PolicyDocument,
) -> None:
    """The slowest are compared with a typical one."""
    random, times = Random(21), list[tuple[float, Record]]()
    refused = taken_ones = 0
    while refused < REFUSED:
        record, owner = malformed(random), random.random() < 0.3
        begun = process_time()
        why = reason(record, document, owner)
        times.append((process_time() - begun, record))
        taken_ones += why is None
        refused += why is not None
        if why is not None:
            field, _, advice = why.partition(": ")
            assert field
            assert advice
            assert len(why) < 2_000, "a reason is no copy of the record"
    assert taken_ones < REFUSED / 5, "few mutations leave a change as good as before"
    typical = median(seconds for seconds, _ in times)
    slowest = sorted(times, key=lambda one: one[0])[-20:]
    for _, record in slowest:
        assert taken(record, document) < 200 * typical


def long(name: str, document: PolicyDocument) -> str:
    interval = {"start": "2026-03-01T20:00", "end": "2045-03-05T20:00"}
    pattern = {"ticks": 999_936}
    policy = {"id": name, "interval": interval, "pattern": pattern, "theta": 14.5}
    value = orjson.dumps({"effective": 0, "policy": policy})
    assert len(value) < 200
    return reason((b"household/" + name.encode(), value), document, owner=False) or ""


def test_a_short_record_does_not_drown_the_figures_for_twenty_years(
    document: PolicyDocument,
) -> None:
    """As long as documents allow, and a whole contribution all the time."""
    assert "policy drown: limits.interval: has intervals of up to 999," in long("drown", document)


def test_values_beyond_their_size_are_not_even_parsed(document: PolicyDocument) -> None:
    def why(brackets: int) -> str:
        return reason((b"shop/x", b"[" * brackets), document, owner=False) or ""

    assert why(LARGEST_VALUE) == "shop/x: value: is not valid JSON"
    assert why(LARGEST_VALUE + 1).startswith("shop/x: value: takes more than 16,384 bytes")


def test_the_size_of_a_file_is_limited(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="larger than 4 MiB"):
        read(tmp_path, "#" * 2**22 + "\n")
