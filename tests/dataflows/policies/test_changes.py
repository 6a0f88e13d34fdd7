"""Records of the policy topic become changes, and what is wrong with one names policy and field."""

from dataclasses import replace
from datetime import date, datetime, timedelta
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import orjson
import pytest

from fugu.dataflows.base.errors import StartRefused
from fugu.dataflows.policies.changes import (
    UnusableChange,
    change,
    moved,
    require_later,
    transitions_of,
)
from fugu.dataflows.policies.document import PolicyDocument
from fugu.operators.swellfish.calendar import DAY, Calendar, Zone
from fugu.operators.swellfish.changes import AnyChange, Change, MovedKeys, NewCollection, change_of
from tests.dataflows.policies.documents import EXAMPLE, read, with_change

SAUNA: dict[str, Any] = {
    "id": "sauna",
    "interval": {"start": "2026-03-01T20:00", "end": "2026-03-01T22:00"},
    "pattern": {"duration": "PT10M"},
    "theta": "6 kW",
}
KEY = b"household/sauna"
EXCEPTIONS = [str(date(1970, 1, 1) + timedelta(days=day)) for day in range(47_000)]
EFFECTIVE = "2026-03-01T00:00:00+01:00"
START = int(datetime.fromisoformat("2026-03-01T20:00+01:00").timestamp()) // 600


@pytest.fixture
def document(tmp_path: Path) -> PolicyDocument:
    return read(tmp_path)


def record(**members: Any) -> bytes:
    return orjson.dumps({"effective": EFFECTIVE, **members})


def after(document: PolicyDocument, *changes: AnyChange, now: int = 0) -> bytes:
    state = b""
    for one in changes:
        state = document.policies.changed(state, one.to_bytes(), now)
    return state


def sensitivity(document: PolicyDocument, changes: bytes) -> int:
    return document.policies.relevance(START, changes).sensitivity


def test_a_policy_is_added_replaced_and_removed(document: PolicyDocument) -> None:
    added = change(KEY, record(policy=SAUNA), document)
    assert sensitivity(document, b"") == 0
    assert sensitivity(document, after(document, added)) == 600
    replaced = change(KEY, record(policy=SAUNA | {"theta": 7.5}), document)
    assert sensitivity(document, after(document, added, replaced)) == 750
    removed = change(KEY, record(remove=True), document)
    assert sensitivity(document, after(document, added, removed)) == 0


def test_a_change_may_list_secret_values(document: PolicyDocument) -> None:
    without = {name: value for name, value in SAUNA.items() if name != "theta"}
    pairs = change(KEY, record(policy=without | {"between": [0, "2.2 kW", 6]}), document)
    assert pairs == change(KEY, record(policy=SAUNA), document)
    with pytest.raises(UnusableChange, match=r"household/sauna: policy.pairs.0.1: is there twice"):
        change(KEY, record(policy=without | {"pairs": [[6, 6.0]]}), document)


def test_a_record_without_a_value_removes_as_soon_as_may_be(document: PolicyDocument) -> None:
    added = change(KEY, record(policy=SAUNA), document)
    gone = change(KEY, None, document)
    assert sensitivity(document, after(document, added, gone)) == 0
    begun = after(document, added)
    runs_out = document.policies.changed(begun, gone.to_bytes(), START + 1)
    assert sensitivity(document, runs_out) == 600


