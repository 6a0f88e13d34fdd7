"""What a state directory belongs to: written before a first record is read, checked at each start.

A mismatch would reset budgets or release one truth twice, so the program refuses and says what to
do. The directory also holds bytewax's recovery store, and a lock that ensures a single owner.
"""

import fcntl
import os
from pathlib import Path
from shutil import rmtree
from typing import Literal

import orjson
from bytewax.recovery import init_db_dir
from pydantic import BaseModel, ConfigDict, ValidationError

from dataflows.errors import StartRefused

_FILE = "fingerprint.json"
_RECOVERY = "recovery"
_NEW_PIPELINE = "start a new pipeline with a new name, state directory and sink topic"


class Fingerprint(BaseModel):
    """Everything that must stay the same while a state is continued.

    `source_begin`, `sink_begin` and `dead_letters_begin` are remembered, not compared: where every
    partition began when the pipeline was created, and begins again until the first snapshot.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    format: Literal[1] = 1
    pipeline: str
    steps: list[str]
    operator: str
    implementation: int
    law: str
    reading: str
    version: int
    key_epoch: int
    secret_check: str
    source_topic: str
    source_identity: str
    partitions: int
    sink_topic: str
    sink_identity: str
    sink_key: str
    dead_letters_topic: str
    dead_letters_identity: str
    source_begin: list[int]
    sink_begin: list[int]
    dead_letters_begin: list[int]


_ADVICE = {
    "pipeline": "this state directory belongs to another pipeline; correct name or state.directory",
    "steps": f"the dataflow's steps were renamed, which would drop their state; {_NEW_PIPELINE}",
    "operator": f"budgets of one operator cannot be continued by another; {_NEW_PIPELINE}",
    "implementation": "run the version of Fugu that wrote the state, or " + _NEW_PIPELINE,
    "law": "epsilon, alphabet or model changed; restore the pipeline and model files, or "
    + _NEW_PIPELINE,
    "reading": "source.value, source.timestamp, operator.alphabet or operator.other changed, so "
    "the same records would be read as others; set them back, or " + _NEW_PIPELINE,
    "version": "set version back, or " + _NEW_PIPELINE,
    "key_epoch": "restore the key epoch, or " + _NEW_PIPELINE,
    "secret_check": "the secret is not the one this state was made with; restore the old one, or "
    + _NEW_PIPELINE,
    "source_topic": "the state is about another source topic; correct source.topic, or "
    + _NEW_PIPELINE,
    "source_identity": "the source topic was deleted and created again, so offsets name other "
    f"records now; {_NEW_PIPELINE}",
    "partitions": "the number of partitions changed, so keys moved between them; " + _NEW_PIPELINE,
    "sink_topic": "releases already published are in another topic; correct sink.topic, or "
    + _NEW_PIPELINE,
    "sink_identity": "the sink topic was deleted and created again; " + _NEW_PIPELINE,
    "sink_key": "set sink.key back, or " + _NEW_PIPELINE,
    "dead_letters_topic": "set sink.dead_letters back, or " + _NEW_PIPELINE,
    "dead_letters_identity": "the dead-letter topic was deleted and created again; "
    + _NEW_PIPELINE,
}
_NEVER_SHOWN = {"law", "reading", "secret_check"}


class StateDirectory:
    """One pipeline's directory, readable by its owner only."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock: int | None = None

    @property
    def recovery(self) -> Path:
        """bytewax's recovery store."""
        return self._path / _RECOVERY

    def lock(self) -> None:
        """Become the only owner until `unlock` or the end of the process."""
        try:
            self._path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = os.open(self._path / "lock", os.O_CREAT | os.O_RDWR, 0o600)
        except OSError as error:
            raise StartRefused(
                f"state directory {self._path} cannot be used ({error.strerror}). Correct "
                "state.directory in the pipeline file, or the permissions of the directory."
            ) from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.unlock()
            raise StartRefused(
                f"state directory {self._path} is in use by another process. Stop it first: "
                "two owners would publish every release twice."
            ) from None

    def unlock(self) -> None:
        """Let another process own the directory."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def stored(self) -> Fingerprint | None:
        """The fingerprint of an existing state; None where there is no state yet."""
        try:
            content = (self._path / _FILE).read_bytes()
        except FileNotFoundError:
            if self._recovery_parts() and not self._unfinished.exists():
                raise StartRefused(
                    f"{self._path / _FILE} is missing although the pipeline ran before. Restore "
                    f"the state directory from a backup, or {_NEW_PIPELINE}."
                ) from None
            return None
        try:
            stored = Fingerprint.model_validate(orjson.loads(content))
        except (orjson.JSONDecodeError, ValidationError):
            raise StartRefused(
                f"{self._path / _FILE} is damaged or of another version of Fugu. "
                "Restore the state directory from a backup."
            ) from None
        if not self._recovery_parts():
            raise StartRefused(
                f"{self.recovery} is missing although the pipeline ran before. Restore the state "
                f"directory from a backup, or {_NEW_PIPELINE}."
            )
        return stored

    def create(self, fingerprint: Fingerprint) -> None:
        """Begin a state: an unfinished fingerprint, an empty recovery store, then, atomically, the
        fingerprint. A creation that was cut short left nothing of value and begins again."""
        descriptor = os.open(self._unfinished, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(orjson.dumps(fingerprint.model_dump(), option=orjson.OPT_INDENT_2))
            file.flush()
            os.fsync(file.fileno())
        if self.recovery.exists():
            rmtree(self.recovery)
        self.recovery.mkdir(mode=0o700)
        init_db_dir(self.recovery, 1)
        self._unfinished.rename(self._path / _FILE)

    @property
    def _unfinished(self) -> Path:
        return self._path / f"{_FILE}.new"

    def _recovery_parts(self) -> list[Path]:
        return list(self.recovery.glob("part-*.sqlite3"))


def check_same(stored: Fingerprint, current: Fingerprint) -> None:
    """Refuse, naming every field that changed, unless both are the same pipeline."""
    problems = []
    for name, advice in _ADVICE.items():
        before, now = getattr(stored, name), getattr(current, name)
        if before != now:
            shown = "" if name in _NEVER_SHOWN else f" (was {before}, is {now})"
            problems.append(f"{name} changed{shown}: {advice}.")
    if problems:
        raise StartRefused("refusing to start: " + "\n".join(problems))
