"""Give kafka-python the tokens of an OIDC server, as librdkafka's own method gets them."""

import json
import ssl
import time
from base64 import b64encode
from dataclasses import dataclass, field
from http.client import HTTPException
from threading import Lock
from urllib.error import HTTPError
from urllib.parse import quote_plus, urlencode
from urllib.request import HTTPSHandler, Request, build_opener

from kafka.errors import KafkaConnectionError
from kafka.net.sasl.oauth import AbstractTokenProvider

from fugu.dataflows.kafka.oauth import TokenServer

_ANSWER_SECONDS = 10.0
_LARGEST_ANSWER = 1_000_000
_SHARE_OF_LIFE = 0.8
_SHORTEST_LIFE = 60.0
"""A server that does not say how long a token lives is asked again after a while."""


class NoToken(KafkaConnectionError):  # type: ignore[misc]
    """Report that the server has given no token; the text repeats nothing that it said."""

    retriable = True


@dataclass
class Tokens(AbstractTokenProvider):  # type: ignore[misc]
    """Remember a token for most of its life."""

    server: TokenServer
    _token: str = field(default="", init=False, repr=False)
    _good_until: float = field(default=0.0, init=False)
    _lock: Lock = field(default_factory=Lock, init=False, repr=False)

    def token(self) -> str:
        """Return a token that has not expired; `NoToken` if there is none."""
        with self._lock:
            if time.monotonic() >= self._good_until:
                self._token, life = _asked(self.server)
                self._good_until = time.monotonic() + _SHARE_OF_LIFE * life
            return self._token

    def extensions(self) -> dict[str, str]:
        """Return what is told besides the token."""
        return dict(self.server.extensions)


def _asked(server: TokenServer) -> tuple[str, float]:
    """Ask for a token (RFC 6749, section 4.4); return it, and for how many seconds it is good."""
    asked = {"grant_type": "client_credentials"}
    asked |= {} if server.scope is None else {"scope": server.scope}
    who = f"{quote_plus(server.client_id)}:{quote_plus(server.client_secret.get_secret_value())}"
    request = Request(
        server.url,
        urlencode(asked).encode(),
        {
            "Authorization": f"Basic {b64encode(who.encode()).decode()}",
            "Accept": "application/json",
            "Content-Type": "application/x-www-form-urlencoded",
        },
    )
    authorities = None if server.authorities is None else str(server.authorities)
    context = ssl.create_default_context(cafile=authorities)
    try:
        with build_opener(HTTPSHandler(context=context)).open(
            request, timeout=_ANSWER_SECONDS
        ) as answer:
            found = json.loads(answer.read(_LARGEST_ANSWER))
        token, life = found["access_token"], found.get("expires_in", _SHORTEST_LIFE)
        if not (isinstance(token, str) and token.isascii() and token.isprintable() and token):
            raise ValueError
        return token, float(life)
    except HTTPError as error:
        raise NoToken(
            f"the token server refuses client {server.client_id} ({error.code})"
        ) from None
    except (OSError, HTTPException, ValueError, KeyError, TypeError, AttributeError) as error:
        what = f"the token server gives no token ({type(error).__name__})"
        raise NoToken(what) from None
