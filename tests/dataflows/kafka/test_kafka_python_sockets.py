"""What kafka-python reads through TLS, where the other side ends the connection."""

import socket
import ssl
from pathlib import Path
from threading import Event, Thread

import pytest

from fugu.dataflows.kafka.kafka_python_settings import TlsSocket
from tests.kafka.certificates import make_authority, make_certificate

WORDS = b"refused, and why"


@pytest.mark.parametrize("unread", [b"", b"something that the broker never reads"])
def test_what_a_broker_says_before_it_hangs_up_is_read(tmp_path: Path, unread: bytes) -> None:
    """Kafka-python reads until nothing is there, and drops all of it where the end is there."""
    authority = make_authority(tmp_path, "ca")
    own = make_certificate(tmp_path, "broker", authority)
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server.load_cert_chain(own.certificate, own.key)
    client = ssl.create_default_context(cafile=str(authority.certificate))
    client.sslsocket_class = TlsSocket
    (near, far), asked = socket.socketpair(), Event()

    def refuse() -> None:
        with server.wrap_socket(far, server_side=True) as broker:
            broker.sendall(WORDS)
            assert asked.wait(10)

    broker = Thread(target=refuse)
    broker.start()
    with client.wrap_socket(near, server_hostname="broker") as reader:
        reader.sendall(unread)
        asked.set()
        broker.join()
        assert reader.recv(4096) == WORDS
        with pytest.raises(ssl.SSLWantReadError):
            reader.recv(4096)
        assert reader.recv(4096) == b""
