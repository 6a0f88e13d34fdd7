"""Read with kafka-python where the other side ends the connection."""

import socket
import ssl
from pathlib import Path
from select import select
from threading import Event, Thread

import pytest
from kafka.net import KafkaNetSocket

from fugu.dataflows.kafka.kafka_python_settings import DIRECT, TlsSocket
from tests.kafka.certificates import make_authority, make_certificate

WORDS = b"refused, and why"


UNREAD = pytest.mark.parametrize("unread", [b"", b"something that the broker never reads"])


@UNREAD
def test_what_a_broker_says_through_tls_before_it_hangs_up_is_read(
    tmp_path: Path, unread: bytes
) -> None:
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


@UNREAD
def test_what_a_broker_says_without_tls_before_it_hangs_up_is_read(unread: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        reader = KafkaNetSocket(DIRECT).socket(socket.AF_INET, socket.SOCK_STREAM, 0)
        reader.connect(server.getsockname())
        broker, _ = server.accept()
    with reader:
        reader.sendall(unread)
        with broker:
            broker.sendall(WORDS)
        reader.setblocking(False)
        select([reader], [], [])
        assert reader.recv(4096) == WORDS
        with pytest.raises(BlockingIOError):
            reader.recv(4096)
        assert reader.recv(4096) == b""
