"""Records that a pipeline over the field `zone` must refuse, why, and the field to blame."""

from fugu.dataflows.base.batches import Reason
from tests.dataflows.stages.columns import Message

CANARY = "canary-7f3a"
"""Occurs in keys and payloads of what is refused, and must occur nowhere else."""

EVE = f"eve-{CANARY}".encode()
GOOD: Message = (b"bob", b'{"zone": "light"}')
DEEP = b'{"zone": ' + b"[" * 10_000 + b"]" * 10_000 + b"}"
LARGE = b'{"zone": "rest", "padding": "' + b"x" * 5_000_000 + b'"}'

REFUSED: dict[str, tuple[Message, Reason, str]] = {
    "no key": ((None, b'{"zone": "rest"}'), Reason.NO_KEY, ""),
    "empty key": ((b"", b'{"zone": "rest"}'), Reason.NO_KEY, ""),
    "key too large": ((EVE + b"k" * 65_536, b'{"zone": "rest"}'), Reason.TOO_LARGE, ""),
    "tombstone": ((EVE, None), Reason.TOMBSTONE, ""),
    "empty value": ((EVE, b""), Reason.NOT_JSON, ""),
    "spaces": ((EVE, b"  "), Reason.NOT_JSON, ""),
    "text": ((EVE, CANARY.encode()), Reason.NOT_JSON, ""),
    "two objects": ((EVE, b'{"zone": "rest"}{}'), Reason.NOT_JSON, ""),
    "truncated object": ((EVE, f'{{"zone": "{CANARY}"'.encode()), Reason.NOT_JSON, ""),
    "truncated UTF-8": ((EVE, '{"zone": "é'.encode()[:-1]), Reason.NOT_JSON, ""),
    "invalid UTF-8": ((EVE, b'{"zone": "rest", "x": "\xff"}'), Reason.NOT_JSON, ""),
    "byte order mark": ((EVE, b'\xef\xbb\xbf{"zone": "rest"}'), Reason.BYTE_ORDER_MARK, ""),
    "UTF-16": ((EVE, '{"zone": "rest"}'.encode("utf-16")), Reason.BYTE_ORDER_MARK, ""),
    "lone surrogate": ((EVE, b'{"zone": "\\ud800"}'), Reason.WRONG_TYPE, "zone"),
    "10,000 deep": ((EVE, DEEP), Reason.NOT_JSON, ""),
    "10,000 deep and open": ((EVE, b"[" * 10_000), Reason.NOT_JSON, ""),
    "5 MB": ((EVE, LARGE), Reason.TOO_LARGE, ""),
    "list": ((EVE, f'["{CANARY}"]'.encode()), Reason.WRONG_TYPE, ""),
    "bare text": ((EVE, b'"rest"'), Reason.WRONG_TYPE, ""),
    "bare null": ((EVE, b"null"), Reason.WRONG_TYPE, ""),
    "field missing": ((EVE, f'{{"{CANARY}": "rest"}}'.encode()), Reason.FIELD_MISSING, "zone"),
    "field null": ((EVE, b'{"zone": null}'), Reason.WRONG_TYPE, "zone"),
    "field true": ((EVE, b'{"zone": true}'), Reason.WRONG_TYPE, "zone"),
    "field number": ((EVE, b'{"zone": 1}'), Reason.WRONG_TYPE, "zone"),
    "field object": ((EVE, f'{{"zone": {{"{CANARY}": 1}}}}'.encode()), Reason.WRONG_TYPE, "zone"),
    "NaN": ((EVE, b'{"zone": NaN}'), Reason.NOT_FINITE, "zone"),
    "infinity": ((EVE, b'{"zone": -Infinity}'), Reason.NOT_FINITE, "zone"),
    "1e999": ((EVE, b'{"zone": 1e999}'), Reason.NOT_FINITE, "zone"),
    "400 digits": ((EVE, b'{"zone": %b}' % (b"9" * 400)), Reason.NOT_FINITE, "zone"),
    "5,000 digits": ((EVE, b'{"zone": %b}' % (b"9" * 5_000)), Reason.NOT_FINITE, "zone"),
    "NaN elsewhere": ((EVE, f'{{"zone": "rest", "{CANARY}": NaN}}'.encode()), Reason.NOT_JSON, ""),
    "unknown symbol": ((EVE, f'{{"zone": "{CANARY}"}}'.encode()), Reason.OUTSIDE_DOMAIN, "zone"),
    "other case": ((EVE, b'{"zone": "Rest"}'), Reason.OUTSIDE_DOMAIN, "zone"),
    "empty symbol": ((EVE, b'{"zone": ""}'), Reason.OUTSIDE_DOMAIN, "zone"),
}
