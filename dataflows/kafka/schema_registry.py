"""Ask a Schema Registry for schemas, while the partitions that need them wait.

It is asked beside the dataflow. What it has said is kept as long as the process runs; that it has
no schema of an id, for a minute after the last id of the same records was asked for.
"""

import logging
import re
import time
from collections.abc import Callable, Set
from functools import cached_property
from pathlib import Path
from threading import Thread
from typing import Annotated, Any, TypeVar
from urllib.parse import quote

from pydantic import AfterValidator

from fugu.dataflows.base.errors import ConfigurationError, FuguError, StartRefused
from fugu.dataflows.base.install import install
from fugu.dataflows.base.section import Section
from fugu.dataflows.kafka.credentials import Password, Resolve
from fugu.dataflows.kafka.registry_answers import NoAnswer, RegistryAnswers
from fugu.dataflows.records.registered import SchemaText

log = logging.getLogger(__name__)

_ASK_AGAIN, _TIMEOUT = 1.0, 5.0
_UNKNOWN_FOR = 60.0
_AT_ONCE = 100
"""The most ids that are asked for before anybody looks again."""
_NOT_FOUND, _INCOMPATIBLE = 404, 409
Answer = TypeVar("Answer")
_ADDRESS = re.compile(r"https?://[^\s@]+")


def _address(url: str) -> str:
    if not _ADDRESS.fullmatch(url):
        raise ValueError(
            "write http://HOST:PORT or https://HOST:PORT; user and password are keys beside it"
        )
    return url


class RegistrySection(Section):
    """Say where the Schema Registry is, and how to log in."""

    url: Annotated[str, AfterValidator(_address)]
    """Its address: `http://` or `https://`, without a password in it."""
    username: str | None = None
    """The name of the user, where it asks for one."""
    password: Password | None = None
    """Say where the password of the user is."""
    ca: str | None = None
    """The file (PEM) of the authorities that signed its certificate."""

    def files(self, resolve: Resolve) -> list[Path]:
        """Return the files that authorities and password are read from."""
        names = [self.ca, None if self.password is None else self.password.file]
        return [resolve(name) for name in names if name is not None]

    def settings(self, resolve: Resolve) -> dict[str, Any]:
        """Return the settings of the client."""
        found: dict[str, Any] = {"url": self.url, "timeout": _TIMEOUT, "max.retries": 0}
        if self.ca is not None:
            found["ssl.ca.location"] = str(resolve(self.ca))
        if self.username is not None:
            if self.password is None:
                raise ConfigurationError("registry: username needs a password")
            password = self.password.read("password", resolve).get_secret_value()
            found["basic.auth.user.info"] = f"{self.username}:{password}"
        return found


class RegistryUnavailable(FuguError):
    """Report that the registry does not say what it is asked for, and why."""

    def __init__(self, url: str, why: str) -> None:
        super().__init__(f"the schema registry at {url} cannot be asked ({why})")
        self.why = why