@pytest.mark.parametrize(
    ("effective", "tick"),
    [
        (EFFECTIVE, 2953866),
        ("2026-02-28T23:00:00Z", 2953866),
        ("2026-02-28T23:00:01Z", 2953867),
        (7, 7),
    ],
)
def test_a_change_counts_from_the_first_tick_after_its_time(
    effective: Any, tick: int, document: PolicyDocument
) -> None:
    value = orjson.dumps({"effective": effective, "remove": True})
    assert change(b"household/shower", value, document) == Change(
        "household", tick, removes="shower", adds=None
    )


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        (None, None, "key: write COLLECTION/POLICY, such as household/shower"),
        (b"sauna", None, "sauna: value: is none, and collections stay; remove the policies"),
        (b"a/b/c", None, "key: write COLLECTION/POLICY, such as household/shower"),
        (b"\xff/b", None, "key: write COLLECTION/POLICY, such as household/shower"),
        (b"household/sau na", None, "key: write COLLECTION/POLICY, such as household/shower"),
        (b"hotel", record(policy=SAUNA), 'hotel: value: write either "collection": {...} or "keys'),
        (b"hotel", record(collection={}), "hotel: collection.policies: is required; add it"),
        (
            b"hotel",
            record(collection={"policies": [SAUNA] * 2}),
            "hotel: collection.policies: na",
        ),
        (b"hotel", record(keys=[]), "hotel: keys: "),
        (b"hotel", record(keys=["meter-1", "meter-1"]), "hotel: keys: names one twice; delete"),
        (
            b"hotel",
            record(collection={"policies": [SAUNA | {"theta": "6 W"}]}),
            "hotel: collection.policies.0.theta: is in another unit",
        ),
        (KEY, record(keys=["meter-1"]), 'household/sauna: value: write either "policy": {...} or'),
        (KEY, record(remove=True, sequence=0), "household/sauna: sequence: "),
        (KEY, b"{", "household/sauna: value: is not valid JSON"),
        (KEY, b"[]", "household/sauna: value: write a section"),
        (KEY, b'{"remove": true}', "household/sauna: effective: is required; add it"),
        (KEY, record(), 'household/sauna: value: write either "policy": {...} or "remove": true'),
        (KEY, record(policy=SAUNA, remove=True), 'write either "policy": {...} or "remove": true'),
        (KEY, record(remove=False), "household/sauna: remove: input should be True"),
        (
            KEY,
            record(remove=True, effective="2026-03-01T00:00"),
            "effective: write a day, a time and its zone",
        ),
        (
            KEY,
            record(remove=True, effective="soon"),
            "effective: write a day, a time and its zone, such",
        ),
        (KEY, record(policy=SAUNA | {"id": "bath"}), "policy.id: is not that of the key; write"),
        (KEY, record(policy=SAUNA | {"theta": -1}), "household/sauna: policy.theta: must be 0 or"),
        (KEY, record(policy=SAUNA | {"theta": "6 W"}), "sauna: policy.theta: is in another unit"),
        (KEY, record(policy=SAUNA | {"thet": 6}), "policy.thet: unknown key; did you mean theta?"),
        (KEY, record(policy=SAUNA | {"pattern": {"ticks": 13}}), "policy.pattern.ticks: the inter"),
        (
            KEY,
            record(policy=SAUNA | {"activities": ["sauna"]}),
            "sauna: policy.activities.0: is no",
        ),
    ],
)
def test_what_is_no_change_is_refused(
    key: bytes | None, value: bytes | None, says: str, document: PolicyDocument
) -> None:
    with pytest.raises(UnusableChange) as caught:
        change(key, value, document)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_collection_is_made_and_keys_move_to_it(document: PolicyDocument) -> None:
    made = change(b"hotel", record(collection={"policies": [SAUNA]}), document)
    assert isinstance(made, NewCollection)
    assert (made.collection, [one.id for one in made.policies]) == ("hotel", ["sauna"])
    assert sensitivity(document, after(document, made)) == 600
    moved = change(b"hotel", record(keys=["meter-1"], sequence=3), document, owner=True)
    assert moved == MovedKeys("hotel", made.effective, ("meter-1",), owner=True, sequence=3)
    state = after(document, made, replace(moved, owner=False))
    assert document.policies.standings(state)["hotel"].keys == {"meter-1": made.effective}


def test_keys_that_the_document_does_not_know_cannot_move(tmp_path: Path) -> None:
    only = with_change("{default: true}", "{keys: [meter-7]}")
    document = read(tmp_path, only)
    with pytest.raises(UnusableChange, match="hotel: keys: must have a collection in the policy"):
        change(b"hotel", record(keys=["meter-1", "meter-9"]), document)


def test_a_change_says_who_made_it_and_as_which(document: PolicyDocument) -> None:
    signed = change(KEY, record(policy=SAUNA, sequence=7), document, owner=True)
    assert (signed.owner, signed.sequence) == (True, 7)
    assert change_of(signed.to_bytes()) == signed
    stranger = change(KEY, record(policy=SAUNA), document)
    assert (stranger.owner, stranger.sequence) == (False, 0)


