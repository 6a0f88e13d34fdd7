"""Report errors to a person: one line of what is wrong, and what to do next.

No message ever holds a key, a value, a header or a secret; coordinates (topic, partition, offset,
field, line) are enough to find the record.
"""

import errno
import logging
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from traceback import extract_tb

from fugu.dataflows.base.printable import visible

OVER_NEW_RECORDS = "start a new pipeline with a new name, state and sink topic"
"""Advice where the source holds nothing any more that was released before."""

NEW_PIPELINE = (
    f"{OVER_NEW_RECORDS}: what the source still holds is then released a second time, with noise "
    "of its own, and both releases add up"
)
"""The last resort where the source may still hold what was released before."""


class FuguError(Exception):
    """Report a failure in a text that stands on its own, and steers no terminal."""

    def __str__(self) -> str:
        return visible(super().__str__())


class ConfigurationError(FuguError):
    """Report that the pipeline file, the model file or the secret is not usable."""


class UnusableField(ConfigurationError):
    """Report that what a field says, or points to, is not usable; its section knows where it is."""

    def __init__(self, field: str, advice: str) -> None:
        super().__init__(f"{field}: {advice}")
        self.field = field
        self.advice = advice


class KafkaUnavailable(FuguError):
    """Report that Kafka cannot be reached, or does not have what the pipeline needs."""


class StartRefused(FuguError):
    """Report that starting could reset a budget or release one truth twice."""


class OtherVersion(StartRefused):
    """Report that another version of Fugu wrote something, in a format that this one cannot
    read."""

    def __init__(self, what: str, found: object, read: int) -> None:
        super().__init__(
            f"{what} has format {found}: another version of Fugu wrote it, and this version reads "
            f"format {read} alone. Run the version that wrote it; nothing is lost."
        )
        self.found = found
        self.read = read


class AddressInUse(FuguError):
    """Report that something else listens where numbers are to be served; it may stop."""


class StateInUse(StartRefused):
    """Report that another process owns the state; it may stop."""


class StartContended(StartRefused):
    """Report that several pipelines were entered at once; the next start knows which of them are
    there."""


class TakenOver(FuguError):
    """Report that another process goes on with the state; starting again would take it back."""


class ReleaseMismatch(FuguError):
    """Report that a replayed release differs from the published one."""


class UnsafeRelease(FuguError):
    """Report that an attack succeeds on what was to be published: it is not."""


class BudgetExhausted(FuguError):
    """Report that a stream cannot pay for another release, and the pipeline is to stop then."""


class DeliveryFailed(FuguError):
    """Report that Kafka did not take a record; nothing after the last snapshot counts as done."""


class ShutOut(DeliveryFailed):
    """Report that Kafka takes no transaction any more: somebody else has the id, or it expired."""


class GivenAway(DeliveryFailed):
    """Report that the consumer group counts this copy out: its partitions may be others' now."""


class CannotBeEstimated(FuguError):
    """Report that a question has no honest answer from what was released, or promised."""


class CannotBeAudited(FuguError):
    """Report that an audit has nothing to attack, or cannot run: that is no verdict."""


NO_RESTART_HELPS = 78
"""The exit code of `fugu run` after an error that the next start would meet again (EX_CONFIG)."""


_FINAL = (
    ConfigurationError,
    StartRefused,
    TakenOver,
    ReleaseMismatch,
    BudgetExhausted,
    UnsafeRelease,
)
_MAY_PASS = StateInUse, StartContended


def exit_code(error: BaseException) -> int:
    """Return the exit code of `fugu run`: 1 where a restart may help, as when Kafka is back."""
    is_final = isinstance(error, _FINAL) and not isinstance(error, _MAY_PASS)
    return NO_RESTART_HELPS if is_final else 1


_OF_THE_PROCESS = (FuguError, MemoryError, ImportError, ConnectionError, TimeoutError)
_EXHAUSTED = {errno.ENOMEM, errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.EIO}


def is_of_one_record(error: Exception) -> bool:
    """Return whether an exception that reading records raised may be due to what one of them holds.

    Other exceptions say that something around the records fails: Kafka, a registry, memory, a
    disk, the installation. The same records can be read once that is back.
    """
    if isinstance(error, OSError) and error.errno in _EXHAUSTED:
        return False
    return not isinstance(error, _OF_THE_PROCESS)


@contextmanager
def without_values(step: str, topic: str, partition: int, offsets: Sequence[int]) -> Iterator[None]:
    """Turn an unexpected exception into one that names its place, not the values it met."""
    try:
        yield
    except FuguError:
        raise
    except Exception as error:
        span = f"offsets {offsets[0]} to {offsets[-1]}" if offsets else "no records"
        raise FuguError(
            f"{step}: topic {topic}, partition {partition}, {span}: {unexpected(error)} "
            "Nothing was published for these records."
        ) from None


def unexpected(error: BaseException) -> str:
    """Say where an unexpected exception comes from in the code; its own text may hold values."""
    return f"unexpected {type_and_place(error)}. This is a defect in Fugu; please report it."


def type_and_place(error: BaseException) -> str:
    """Name an exception and the line of code that raised it."""
    frames = extract_tb(error.__traceback__)
    place = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return type(error).__name__ + place


@contextmanager
def native_stderr_hidden() -> Iterator[None]:
    """Hide stderr from native code; Python keeps writing to it."""
    saved = os.dup(2)
    python_stderr = sys.stderr
    handlers = [
        handler
        for handler in logging.getLogger().handlers
        if isinstance(handler, logging.StreamHandler) and handler.stream is python_stderr
    ]
    visible = os.fdopen(os.dup(saved), "w", buffering=1)
    sys.stderr = visible
    for handler in handlers:
        handler.setStream(visible)
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        sys.stderr = python_stderr
        for handler in handlers:
            handler.setStream(python_stderr)
        visible.close()