class SchemaRegistry:
    """Hold schemas by id."""

    def __init__(self, url: str, settings: Callable[[], dict[str, Any]]) -> None:
        self.url = url
        self._settings = settings
        self.away_since: float | None = None
        """The monotonic moment since when it does not say what it is asked for."""
        self.away_because = ""
        self._known: dict[int, SchemaText] = {}
        self._unknown: dict[int, float] = {}
        self._asker: Thread | None = None
        self._next = 0.0

    @cached_property
    def _told(self) -> dict[str, Any]:
        return self._settings()

    @cached_property
    def _client(self) -> Any:
        try:
            from confluent_kafka.schema_registry import SchemaRegistryClient
        except ImportError:
            raise ConfigurationError(
                f"registry: needs the extra registry: {install('registry')}"
            ) from None
        for name in ("httpx", "authlib"):
            logging.getLogger(name).setLevel(logging.WARNING)
        return SchemaRegistryClient(self._told)

    def prepare(self) -> None:
        """Make the client; `ConfigurationError` says what it lacks."""
        _ = self._client

    def text_of(self, number: int) -> SchemaText | None:
        """Return a schema; wait for the answer if there never was one."""
        if number not in self._known and number not in self._unknown:
            self._ask(number)
        return self._known.get(number)

    def are_there(self, numbers: Set[int]) -> bool:
        """Return whether all schemas of these ids are known; ask for those that are not."""
        missing = sorted(number for number in numbers if not self._is_told(number))
        if not missing:
            return True
        if self._asker is not None and self._asker.is_alive():
            return False
        if time.monotonic() >= self._next:
            some = missing[:_AT_ONCE]
            self._asker = Thread(target=self._ask_for, args=(some, numbers), daemon=True)
            self._asker.start()  # a stop does not wait for it
        return False

    def _is_told(self, number: int) -> bool:
        until = self._unknown.get(number, 0.0)
        return number in self._known or time.monotonic() < until

    def _ask_for(self, missing: list[int], numbers: Set[int]) -> None:
        """Ask for ids that are not told, and keep what is unknown of all that are read together."""
        try:
            for number in missing:
                self._ask(number)
        except RegistryUnavailable as error:
            self.away_because = error.why
            if self.away_since is None:
                self.away_since = time.monotonic()
                log.warning("%s", error)
            self._next = time.monotonic() + _ASK_AGAIN
        else:
            self.away_since = None
            self._keep(numbers)

    def _keep(self, numbers: Set[int]) -> None:
        """Believe for as long again what is unknown of these, and forget what was long ago."""
        now = time.monotonic()
        self._unknown = {
            number: now + _UNKNOWN_FOR if number in numbers else until
            for number, until in self._unknown.items()
            if number in numbers or until > now - _UNKNOWN_FOR
        }

    def newest(self, subject: str) -> SchemaText | None:
        """Return the newest schema of a subject; None where there is no such subject."""
        return self._answer(f"subjects/{quote(subject, safe='')}/versions/latest")

    def register(self, subject: str, schema: SchemaText) -> int:
        """Register a schema, and return its id; an equal one has the id that it had before."""
        from confluent_kafka.schema_registry import Schema
        from confluent_kafka.schema_registry.error import SchemaRegistryError

        try:
            number: int = self._client.register_schema(subject, Schema(schema.text, schema.kind))
        except SchemaRegistryError as error:
            if error.http_status_code == _INCOMPATIBLE:
                raise StartRefused(
                    f"sink.format: the registry at {self.url} refuses the schema of releases, "
                    f"because {subject} has one that is not compatible. Write another sink.topic"
                ) from None
            raise self._away(f"it answers {error.http_status_code}") from None
        except Exception as error:  # of whatever kind: no connection, no JSON
            raise self._away(type(error).__name__) from None
        return number

    def has(self, subject: str, number: int) -> bool:
        """Return whether a schema of this id is one of a subject."""
        from confluent_kafka.schema_registry import Schema

        found = self.text_of(number)
        if found is None:
            return False
        schema = Schema(found.text, found.kind)
        looked_up = self._asked_for(lambda: self._client.lookup_schema(subject, schema))
        return looked_up is not None and looked_up.schema_id == number

    def _ask(self, number: int) -> None:
        found = self._answer(f"schemas/ids/{number}")
        if found is None:
            self._unknown[number] = time.monotonic() + _UNKNOWN_FOR
        else:
            self._known[number] = found

    def _answer(self, path: str) -> SchemaText | None:
        """Return the schema that is asked for; None where the registry says that it has none."""
        try:
            with RegistryAnswers(self._told, _TIMEOUT) as answers:
                return answers.schema(path)
        except NoAnswer as error:
            raise self._away(str(error)) from None
        except Exception as error:  # of whatever kind that nobody foresaw
            raise self._away(type(error).__name__) from None

    def _asked_for(self, ask: Callable[[], Answer]) -> Answer | None:
        from confluent_kafka.schema_registry.error import SchemaRegistryError

        try:
            return ask()
        except SchemaRegistryError as error:
            says_so = (error.error_code or 0) > 0  # a proxy in front of it has no such number
            if error.http_status_code != _NOT_FOUND or not says_so:
                raise self._away(f"it answers {error.http_status_code}") from None
            return None
        except Exception as error:  # of whatever kind: no connection, no JSON
            raise self._away(type(error).__name__) from None

    def _away(self, why: str) -> RegistryUnavailable:
        return RegistryUnavailable(self.url, why)