def test_a_change_says_when_it_was_written(document: PolicyDocument) -> None:
    width = document.policies.tick_milliseconds
    for value in (None, record(remove=True), record(policy=SAUNA)):
        assert change(KEY, value, document, timestamp=7 * width + 1).sent == 7
        assert change(KEY, value, document, timestamp=-1).sent == 0


def test_a_change_of_version_1_is_one_of_a_stranger(document: PolicyDocument) -> None:
    added = change(KEY, record(policy=SAUNA), document)
    before = {k: v for k, v in added.to_data().items() if k not in {"owner", "sequence"}}
    assert change_of(orjson.dumps(before)) == added


@pytest.mark.parametrize(
    "changed",
    [
        {"interval": {"start": "2026-03-01T20:00:00+01:00:00.500000", "end": "2026-03-01T22:00"}},
        {"theta": [1] * 1_001},
        {"theta": "9" * 900_000},
        {"activities": [""]},
        {"activities": ["boiler", "x\ny"]},
        {"calendar": {"days": ["mon"], "start": "20:00", "end": "22:00", "except": EXCEPTIONS}},
    ],
    ids=["a broken second", "a long list", "many digits", "no name", "an odd name", "much to keep"],
)
def test_what_would_stop_the_pipeline_later_is_refused_at_once(
    changed: dict[str, Any], document: PolicyDocument
) -> None:
    policy = {**SAUNA, **changed}
    if "calendar" in changed:
        del policy["interval"]
    with pytest.raises(UnusableChange, match=r"^household/sauna: (policy|value: takes more)"):
        change(KEY, record(policy=policy), document)


def test_a_place_names_no_more_of_a_record_than_is_needed(document: PolicyDocument) -> None:
    with pytest.raises(UnusableChange) as refused:
        change(KEY, record(policy={**SAUNA, "secret\n" * 10_000: 1}), document)
    assert len(refused.value.place) < 100
    assert "\n" not in str(refused.value)


# Another version of the time zone database: what goes on, and what is refused.


DOCUMENT = PolicyDocument.read(EXAMPLE)
BEFORE = transitions_of(DOCUMENT.policies.collections)
PER_DAY = DAY * 1000 // DOCUMENT.policies.tick_milliseconds


def without_clock_changes_after(second: int) -> dict[str, list[tuple[int, int]]]:
    [(name, transitions)] = BEFORE.items()
    return {name: [one for one in transitions if one[0] < second]}


CHANGE = next(second for second, _ in BEFORE["Europe/Berlin"] if second > 1_790_000_000)
FIRST_MOVED = CHANGE * 1000 // DOCUMENT.policies.tick_milliseconds


def test_first_second_that_differs_is_found() -> None:
    assert moved(BEFORE, BEFORE) == {}
    assert moved(BEFORE, without_clock_changes_after(CHANGE)) == {"Europe/Berlin": CHANGE}
    assert moved({}, BEFORE) == {}, "the state is of a version that kept no zones"


def test_state_goes_on_only_where_clocks_differ_a_day_after_all_that_is_settled() -> None:
    found = moved(BEFORE, without_clock_changes_after(CHANGE))
    require_later(found, DOCUMENT, FIRST_MOVED - PER_DAY - 1)
    with pytest.raises(StartRefused, match="other clock changes for Europe/Berlin from 2026-10-25"):
        require_later(found, DOCUMENT, FIRST_MOVED - PER_DAY)


@pytest.mark.parametrize("seed", range(20))
def test_spans_that_end_a_day_before_clocks_differ_are_the_same(seed: int) -> None:
    random = Random(seed)
    seconds = sorted(random.sample(range(100, 3_000), 8))
    before = Zone("X", tuple((one * 7_200, random.randrange(-6, 7) * 900) for one in seconds))
    cut = random.randrange(1, 8)
    after = Zone(
        "X",
        (
            *before.transitions[:cut],
            (before.transitions[cut][0] + random.randrange(3) * 3_600, random.randrange(9) * 900),
        ),
    )
    second = before.differs_from(after)
    for start, end in ((random.randrange(DAY), random.randrange(DAY + 1)) for _ in range(20)):
        spans = [
            list(islice(Calendar(zone, tuple(range(7)), start, end).intervals(0, 600_000), 260))
            for zone in (before, after)
        ]
        for one, other in zip(*spans, strict=True):
            settled = max(one[1], other[1])
            if second is None or (settled + 1) * 600 + DAY <= second:
                assert one == other
