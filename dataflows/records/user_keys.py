"""Take the user from a field of a record, where the key of Kafka is not the user."""

from fugu.dataflows.base.batches import Reason
from fugu.dataflows.records.json_fields import Record, Refused, required


def user_key(record: Record, field: str) -> bytes:
    """Return the bytes that a producer sends as key for a text or a whole number.

    >>> user_key({"user": "anna"}, "user"), user_key({"user": 4711}, "user")
    (b'anna', b'4711')
    """
    return key_bytes(required(record, field), field)


def key_bytes(user: object, field: str) -> bytes:
    """Return the key of what a field holds; `Refused` where that names nobody."""
    if user is None or user == "":
        raise Refused(Reason.NO_KEY, field)
    if isinstance(user, bool) or not isinstance(user, str | int):
        raise Refused(Reason.WRONG_TYPE, field)
    return str(user).encode()
