"""Read what a schema registry answers, within bounds: of time, of bytes, and of references.

A registry that does not answer is away, and is asked again. A schema beyond the bounds is not used.
"""

import json
import time
from base64 import b64encode
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from importlib.util import find_spec
from socket import SHUT_RDWR, socket
from ssl import SSLContext, create_default_context
from threading import Timer
from types import TracebackType
from typing import Any, Self, cast
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import (
    BaseHandler,
    HTTPHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    Request,
    build_opener,
)

from fugu.dataflows.records.registered import SchemaText

SECONDS = 10.0
"""The time to get a schema and all that it refers to, and to prepare it."""
_LARGEST = 4 << 20
_MOST_REFERENCES = 1_000
_DEEPEST = 100
_PIECE = 1 << 16
_NOT_FOUND = 404
_ACCEPTED = "application/vnd.schemaregistry.v1+json, application/json"


class NoAnswer(Exception):
    """Report that the registry does not say what it is asked for: with which status, or why."""


class _Beyond(Exception):
    """Report which bound a schema is beyond."""


class RegistryAnswers:
    """Ask for one schema and for what it refers to; end all that when the time is over."""

    def __init__(self, settings: Mapping[str, Any], timeout: float) -> None:
        self._urls = [one.strip().rstrip("/") for one in str(settings["url"]).split(",")]
        self._timeout, self._end = timeout, time.monotonic() + SECONDS
        self._headers = {"Accept": _ACCEPTED}
        if login := settings.get("basic.auth.user.info"):
            self._headers["Authorization"] = f"Basic {b64encode(login.encode()).decode()}"
        self._sockets: list[socket] = []
        handlers: list[BaseHandler] = [_NoRedirect(), _Plain(self._sockets)]
        if any(one.startswith("https:") for one in self._urls):
            trusted = _trusted(settings.get("ssl.ca.location"))
            handlers.append(_Secure(self._sockets, trusted))
        self._opener = build_opener(*handlers)
        self._left, self._known = _LARGEST, dict[str, str]()
        self._timer = Timer(SECONDS, self._shut)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        self._timer.cancel()

    def schema(self, path: str) -> SchemaText | None:
        """Return the schema at a path; None where the registry says that it has none."""
        found = SchemaText("", "")
        try:
            answer = self._answer(path)
            if answer is None:
                return None
            self._known[path] = answer["schema"]
            references: dict[str, str] = {}
            self._refer(answer, references, 0)
            found = SchemaText(answer.get("schemaType") or "AVRO", answer["schema"], references)
        except _Beyond as error:
            found = SchemaText("", "", problem=str(error))
        return replace(found, seconds=max(0.0, self._end - time.monotonic()))

    def _refer(self, answer: Mapping[str, Any], found: dict[str, str], depth: int) -> None:
        """Add the schemas that a schema refers to, those first that others refer to."""
        for one in answer.get("references") or []:
            subject = quote(one["subject"], safe="", errors="replace")
            path = f"subjects/{subject}/versions/{one['version']}"
            if path not in self._known:
                if len(self._known) > _MOST_REFERENCES or depth >= _DEEPEST:
                    raise _Beyond(
                        f"has more than {_MOST_REFERENCES:,} references, or some {_DEEPEST} deep"
                    )
                other = self._answer(path)
                if other is None:
                    raise _Beyond("refers to a schema that the registry does not have")
                self._known[path] = other["schema"]
                self._refer(other, found, depth + 1)
            found[one["name"]] = self._known[path]
            if len(found) > _MOST_REFERENCES:
                raise _Beyond(f"has more than {_MOST_REFERENCES:,} references")

    def _answer(self, path: str) -> Mapping[str, Any] | None:
        """Return what the first address says that answers; None where it has no such schema."""
        problem = NoAnswer("it has no address")
        for url in self._urls:
            try:
                return self._answer_of(f"{url}/{path}")
            except NoAnswer as error:
                problem = error
        raise problem

    def _answer_of(self, url: str) -> Mapping[str, Any] | None:
        left = self._end - time.monotonic()
        try:
            request = Request(url, headers=self._headers)
            with self._opener.open(request, timeout=max(0.001, min(self._timeout, left))) as answer:
                content = self._read(answer)
            return _checked(json.loads(content.decode(errors="replace")))
        except HTTPError as error:
            with error:
                if error.code == _NOT_FOUND and _says_so(error):
                    return None
            raise NoAnswer(f"it answers {error.code}") from None
        except (NoAnswer, _Beyond):
            raise
        except Exception as error:  # of whatever kind: no connection, no JSON
            if self._known and time.monotonic() >= self._end:
                raise _Beyond(f"takes more than {SECONDS:.0f} s to get") from None
            cause = error.reason if isinstance(error, URLError) else error
            name = type(cause if isinstance(cause, Exception) else error).__name__
            raise NoAnswer(name) from None

    def _read(self, answer: HTTPResponse) -> bytes:
        content = b""
        while piece := answer.read(_PIECE):
            content += piece
            self._left -= len(piece)
            if self._left < 0:
                if not content.startswith(b"{"):
                    raise NoAnswer("it answers no JSON")
                raise _Beyond(f"has more than {_LARGEST:,} bytes with all that it refers to")
        return content

    def _shut(self) -> None:
        for one in self._sockets:
            with suppress(OSError):
                socket.shutdown(one, SHUT_RDWR)


def _checked(answer: Any) -> Mapping[str, Any]:
    """Return an answer in which schema and references are of the types that they have."""
    texts = [answer["schema"], answer.get("schemaType") or ""]
    for one in answer.get("references") or []:
        texts += [one["name"], one["subject"]]
        if type(one["version"]) is not int:
            raise NoAnswer("it answers with a version that is no number")
    if set(map(type, texts)) != {str}:
        raise NoAnswer("it answers with a schema that is no text")
    return cast(Mapping[str, Any], answer)


def _says_so(error: HTTPError) -> bool:
    """Return whether a registry says that it has no such schema; a proxy gives no such number."""
    try:
        return bool(json.loads(error.read(_PIECE))["error_code"] > 0)
    except Exception:  # of whatever kind: no JSON, no number
        return False


class _NoRedirect(HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        """Refuse to follow: a password would be sent along."""


class _Watched(HTTPConnection):
    """Tell the socket, so that another thread can end what waits for it."""

    def __init__(self, sockets: list[socket], host: str, **options: Any) -> None:
        super().__init__(host, **options)
        self._sockets = sockets

    def connect(self) -> None:
        super().connect()
        self._sockets[:] = [self.sock]


class _WatchedSecure(_Watched, HTTPSConnection):
    pass


class _Plain(HTTPHandler):
    def __init__(self, sockets: list[socket]) -> None:
        super().__init__()
        self._connection: Any = partial(_Watched, sockets)

    def http_open(self, req: Request) -> HTTPResponse:
        return self.do_open(self._connection, req)


class _Secure(HTTPSHandler):
    def __init__(self, sockets: list[socket], trusted: SSLContext) -> None:
        super().__init__(context=trusted)
        self._connection: Any = partial(_WatchedSecure, sockets, context=trusted)

    def https_open(self, req: Request) -> HTTPResponse:
        return self.do_open(self._connection, req)


@cache
def _trusted(authorities: str | None) -> SSLContext:
    trusted = create_default_context(cafile=authorities)
    if authorities is None and find_spec("certifi") is not None:
        import certifi

        trusted.load_verify_locations(certifi.where())
    return trusted
