"""Let one directory alone go on with a state, whatever copies of it there are."""

import logging
import secrets
import socket
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any

import orjson

from fugu.dataflows.base.batches import Batch, Outgoing
from fugu.dataflows.base.errors import KafkaUnavailable, StartRefused, TakenOver
from fugu.dataflows.kafka.client import Client, Reader, Topic
from fugu.dataflows.pipeline.config import Pipeline
from fugu.dataflows.state.directory import StateDirectory
from fugu.dataflows.state.lease_file import LeaseFile

_FORMAT = 1


@dataclass(frozen=True)
class Claim:
    """Say that a state of a unit is used by whoever has the token.

    `host` and `at` are for people only.
    """

    token: str
    before: str
    number: int
    host: str
    at: str

    def value(self) -> bytes:
        """Return the value of its record."""
        content = {name: value for name, value in vars(self).items() if name != "token"}
        return orjson.dumps({"format": _FORMAT, "kind": "lease", **content})


@dataclass
class Claims:
    """Hold the claims of one unit that were read so far.

    The key of a claim is a JSON list of four: `["lease", pipeline, unit, token]`. A claim names the
    one `before` and counts one more; so it can only count where that one was the last. Of those
    with the largest number, the first one counts. All others can go: compaction may remove any of
    them, and what is left still says the same.
    """

    holder: Claim | None = None
    known: set[str] = field(default_factory=set)
    """Tokens of all records that compaction cannot remove yet."""

    def add(self, claim: Claim) -> None:
        """Take the next claim of the log in."""
        self.known.add(claim.token)
        if self.holder is None or claim.number > self.holder.number:
            self.holder = claim

    def next(self, token: str, host: str) -> Claim:
        """Return a claim that counts if it is the first one behind the holder of now."""
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        if self.holder is None:
            return Claim(token, "", 1, host, at)
        return Claim(token, self.holder.token, self.holder.number + 1, host, at)


def claim_key(pipeline: str, unit: str, token: str) -> bytes:
    """Return the key of a claim."""
    return orjson.dumps(["lease", pipeline, unit, token])


def read_claims(batch: Batch, pipeline: str, into: dict[str, Claims]) -> None:
    """Take the claims that a batch of the topic holds of one pipeline in, by unit."""
    for _, _, key, value, _ in batch.records():
        match _json(key):
            case ["lease", str(name), str(unit), str(token)] if name == pipeline:
                claims = into.setdefault(unit, Claims())
                if value is None:
                    claims.known.discard(token)
                elif claim := _claim(token, value):
                    claims.add(claim)


def _claim(token: str, value: bytes) -> Claim | None:
    match _json(value):
        case {
            "kind": "lease",
            "before": str(before),
            "number": int(number),
            "host": str(host),
            "at": str(at),
        }:
            return Claim(token, before, number, host, at)
    return None


def _json(content: bytes | None) -> Any:
    try:
        return orjson.loads(content or b"null")
    except orjson.JSONDecodeError:
        return None


log = logging.getLogger(__name__)

_SETTINGS = {"cleanup.policy": "compact", "message.timestamp.type": "CreateTime"}


def find_control(client: Client, pipeline: Pipeline, ledger: Topic | None) -> Topic | None:
    """Return the topic of claims, created if the pipeline file says so.

    Without one, a warning says what is not noticed; only a topic that the file names has to be
    there.
    """
    if pipeline.kafka.broker == "embedded":
        return None
    named = pipeline.state.control
    if named is None and ledger is not None:
        return ledger
    name = named or f"{pipeline.name}.control"
    try:
        topic = _found(client, name, create=pipeline.sink.create)
    except KafkaUnavailable as error:
        if named is not None:
            raise
        log.warning("%s", error)
        topic = None
    if topic is None:
        missing = (
            f"topic {name} (state.control) cannot be used. Create it with 1 partition and "
            "cleanup.policy=compact, and grant Describe, DescribeConfigs, Read and Write on it"
        )
        if named is not None:
            raise KafkaUnavailable(f"{missing}.")
        log.warning(
            "pipeline %s: %s; until then nothing notices if a copy of this state runs on another "
            "machine",
            pipeline.name,
            missing,
        )
    return topic


def _found(client: Client, name: str, *, create: bool) -> Topic | None:
    topic = client.topic(name)
    if topic is None and create:
        client.create_topic(name, 1, _SETTINGS)
        topic = client.topic(name)
    found = None if topic is None else (topic.settings or _SETTINGS).get("cleanup.policy")
    if topic is not None and found != "compact":
        raise KafkaUnavailable(
            f"topic {name} (state.control): set cleanup.policy=compact (it is {found}), because "
            "the last claim must stay as long as the state."
        )
    return topic


_AT_ONCE = 1_000


