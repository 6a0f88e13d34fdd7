"""Records that are nearly changes: bytes and JSON that somebody got wrong, or means ill."""

from collections.abc import Callable
from random import Random
from typing import Any

import orjson

Record = tuple[bytes | None, bytes | None]
"""Key and value."""

CALENDAR = {
    "days": ["mon", "tue", "sun"],
    "start": "06:00",
    "end": "09:00",
    "from": "2026-01-05",
    "until": "2027-01-05",
    "except": ["2026-05-01", "2026-12-25"],
}
SHOWER = {"id": "shower", "calendar": CALENDAR, "pattern": {"duration": "PT10M"}, "theta": "2.2 kW"}
SAUNA = {
    "id": "sauna",
    "activities": ["boiler"],
    "interval": {"start": "2026-03-28T22:00", "end": "2026-03-29T05:00"},
    "pattern": {"ticks": 3},
    "theta": [1, 2.5, "3 kW"],
}
EFFECTIVE = "2026-03-01T00:00:00+01:00"
WELL_FORMED: list[tuple[bytes, Any]] = [
    (b"household/shower", {"effective": EFFECTIVE, "policy": SHOWER}),
    (b"household/sauna", {"effective": 2_951_424, "policy": SAUNA, "sequence": 7}),
    (b"shop/shower", {"effective": EFFECTIVE, "policy": SHOWER, "sequence": 2**53 - 1}),
    (b"household/shower", {"effective": 0, "remove": True}),
    (b"holiday-homes", {"effective": EFFECTIVE, "collection": {"policies": [SHOWER, SAUNA]}}),
    (b"shop", {"effective": EFFECTIVE, "keys": ["meter-1", "meter-7"]}),
]
_NUMBERS = [0, -1, 1, 2**31, 2**53, 2**62, 2**63 - 1, -(2**62), -(2**63), 2**64, 0.1, -0.5]
_NUMBERS += [1e308, 1e-308, 10**18, 999_936, 1_000_001, 1_000_000_000]
_TEXTS = ["", " ", "0", "mon", "boiler", "PT10M", "P366D", "P1Y", "1ms", "-PT1M", "PT999999999999H"]
_TEXTS += ["9" * 30, "9" * 31, "1e400", "NaN", "Infinity", "6 W", "2.2 kW", "2.2 \u2126", "\x00"]
_TEXTS += ["\u202eevil", "\U0001d54f", "\uffff", "\r\n", "a" * 250, "b" * 5_000, "../..", "%s{}"]
_TIMES = ["1969-12-31T23:59:59Z", "1970-01-01T00:00", "2099-12-31T23:59:59", "2100-01-01T00:00Z"]
_TIMES += ["0001-01-01T00:00", "9999-12-31T23:59:59Z", "2026-03-29T02:30", "2026-10-25T02:30"]
_TIMES += ["2026-02-30", "2026-02-29T12:00", "24:00", "00:00", "23:59:59", "06:00:60", "6:00"]
_TIMES += ["2026-03-01T00:00:00+23:59", "2026-03-01T00:00:00-25:00", "2026-W10-1", "2026-03-01"]
_TIMES += ["1970-01-01", "2099-12-31", "2100-01-01", "0001-01-01", "2026-03-01T00:00:00.5Z"]
_KEYS = [None, b"", b"/", b"//", b"household/", b"/shower", b"household/sh ower", b"a/b/c"]
_KEYS += [
    b"\xff/x",
    b"hotel/shower",
    b"household\x00/shower",
    b"x" * 300,
    "k\u00fcche/bad".encode(),
]


def odd(random: Random) -> Any:
    """A value that is hardly what is asked for."""
    kind = random.randrange(8)
    if kind == 0:
        return random.choice([None, True, False, [], {}, [None], {"": None}, [[]], {"id": {}}])
    if kind == 1:
        return [random.choice(_TIMES + _TEXTS)] * random.choice([1, 2, 1_000, 1_001, 3_000])
    if kind == 2:
        return [random.choice(_NUMBERS)] * random.choice([1, 3, 1_000, 1_001, 5_000])
    if kind == 3:
        return deep(random.choice([2, 50, 900]), random.choice([list, dict]))
    found: list[list[Any]] = [_NUMBERS, _TEXTS, _TIMES, _TIMES]
    return random.choice(found[kind - 4])


def deep(levels: int, kind: type) -> Any:
    """Lists in lists, or objects in objects."""
    nested: Any = 1
    for _ in range(levels):
        nested = [nested] if kind is list else {"policy": nested}
    return nested


def places(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """All places below a value."""
    below: list[tuple[Any, ...]] = []
    members = value.items() if isinstance(value, dict) else enumerate(value)
    for name, member in members:
        below.append((*place, name))
        if isinstance(member, dict | list):
            below += places(member, (*place, name))
    return below


def changed_structure(content: Any, random: Random) -> bytes:
    """Replace, delete, double or misname something in an object."""
    content = orjson.loads(orjson.dumps(content))
    *above, name = random.choice(places(content))
    parent = content
    for part in above:
        parent = parent[part]
    action = random.randrange(6)
    if action <= 3:
        parent[name] = odd(random)
    elif action == 4:
        del parent[name]
    elif isinstance(parent, dict) and random.random() < 0.05:
        parent.update({f"theta-{number}": None for number in range(random.choice([9, 900]))})
    elif isinstance(parent, dict):
        parent[random.choice([*_TEXTS, *parent, "theta", "keys", "remove", "until"])] = odd(random)
    else:
        parent.extend(parent)
    return _dumped(content)


def _dumped(content: Any) -> bytes:
    try:
        return orjson.dumps(content)
    except (orjson.JSONEncodeError, RecursionError):
        return repr(content).replace("'", '"').replace("True", "true").encode()


def changed_bytes(content: Any, random: Random) -> bytes:
    """Flip, cut, insert or repeat bytes."""
    value = bytearray(orjson.dumps(content))
    for _ in range(random.choice([1, 1, 2, 5])):
        at, size = random.randrange(len(value) + 1), random.choice([1, 1, 2, 9, 99])
        action = random.randrange(5)
        if action == 0:
            value[at : at + size] = random.randbytes(size)
        elif action == 1:
            del value[at : at + size]
        elif action == 2:
            value[at:at] = random.choice(
                [b"[" * 2_000, b'{"a":' * 500, b"\\ud800", b"\xff\xfe", b"1e9"]
            )
        elif action == 3:
            value[at:at] = value[at : at + size] * random.choice([1, 1, 200])
        else:
            del value[at:]
    return bytes(value)


def malformed(random: Random) -> Record:
    """Return a record that is one of those above but for something."""
    key, content = random.choice(WELL_FORMED)
    mutate: Callable[[Any, Random], bytes] = random.choice(
        [changed_structure, changed_structure, changed_bytes]
    )
    if random.random() < 0.05:
        return random.choice(_KEYS), orjson.dumps(content)
    return key, mutate(content, random)
