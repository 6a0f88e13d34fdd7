"""List the settings of librdkafka that a pipeline file may choose: `kafka.settings`.

What decides whether records are written once, in order, and only committed ones are read, is never
among them, nor is how a connection is protected, nor what loads code or logs what is sent.
"""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Annotated

from pydantic import AfterValidator

_INTEGER, _TEXT, _FLAG = (int,), (str,), (bool,)
_TYPES: Mapping[str, tuple[type, ...]] = {
    "broker.address.family": _TEXT,
    "client.dns.lookup": _TEXT,
    "client.id": _TEXT,
    "client.rack": _TEXT,
    "compression.level": _INTEGER,
    "compression.type": _TEXT,
    "connections.max.idle.ms": _INTEGER,
    "fetch.max.bytes": _INTEGER,
    "metadata.max.age.ms": _INTEGER,
    "reconnect.backoff.max.ms": _INTEGER,
    "reconnect.backoff.ms": _INTEGER,
    "retry.backoff.max.ms": _INTEGER,
    "retry.backoff.ms": _INTEGER,
    "socket.connection.setup.timeout.ms": _INTEGER,
    "socket.keepalive.enable": _FLAG,
    "socket.nagle.disable": _FLAG,
    "socket.receive.buffer.bytes": _INTEGER,
    "socket.send.buffer.bytes": _INTEGER,
    "socket.timeout.ms": _INTEGER,
    "topic.metadata.refresh.interval.ms": _INTEGER,
}
ALLOWED_SETTINGS = tuple(_TYPES)
PRODUCING = frozenset({"compression.level", "compression.type"})
"""Name the settings that only writers have."""

Value = str | int | bool


def _allowed(settings: dict[str, Value]) -> dict[str, Value]:
    for name, value in settings.items():
        kinds = _TYPES.get(name)
        if kinds is None:
            close = get_close_matches(name, ALLOWED_SETTINGS, n=1)
            meant = f"did you mean {close[0]}?" if close else "delete it"
            raise ValueError(
                f"{name} may not be chosen, because settings could undo what is promised or show "
                f"what is private; {meant} These may be: {', '.join(ALLOWED_SETTINGS)}"
            )
        if type(value) not in kinds:
            kind = {int: "a whole number", str: "text", bool: "true or false"}[kinds[0]]
            raise ValueError(f"{name}: write {kind}")
    return settings


ChosenSettings = Annotated[dict[str, Value], AfterValidator(_allowed)]
