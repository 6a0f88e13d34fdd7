"""Write records of every shape, most of them JSON, and damage some of them."""

from collections.abc import Sequence
from random import Random

NAMES = [b"zone", b"zone", b"x", b"x", b"at", b"at"]
ODD_NAMES = [
    b"zon",
    b"zonee",
    b"",
    b"y",
    b"Zone",
    b"zone ",
    b"z\\u006fne",
    b"\\u0078",
    b"a\\t",
    b"\xc3\xa9",
    b"x\\u0000",
    b"z" * 70,
]
ZONES = [b'"rest"', b'"light"', b'"vigorous"', b'"caf\xc3\xa9"']
ODD_TEXTS = [
    b'"r\\u0065st"',
    b'"rest "',
    b'"Rest"',
    b'"res"',
    b'""',
    b'"caf\\u00e9"',
    b'"cafe\xcc\x81"',
]
PIECES = [
    *(b"a", b" ", b"rest", b"{", b"}", b"[", b"]", b",", b":", b"\x7f", b"'", b"/", b"0", b"-"),
    *(b"\xc3\xa9", b"\xc2\x80", b"\xdf\xbf", b"\xe0\xa0\x80", b"\xe2\x82\xac", b"\xed\x9f\xbf"),
    *(b"\xee\x80\x80", b"\xef\xbf\xbf", b"\xf0\x90\x80\x80", b"\xf0\x9f\x90\xa1"),
    *(b"\xf4\x8f\xbf\xbf", b"\\n", b"\\t", b'\\"', b"\\\\", b"\\/", b"\\b", b"\\f", b"\\r"),
    *(b"\\u0041", b"\\u00e9", b"\\uFFFF", b"\\u0000", b"\\ud7ff", b"\\ue000", b"\\ud83d\\ude00"),
]
BAD_PIECES = [
    *(b"\xff", b"\x80", b"\xc0\x80", b"\xc1\xbf", b"\xc3", b"\xe0\x9f\xbf", b"\xe2\x82", b"\xe2"),
    *(b"\xed\xa0\x80", b"\xed\xbf\xbf", b"\xf0\x8f\xbf\xbf", b"\xf0\x9f\x90", b"\xf4\x90\x80\x80"),
    *(b"\xf5\x80\x80\x80", b"\xc3\x28", b"\xe2\x28\xa1", b"\xe2\x82\x28", b"\xf0\x28\x8c\xbc"),
    *(b"\xf0\x90\x28\xbc", b"\xf0\x90\x8c\x28", b"\x00", b"\t", b"\n", b"\x1f", b"\\u12", b"\\u"),
    *(b"\\x41", b"\\a", b"\\u004g", b"\\ud800", b"\\udc00", b"\\ud800\\u0041", b"\\U0041"),
    *(b"\\ud83d\\ud83d", b"\\'", b"\\0", b"\\ ", b"\\uDBFF\\uE000"),
]
SPACES = [b"", b"", b"", b"", b" ", b" ", b"\n", b"\t", b"\r", b"  \r\n\t "]
BAD_SPACES = [b"\x0b", b"\x0c", b"\x00", b"\xc2\xa0", b"\xef\xbb\xbf", b"//", b"/**/", b"\x1f"]
WORDS = [b"true", b"false", b"null"]
BAD_WORDS = [b"True", b"tru", b"truee", b"nul", b"NaN", b"Infinity", b"-Infinity", b"nan", b"fals"]
NUMBERS = [
    *(b"0", b"-0", b"-0.0", b"0.0", b"1.0", b"1", b"2", b"7", b"0.5", b"-0.5", b"1.005", b"0.05"),
    *(b"9223372036854775807", b"9223372036854775808", b"-9223372036854775808", b"1e5", b"1E+2"),
    *(b"-9223372036854775809", b"18446744073709551615", b"18446744073709551616", b"1e-7", b"0e0"),
    *(b"999999999999999999", b"1000000000000000000", b"-999999999999999999", b"253402300799999"),
    *(b"253402300800000", b"253402300799", b"253402300800", b"2305843009213693952", b"1.5e300"),
    *(
        b"0.30000000000000004",
        b"0.1000000000000000055511151231257827",
        b"4398046511104.5",
        b"1e308",
    ),
    *(
        b"1.7976931348623157e308",
        b"1.7976931348623159e308",
        b"1e309",
        b"5e-324",
        b"1e-400",
        b"0e999",
    ),
    *(b"1" + b"0" * 199, b"9" * 250, b"9" * 310, b"0." + b"0" * 250 + b"1", b"1e99", b"1e100"),
    *(
        b"9" * 200 + b"e99",
        b"9" * 201 + b"e99",
        b"0.00001",
        b"0.0000001",
        b"0.0001",
        b"0.00010",
        b"100.0",
    ),
]
BAD_NUMBERS = [
    *(b"01", b"-01", b"00", b"1.", b".5", b"+1", b"-", b"1e", b"1e+", b"1.e5", b"--1", b"0x10"),
    *(b"1_000", b"1.5.5", b"1e5.5", b"- 1", b"1 2", b"1e1000000000000000000000", b"-a", b"1a"),
]
DAMAGE = [bytes([byte]) for byte in b'{}[]",:\\ \t0123456789-+.eEuntf/\x00\x7f\x80\xbf\xc3\xed\xff']

