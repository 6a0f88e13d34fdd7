"""Three real brokers, each with a directory of its own, that are lost and come back one by one."""

import resource
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

from kafka import KafkaAdminClient
from kafka.errors import KafkaError

from tests.kafka.kafka_process import BrokerError, end, last_lines, launch
from tests.kafka.ports import HOST, free_ports
from tests.kafka.relay import Relay

BROKERS = 3
PORTS_EACH = 2
"""For clients, and for controllers; one more for those that come by a relay, and its own."""
_FULL_BYTES = 4_096
START_SECONDS = 180
SESSION_SECONDS = 5
"""After so long a broker that is silent is taken for lost; `deploy/kafka/start` sets it."""


class Cluster:
    """Brokers 1 to 3: topics have three replicas, and take records while two are in sync.

    Whoever comes by `relayed` talks to every broker through a relay.
    """

    replicas = BROKERS

    def __init__(self) -> None:
        self._port = free_ports(BROKERS * (PORTS_EACH + 2))
        self.relays: list[Relay] = []
        self._directory = TemporaryDirectory(prefix="fugu-cluster-")
        self._running: dict[int, subprocess.Popen[bytes]] = {}

    @property
    def bootstrap(self) -> str:
        """Name all brokers, as a pipeline file does."""
        return ",".join(f"{HOST}:{self._port + PORTS_EACH * k}" for k in range(BROKERS))

    @property
    def relayed(self) -> str:
        """Name all brokers by the relays that stand before them."""
        return ",".join(f"{HOST}:{self._relayed(k + 1)[1]}" for k in range(BROKERS))

    @property
    def running(self) -> Sequence[int]:
        """List the brokers that run."""
        return sorted(self._running)

    def __enter__(self) -> Self:
        try:
            for number in range(1, BROKERS + 1):
                target, port = self._relayed(number)
                self.relays.append(Relay(port, target))
            self.start_all()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all brokers, and remove their data."""
        for process in self._running.values():
            process.kill()
            process.wait()
        self._running.clear()
        for relay in self.relays:
            relay.close()
        self._directory.cleanup()

    def start_all(self) -> None:
        """Start every broker that does not run, and return once all replicas are in sync."""
        for number in range(1, BROKERS + 1):
            if number not in self._running:
                self.start(number)
        self.wait_until(self.is_whole)

    def start(self, number: int) -> None:
        """Start a broker, or start it again over its data."""
        options = ["--port", str(self._port), "--data", self._directory.name]
        options += ["--brokers", str(BROKERS), "--broker", str(number)]
        options += ["--relayed", "{}:{}".format(*self._relayed(number))]
        self._running[number] = launch(self._log(number), *options)

    def stop(self, number: int) -> None:
        """Shut a broker down in an orderly way: its partitions get other leaders first."""
        end(self._running.pop(number), signal.SIGTERM)

    def kill(self, number: int) -> None:
        """End a broker as a crash would."""
        end(self._running.pop(number), signal.SIGKILL)

    def pause(self, number: int) -> None:
        """Stop a broker in the middle of what it does."""
        self._running[number].send_signal(signal.SIGSTOP)

    def go_on(self, number: int) -> None:
        """Let a broker that was paused go on, as if no time had passed."""
        self._running[number].send_signal(signal.SIGCONT)

    def fill_the_disk(self, number: int) -> None:
        """Let a broker write no more, as if its disk were full: it ends by itself.

        Files that are larger than a few kilobytes cannot grow. The next start has room again.
        """
        pid = self._running[number].pid
        _, most = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (_FULL_BYTES, most))

    def has_ended(self, number: int) -> bool:
        """Return whether a broker has ended by itself, and can be started."""
        ended = self._running[number].poll() is not None
        if ended:
            del self._running[number]
        return ended

    def wait_until(self, reached: Callable[[], bool]) -> None:
        """Wait for something to become true of the brokers that run."""
        deadline = time.monotonic() + START_SECONDS
        while not reached():
            ended = [n for n, process in self._running.items() if process.poll() is not None]
            if ended or time.monotonic() > deadline:
                raise BrokerError(self._explain(ended or self.running))
            time.sleep(0.1)

    def is_whole(self) -> bool:
        """Return whether every partition has a leader, and all its replicas are in sync."""
        try:
            with KafkaAdminClient(bootstrap_servers=self.bootstrap) as admin:
                brokers = admin.describe_cluster()["brokers"]
                topics = admin.describe_topics()
        except (OSError, KafkaError):
            return False
        partitions = [partition for topic in topics for partition in topic["partitions"]]
        return len(brokers) == BROKERS and all(
            part["leader_id"] != -1 and len(part["isr_nodes"]) == len(part["replica_nodes"])
            for part in partitions
        )

    def leaders(self, topic: str) -> dict[int, int]:
        """Return which broker leads each partition of a topic."""
        with KafkaAdminClient(bootstrap_servers=self.bootstrap) as admin:
            [found] = admin.describe_topics([topic])
        return {part["partition_index"]: part["leader_id"] for part in found["partitions"]}

    def _relayed(self, number: int) -> tuple[int, int]:
        """Return the port of a broker for those that come by a relay, and that of the relay."""
        first = self._port + BROKERS * PORTS_EACH + 2 * (number - 1)
        return first, first + 1

    def _log(self, number: int) -> Path:
        return Path(self._directory.name) / f"broker-{number}.log"

    def _explain(self, numbers: Sequence[int]) -> str:
        tails = []
        for number in numbers:
            said = f"broker {number} is not ready; its log ends with:"
            tails += [said, *last_lines(self._log(number))]
        return "\n".join(tails)