class Leases:
    """Hold the leases of one process over units of a pipeline.

    Every start claims its units, and a claim counts only behind the one that the directory holds.
    So a copy that is older than the last start of another one is refused, and one that runs while
    another one claims stops at the end of its epoch. No clock decides anything, and nothing
    expires.

    A unit is a state directory of what goes into one sink: `shard-0000/IDENTITY`.
    """

    def __init__(self, client: Client, topic: Topic, pipeline: str) -> None:
        self._client, self._topic, self._pipeline = client, topic.name, pipeline
        self._claims: dict[str, Claims] = {}
        self._held: dict[str, str] = {}
        self._reader: Reader | None = None
        self._next = 0
        self._one_at_a_time = Lock()

    def take(self, units: Mapping[str, Path], *, over_any: bool = False) -> None:
        """Claim units for the directories that this process has locked.

        Raises `StartRefused` if another copy of a state was claimed since, unless it is to be taken
        over. After a crash in here, all of it can be repeated.
        """
        self._catch_up()
        waiting = dict(units)
        while waiting:
            tokens = {}
            for unit, directory in waiting.items():
                if not over_any:
                    self._require_own(unit, directory)
                tokens[unit] = token = secrets.token_hex(16)
                own = LeaseFile.read(directory)
                LeaseFile(own.held, (*own.claiming, token)).write(directory)
            self._append(tokens)
            self._catch_up()
            for unit, token in tokens.items():
                holder = self._holder(unit)
                if holder is not None and holder.token == token:
                    LeaseFile(held=token).write(waiting.pop(unit))
                    self._held[unit] = token
        self._withdraw_all_others(units)

    def require_own(self, units: Mapping[str, Path]) -> None:
        """Raise `StartRefused` if another copy of a state was claimed since; claim nothing."""
        self._catch_up()
        for unit, directory in units.items():
            self._require_own(unit, directory)

    def require_no_other_sink(self, sink_identity: str) -> None:
        """Raise `StartRefused` if a state of the pipeline was claimed for another sink."""
        self._catch_up()
        others = [unit for unit in self._claims if unit.partition("/")[2] != sink_identity]
        if others:
            raise StartRefused(
                f"topic {self._topic}: pipeline {self._pipeline} has released into another topic "
                "than sink.topic, which this would not count. Take the pipeline file that ran "
                "last; if it is this one, restore the state directory from a backup."
            )

    def know(self, sink_identity: str) -> bool:
        """Return whether a state of the pipeline was ever claimed for a sink."""
        self._catch_up()
        return any(unit.partition("/")[2] == sink_identity for unit in self._claims)

    def retire(self, units: Iterable[str]) -> None:
        """Claim units for nobody: no directory that held one of them is to go on."""
        with TemporaryDirectory() as nowhere:
            for unit in units:
                self.take({unit: Path(nowhere)}, over_any=True)

    def require_held(self, unit: str, *, now: bool = False) -> None:
        """Raise `TakenOver` if another process has claimed the unit.

        Without `now`, only what has arrived is looked at, and nothing is waited for.
        """
        with self._one_at_a_time:
            if now:
                self._catch_up()
            else:
                assert self._reader is not None
                for batch in self._reader.poll(_AT_ONCE):
                    read_claims(batch, self._pipeline, self._claims)
        holder = self._holder(unit)
        if holder is not None and holder.token != self._held[unit]:
            raise TakenOver(
                f"another process ({holder.host}) has taken over pipeline {self._pipeline}, "
                f"{_in_words(unit)}; this one stops before its state advances"
            )

    def close(self) -> None:
        """Release connections; the leases stay."""
        if self._reader is not None:
            self._reader.close()

    def _holder(self, unit: str) -> Claim | None:
        return self._known(unit).holder

    def _known(self, unit: str) -> Claims:
        return self._claims.setdefault(unit, Claims())

    def _require_own(self, unit: str, directory: Path) -> None:
        holder, own = self._holder(unit), LeaseFile.read(directory)
        if holder is None and own.held:
            log.warning(
                "topic %s holds no claim of pipeline %s, %s, although there was one: the topic is "
                "a new one; copies of this state that were made before are not noticed",
                self._topic,
                self._pipeline,
                _in_words(unit),
            )
        if holder is not None and holder.token not in own.tokens:
            raise StartRefused(
                f"pipeline {self._pipeline}, {_in_words(unit)}, was taken over on {holder.host} at "
                f"{holder.at} with another copy of this state. If that one is gone for good, and "
                "this directory is what is to go on: fugu state claim PIPELINE"
            )

    def _append(self, tokens: Mapping[str, str]) -> None:
        host = socket.gethostname()
        claims = [self._known(unit).next(token, host) for unit, token in tokens.items()]
        keys = [claim_key(self._pipeline, unit, token) for unit, token in tokens.items()]
        self._write(keys, [claim.value() for claim in claims])

    def _withdraw_all_others(self, units: Mapping[str, Path]) -> None:
        """Let compaction remove what does not count any more."""
        keys = [
            claim_key(self._pipeline, unit, token)
            for unit in units
            for token in self._known(unit).known - {self._held[unit]}
        ]
        if keys:
            self._client.delete_keys(self._topic, 0, keys)

    def _write(self, keys: list[bytes], values: list[bytes]) -> None:
        writer = self._client.writer()
        try:
            writer.write(
                self._topic,
                Outgoing(
                    partition=0,
                    keys=keys,
                    values=values,
                    headers=[[] for _ in keys],
                    timestamps=[time.time_ns() // 1_000_000] * len(keys),
                ),
            )
            writer.flush()
        finally:
            writer.close()

    def _catch_up(self) -> None:
        """Read to the end of now; what follows is read by polls.

        Claims stand outside transactions, so those of others in the ledger hide nothing.
        """
        if self._reader is None:
            self._reader = self._client.reader(self._topic, committed=False)
        bounds = self._reader.bounds([0])[0]
        first = max(self._next, bounds.start)
        for batch in self._reader.read_range(0, first, bounds.end):
            read_claims(batch, self._pipeline, self._claims)
        self._next = bounds.end
        self._reader.assign({0: bounds.end})


def unit_of(directory: StateDirectory, sink_identity: str) -> str:
    """Return the name of what a directory holds for a sink; a topic made anew is another sink."""
    return f"{directory.path.name}/{sink_identity}"


def _in_words(unit: str) -> str:
    """Name a unit as people do."""
    name, _, _ = unit.partition("/")
    return f"shard {int(name[6:])}" if name.startswith("shard-") else f"its {name}"