_OF_EACH = 3
"""Records that are made of one: that takes much less time than a new one."""


class RandomRecords:
    """Write one record after another; some codec is likely to accept each, before its damage."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._choice = self._random.choice
        self._previous = b"{}"

    def some(self, count: int) -> list[bytes | None]:
        """Return some records, most of them damaged ones of those before, and a few tombstones."""
        whole = [self.one() for _ in range(-(-count // _OF_EACH))]
        damaged = [self._damaged(self._choice(whole)) for _ in range(count - len(whole))]
        records: list[bytes | None] = [*whole, *damaged]
        for _ in range(count // 1_000):
            records[self._random.randrange(count)] = None
        self._random.shuffle(records)
        return records

    def one(self) -> bytes:
        """Return one record that is not damaged."""
        record = self._object(0)
        if self._random.random() < 0.3:
            record = self._spaces() + record + self._spaces()
        self._previous = record
        return record

    def _object(self, depth: int) -> bytes:
        random = self._random
        count = random.randrange(1, 6) if depth == 0 else random.randrange(3)
        names = [self._name() for _ in range(count)]
        if depth == 0 and random.random() < 0.8:
            names += [b"zone", b"x", b"at"]
            random.shuffle(names)
        if random.random() < 0.4:
            return b"{" + b",".join(self._member(name, depth) for name in names) + b"}"
        spaces = self._spaces
        members = (spaces() + self._member(name, depth) + spaces() for name in names)
        return b"{" + b",".join(members) + b"}"

    def _name(self) -> bytes:
        random = self._random.random()
        if random < 0.8:
            return self._choice(NAMES)
        return self._choice(ODD_NAMES) if random < 0.98 else self._text()[1:-1]

    def _member(self, name: bytes, depth: int) -> bytes:
        random = self._random.random()
        if random < 0.85 and name == b"zone":
            value = self._choice(ZONES) if random < 0.8 else self._choice(ODD_TEXTS)
        elif random < 0.85 and name == b"x":
            value = self._number()
        elif random < 0.85 and name == b"at":
            value = b"%d" % self._random.randrange(10 ** self._random.randrange(1, 15))
        elif depth == 0 and random < 0.93:
            value = self._object(1) if random < 0.9 else self._list(1)
        else:
            value = self._value(depth)
        if random < 0.5:
            return b'"' + name + b'":' + value
        return b'"' + name + b'"' + self._spaces() + b":" + self._spaces() + value

    def _value(self, depth: int) -> bytes:
        kind = self._random.random()
        if kind < 0.3:
            return self._number()
        if kind < 0.5:
            return self._text()
        if kind < 0.6:
            return self._choice(ZONES)
        if kind < 0.7:
            return self._choice(WORDS)
        if kind < 0.71:
            return self._choice(BAD_WORDS)
        if kind < 0.715:
            deep = self._choice([3, 40, 58, 59, 60, 61, 70])
            return b"[" * deep + b"]" * (deep if self._random.random() < 0.95 else deep - 1)
        if depth > 3:
            return b"[]"
        if kind < 0.85:
            return self._object(depth + 1)
        return self._list(depth + 1)

    def _list(self, depth: int) -> bytes:
        count = self._random.randrange(4)
        if self._random.random() < 0.6:
            items = [self._choice(ZONES) for _ in range(count)]
        else:
            items = [self._value(depth) for _ in range(count)]
        return b"[" + b",".join(self._spaces() + item + self._spaces() for item in items) + b"]"

    def _text(self) -> bytes:
        pieces = [self._choice(PIECES) for _ in range(self._random.randrange(6))]
        if self._random.random() < 0.03:
            pieces.append(self._choice(BAD_PIECES))
            self._random.shuffle(pieces)
        return b'"' + b"".join(pieces) + b'"'

    def _number(self) -> bytes:
        random = self._random
        kind = random.random()
        if kind < 0.15:
            return self._choice(NUMBERS)
        if kind < 0.16:
            return self._choice(BAD_NUMBERS)
        if kind < 0.35:
            return b"%d" % random.randrange(-3, 4)
        if kind < 0.5:
            return repr(random.uniform(-1, 1) * 10 ** random.randrange(-6, 16)).encode()
        if kind < 0.6:
            return b"%.*f" % (random.randrange(1, 6), random.randrange(-2000, 2000) / 8)
        sign = b"-" if random.random() < 0.3 else b""
        whole = b"%d" % random.randrange(10 ** random.randrange(1, 21))
        if kind < 0.75:
            return sign + whole
        digits = random.randrange(1, 12)
        fraction = b"%0*d" % (digits, random.randrange(10**digits))
        if kind < 0.9:
            return sign + whole[:6] + b"." + fraction
        exponent = b"%c%b%d" % (
            *self._choice([(69, b""), (101, b"-"), (101, b"+")]),
            random.randrange(120),
        )
        return sign + whole + self._choice([b"", b"." + fraction]) + exponent

    def _spaces(self) -> bytes:
        return self._choice(SPACES) if self._random.random() > 0.005 else self._choice(BAD_SPACES)

    def _damaged(self, record: bytes) -> bytes:
        random = self._random
        for _ in range(self._choice([0, 1, 1, 1, 2, 3])):
            at, kind = random.randrange(len(record) + 1), random.randrange(7)
            behind = at + random.randrange(1, 4)
            if kind == 0:
                record = record[:at] + self._choice(DAMAGE) + record[at + 1 :]
            elif kind == 1:
                record = record[:at] + self._choice(DAMAGE) + record[at:]
            elif kind == 2:
                record = record[:at] + record[behind:]
            elif kind == 3:
                record = record[:at]
            elif kind == 4:
                record = record[:behind] + record[at:]
            elif kind == 5:
                record = record[:at] + self._previous[at:]
            else:
                changed = (
                    bytes([record[at] ^ 1 << random.randrange(8)]) if at < len(record) else b""
                )
                record = record[:at] + changed + record[at + 1 :]
        return record


def damaged_keys(random: Random, count: int) -> Sequence[bytes | None]:
    """Return keys, of which a few are missing or too long."""
    rare: dict[int, bytes | None] = {0: None, 1: b"", 2: b"k" * 65_536, 3: b"k" * 65_537}
    return [rare.get(random.randrange(2_000), b"key") for _ in range(count)]
