"""A small OIDC token server over HTTPS: client credentials in, signed tokens out."""

import ssl
import time
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, unquote_plus

import orjson

from tests.kafka.ports import HOST
from tests.kafka.signing_key import SigningKey


@dataclass
class TokenServer:
    """Give tokens to those who may have them; `given` counts tokens, `refused` refusals."""

    key: SigningKey
    secrets: dict[str, str]
    audience: str = "kafka"
    seconds: float = 8.0
    port: int = 0
    given: int = field(default=0, init=False)
    refused: int = field(default=0, init=False)

    @property
    def url(self) -> str:
        return f"https://{HOST}:{self.port}/token"

    def answer(self, authorization: str, form: dict[str, list[str]]) -> tuple[int, dict[str, Any]]:
        """Answer as RFC 6749, section 4.4 says; the client names itself by HTTP Basic."""
        kind, _, encoded = authorization.partition(" ")
        name, _, secret = b64decode(encoded).decode().partition(":")
        known = self.secrets.get(unquote_plus(name))
        if kind != "Basic" or known is None or unquote_plus(secret) != known:
            self.refused += 1
            return 401, {"error": "invalid_client"}
        if form.get("grant_type") != ["client_credentials"]:
            return 400, {"error": "unsupported_grant_type"}
        now = time.time()
        claims: dict[str, Any] = {"iss": self.url, "aud": self.audience, "sub": unquote_plus(name)}
        claims |= {"iat": int(now), "exp": int(now + self.seconds), "scope": "kafka"}
        self.given += 1
        return 200, {
            "access_token": self.key.signed(claims),
            "token_type": "Bearer",
            "expires_in": int(self.seconds),
        }


@contextmanager
def serving(server: TokenServer, certificate: Path) -> Iterator[TokenServer]:
    """Serve at a free port of this machine; the file holds key and certificate."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            form = parse_qs(self.rfile.read(length).decode())
            code, content = server.answer(self.headers.get("Authorization", ""), form)
            body = orjson.dumps(content)
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:
            """Say nothing."""

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with ThreadingHTTPServer((HOST, 0), Handler) as http:
        # A client that is slow to shake hands keeps no other one waiting: threads do it.
        http.socket = context.wrap_socket(
            http.socket, server_side=True, do_handshake_on_connect=False
        )
        server.port = http.server_address[1]
        Thread(target=http.serve_forever, daemon=True).start()
        yield server
        http.shutdown()
