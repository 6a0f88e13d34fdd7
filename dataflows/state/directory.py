"""Own the directory of one shard: fingerprint, recovery store, row logs, and a lock.

STATE/shard-0000/fingerprint.json   what the state belongs to
STATE/shard-0000/recovery/          bytewax's store: offsets, and pointers into the row logs
STATE/shard-0000/rows/              beliefs and ledgers, one row log per partition
STATE/shard-0000/lease.json         which claims of the state are its own
STATE/shard-0000/stopped.json       where each partition stood at the last graceful stop
STATE/shard-0000/finishing          there while streams are being finished
STATE/lock                          of the supervisor, where there is one
STATE/exchange.json                 there while directories are exchanged
STATE/moved-people                  there while people of an aggregate are moved
STATE/redrive/                      which refused records were driven again
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from errno import (
    EDQUOT,
    EFBIG,
    EIO,
    EMFILE,
    ENFILE,
    ENOLCK,
    ENOMEM,
    ENOSPC,
    ENOSYS,
    EOPNOTSUPP,
    ESTALE,
)
from pathlib import Path
from shutil import rmtree
from typing import ClassVar

import orjson
from pydantic import ValidationError

from fugu.dataflows.base.errors import NEW_PIPELINE, FuguError, StartRefused, StateInUse
from fugu.dataflows.state.fingerprint import Fingerprint, read_fingerprint
from fugu.dataflows.state.recovery import create_store, recovery_parts
from fugu.operators.temporal.temporal_perturbation import End

_NO_LOCKS = ENOLCK, EOPNOTSUPP, ENOSYS
_MAY_PASS = ENOSPC, EDQUOT, EFBIG, EIO, ESTALE, EMFILE, ENFILE, ENOMEM
"""List the errors of a disk, or of a machine, that may be gone at the next start."""
_LOCK_TRIES, _LOCK_PAUSE_SECONDS = 4, 0.05
"""Outlast who looks whether the directory is in use, which takes a moment."""
_FILE = "fingerprint.json"
_RECOVERY = "recovery"
_ROWS = "rows"
_STOPPED = "stopped.json"
_FINISHING = "finishing"
EXCHANGE = "exchange.json"
MOVED = "moved.json"
"""There, among the shards, once a state is being moved into Kafka."""
_FIRST_COMMAND = "fugu state repartition"
"""The command that exchanged directories before marks named one."""


class StateDirectory:
    """Own one shard's directory, which only its owner can read."""

    completes_moves: ClassVar[bool] = False
    """Says whether it is owned though its state was moved into Kafka, or is being moved."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.recovery = path / _RECOVERY
        self.rows = path / _ROWS
        self._lock: int | None = None

    @property
    def is_empty(self) -> bool:
        """Return whether no state was ever begun in it."""
        return not (self.path / _FILE).exists()

    @property
    def is_in_use(self) -> bool:
        """Return whether a process owns the directory now."""
        try:
            descriptor = os.open(self.path / "lock", os.O_RDONLY)
        except OSError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError as error:
            raise self.unusable(error) from None
        finally:
            os.close(descriptor)
        return False

    def lock(self) -> None:
        """Become the only owner until `unlock` or the end of the process."""
        self.refuse_while_exchanged()
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = os.open(self.path / "lock", os.O_CREAT | os.O_RDWR, 0o600)
            taken = _taken(self._lock)
        except OSError as error:
            self.unlock()
            raise self.unusable(error) from None
        if not taken:
            self.unlock()
            raise self.in_use()
        self.refuse_while_exchanged()

    def in_use(self) -> StateInUse:
        """Return what is raised while another process owns the directory."""
        return StateInUse(
            f"state directory {self.path} is in use by another process. Stop it first: "
            "two owners would publish every release twice."
        )

    def refuse_while_exchanged(self) -> None:
        """Raise `StartRefused` where a command was cut short that exchanges directories, or where
        the state is in Kafka."""
        try:
            moved, command = (self.path.parent / MOVED).exists(), exchanging(self.path.parent)
        except OSError as error:
            raise self.unusable(error) from None
        if moved and not self.completes_moves:
            raise self._after_a_move()
        if command is not None:
            self.unlock()
            raise StartRefused(
                f"{self.path}: the state was being exchanged for another one when the command "
                f"ended. Run {command} once more; it completes what was begun."
            )

    def _after_a_move(self) -> StartRefused:
        self.unlock()
        return StartRefused(
            f"{self.path}: the state was moved into Kafka, or is being moved. Start the "
            "pipeline file that says state.store: kafka; if fugu state move was cut short, run "
            "it once more."
        )

    def unlock(self) -> None:
        """Let another process own the directory."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def stored(self) -> Fingerprint | None:
        """Return the fingerprint of an existing state; None where there is no state yet."""
        try:
            content = (self.path / _FILE).read_bytes()
        except FileNotFoundError:
            if recovery_parts(self.recovery) and not self._unfinished.exists():
                raise StartRefused(
                    f"{self.path / _FILE} is missing although the pipeline ran before. Restore "
                    f"the state directory from a backup, or {NEW_PIPELINE}."
                ) from None
            return None
        except OSError as error:
            raise self.unusable(error) from None
        stored = _fingerprint(self.path / _FILE, content)
        if not recovery_parts(self.recovery):
            raise StartRefused(
                f"{self.recovery} is missing although the pipeline ran before. Restore the state "
                f"directory from a backup, or {NEW_PIPELINE}."
            )
        return stored

    def create(self, fingerprint: Fingerprint) -> Fingerprint:
        """Begin a state: an unfinished fingerprint, an empty recovery store, then, atomically, the
        fingerprint. A creation that was cut short left nothing of value and begins again.

        Nothing has been read yet, which is as good as a graceful stop at the beginning."""
        self._write(self._unfinished, fingerprint.model_dump())
        with _writing(self.path):
            for folder in (self.recovery, self.rows):
                if folder.exists():
                    rmtree(folder)
                folder.mkdir(mode=0o700)
        create_store(self.recovery)
        self._write(self.path / _STOPPED, fingerprint.source_begin)
        self._unfinished.rename(self.path / _FILE)
        return fingerprint

    def replace(self, fingerprint: Fingerprint) -> None:
        """Exchange the fingerprint atomically."""
        self._write(self._unfinished, fingerprint.model_dump())
        self._unfinished.rename(self.path / _FILE)

    def note_start(self, *, finishing: End | None) -> None:
        """Note that the shard is not stopped gracefully any more; finishing begins at a graceful
        stop.

        What it lets out depends on where it began, so once begun it is repeated until it ends.
        """
        mark = self.path / _FINISHING
        self.require_startable(finishing)
        if finishing is not None and not mark.exists():
            self._write(mark, finishing)
        (self.path / _STOPPED).unlink(missing_ok=True)

    def require_startable(self, finishing: End | None) -> None:
        """Refuse to run where streams are to be finished first, or cannot be finished now."""
        mark = self.path / _FINISHING
        begun = mark.exists()
        if begun and finishing is None:
            raise StartRefused(
                f"{self.path}: streams were being finished when the pipeline ended, and some of "
                "what they held back may be published. Run it with --finish once more."
            )
        if begun and mark.read_bytes() not in (b"", orjson.dumps(finishing)):
            raise StartRefused(
                f"{self.path}: streams were being finished with another operator.end when the "
                "pipeline ended. Set it back, and run it with --finish once more."
            )
        if finishing is not None and not begun and self.stopped_at() is None:
            raise StartRefused(
                f"{self.path}: --finish needs a graceful stop before: start the pipeline, "
                "stop it with SIGTERM or Ctrl-C, and run it with --finish."
            )

    def note_stop(self, positions: dict[int, int]) -> None:
        """Note that the shard stopped gracefully with these source offsets to be read next."""
        self._write(self.path / _STOPPED, {str(p): offset for p, offset in positions.items()})
        (self.path / _FINISHING).unlink(missing_ok=True)

    def stopped_at(self) -> dict[str, int] | None:
        """Return the next offset of every source partition, if the last run stopped gracefully."""
        try:
            content: dict[str, int] = orjson.loads((self.path / _STOPPED).read_bytes())
        except (FileNotFoundError, orjson.JSONDecodeError):
            return None
        return content

    def _write(self, path: Path, content: object) -> None:
        with _writing(path):
            descriptor = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(orjson.dumps(content, option=orjson.OPT_INDENT_2))
                file.flush()
                os.fsync(file.fileno())

    def unusable(self, error: OSError) -> FuguError:
        """Return what is raised where the directory cannot be made, read or written."""
        what = f"state directory {self.path} cannot be used ({error.strerror}). "
        if error.errno in _MAY_PASS:
            return FuguError(f"{what}Make room or repair the disk, and start again.")
        if error.errno in _NO_LOCKS:
            return StartRefused(
                f"{what}The file system takes no locks, so two processes could own one state. Put "
                "state.directory on a local disk, or mount the file system with locks (flock)."
            )
        return StartRefused(
            f"{what}Correct state.directory in the pipeline file, or the permissions of the "
            "directory."
        )

    @property
    def _unfinished(self) -> Path:
        return self.path / f"{_FILE}.new"


class MovedDirectory(StateDirectory):
    """Hold a directory whose state may have been moved, to complete that."""

    completes_moves: ClassVar[bool] = True


def _taken(lock: int) -> bool:
    """Take a lock, with a little patience; return whether it is ours now."""
    for tries_left in reversed(range(_LOCK_TRIES)):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if tries_left:
                time.sleep(_LOCK_PAUSE_SECONDS)
        else:
            return True
    return False


def exchanging(root: Path) -> str | None:
    """Return the command that exchanges directories inside a state directory, if one does."""
    try:
        content = (root / EXCHANGE).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return str(orjson.loads(content).get("command", _FIRST_COMMAND))


def _fingerprint(path: Path, content: bytes) -> Fingerprint:
    try:
        return read_fingerprint(orjson.loads(content), str(path))
    except (orjson.JSONDecodeError, ValidationError):
        raise StartRefused(
            f"{path} is damaged. Restore the state directory from a backup."
        ) from None


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise FuguError(
            f"{path} cannot be written ({error.strerror}). Make room or repair the disk, and "
            "start again."
        ) from None
