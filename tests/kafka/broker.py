"""A real one-node Kafka for tests and benchmarks: `bench/` imports it from here too."""

import os
import signal
import socket
import subprocess
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

from kafka import KafkaAdminClient
from kafka.errors import KafkaError

from tests.kafka.kafka_process import BrokerError, end, last_lines, launch, processor_ticks
from tests.kafka.ports import HOST, free_ports
from tests.kafka.secured import PORT_OFFSETS, SecuredListeners

PORTS = 3 + len(PORT_OFFSETS)
"""The plain listener, the controller, and the secured listeners."""
SILENT_SECONDS = 60
"""So long a Kafka that starts may do nothing at all; on a busy machine it starts for longer."""


class Broker:
    """A Kafka with a port and a data directory of its own: `start` after `stop` finds both again.

    Where FUGU_TEST_BOOTSTRAP is set, it stands for that running Kafka, which it never stops.
    A `light` one starts sooner and takes less time of the processors; its throughput is lower.
    """

    replicas = 1

    def __init__(self, *, light: bool = True) -> None:
        self._light = ["--light"] * light
        self._external = os.environ.get("FUGU_TEST_BOOTSTRAP")
        self._port = free_ports(PORTS)
        self._directory = TemporaryDirectory(prefix="fugu-kafka-")
        self._log = Path(self._directory.name) / "broker.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._secured: SecuredListeners | None = None

    @property
    def bootstrap(self) -> str:
        return self._external or f"{HOST}:{self._port}"

    @property
    def secured(self) -> SecuredListeners:
        """Its listeners with TLS and SASL, and what a client needs to use them."""
        if not self._secured:
            raise BrokerError(
                "the tests know no secured listeners, certificates and users of the Kafka that"
                " FUGU_TEST_BOOTSTRAP names: unset the variable to let them start their own"
            )
        return self._secured

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop it where it runs, and remove its data."""
        if self._process:
            self.stop()
        self._directory.cleanup()

    def start(self) -> None:
        """Start, or start again, and return once requests are answered."""
        if self._process:
            raise BrokerError("the broker is running already: stop it before starting it again")
        if not self._external:
            self._process = self._launch()
        self._wait_until_ready()

    def stop(self) -> None:
        """Shut down in an orderly way."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it as a crash would. The next start takes 15 s: Kafka lets the old session expire."""
        self._end(signal.SIGKILL)

    def lose_newest(self, topic: str) -> None:
        """Remove what partition 0 of a topic was written last, while the broker is stopped.

        The disk was not up to date when the power went; or a replica that was not became leader.
        """
        [folder] = Path(self._directory.name).rglob(f"{topic}-0")
        [segment] = folder.glob("*.log")
        os.truncate(segment, segment.stat().st_size // 2)
        for kept in ("*.index", "*.timeindex", "*.snapshot"):
            for path in folder.glob(kept):
                path.unlink()
        (folder.parent / ".kafka_cleanshutdown").unlink(missing_ok=True)

    def _launch(self) -> subprocess.Popen[bytes]:
        if not self._secured:
            self._secured = SecuredListeners(Path(self._directory.name) / "secured", self._port)
        options = [*self._light, "--port", str(self._port), "--data", self._directory.name]
        return launch(self._log, *options, "--secured", str(self._secured.folder))

    def _wait_until_ready(self) -> None:
        used, moved_at = 0, time.monotonic()
        while not self._is_ready():
            exited = self._process is not None and self._process.poll() is not None
            now_used = processor_ticks(self._process.pid) if self._process else 0
            if now_used != used:
                used, moved_at = now_used, time.monotonic()
            if exited or time.monotonic() > moved_at + SILENT_SECONDS:
                silence = self._explain_silence()
                if self._process:
                    self.kill()
                raise BrokerError(silence)
            time.sleep(0.05)

    def _is_ready(self) -> bool:
        """Return whether metadata is answered, with a leader for every partition there is."""
        host, port = self.bootstrap.split(",")[0].rsplit(":", 1)
        try:
            socket.create_connection((host, int(port)), timeout=1).close()
            with KafkaAdminClient(bootstrap_servers=self.bootstrap) as admin:
                brokers = admin.describe_cluster()["brokers"]
                topics = admin.describe_topics()
        except (OSError, KafkaError):
            return False
        leaders = [part["leader_id"] for topic in topics for part in topic["partitions"]]
        return bool(brokers) and -1 not in leaders

    def _explain_silence(self) -> str:
        if self._external:
            return (
                f"no Kafka answers at FUGU_TEST_BOOTSTRAP={self._external}: start it,"
                " correct the address, or unset the variable to let the tests start their own"
            )
        said = f"Kafka did not start at {self.bootstrap}; its log ends with:"
        return "\n".join([said, *last_lines(self._log)])

    def _end(self, how: signal.Signals) -> None:
        if self._external:
            raise BrokerError(
                "this stops the broker, but FUGU_TEST_BOOTSTRAP names one that others may use:"
                " unset the variable to let the tests start their own"
            )
        if not self._process:
            raise BrokerError("the broker is not running: start it before stopping it")
        process, self._process = self._process, None
        end(process, how)
