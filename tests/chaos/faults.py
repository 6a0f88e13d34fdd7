"""Do something to copies and brokers in a round; each fault mends what it broke."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random

from tests.chaos.copies import Copies
from tests.chaos.outcome import Wrong
from tests.faults.feeding import PARTITIONS
from tests.faults.hurried import SESSION_SECONDS as HURRIED_SESSION_SECONDS
from tests.kafka.cluster import BROKERS, SESSION_SECONDS, Cluster

PAUSE_SECONDS = HURRIED_SESSION_SECONDS + 1.5
"""Pause or cut off a copy for so long: longer than its session in the group."""
SLOW_SECONDS = 2.0
PATIENCE_SECONDS = 60
CLOCKS = ["+1d", "-1d", "+30s", "-30s"]
"""The errors of a clock."""


@dataclass(frozen=True)
class Scene:
    """Hold what faults act on. `go_on` feeds and looks after copies while a fault lasts."""

    copies: Copies
    brokers: Cluster | None
    random: Random
    go_on: Callable[[float], None]

    @property
    def cluster(self) -> Cluster:
        """Return the brokers, where there are several."""
        assert self.brokers is not None
        return self.brokers

    def any_copy(self) -> int:
        return self.random.randrange(len(self.copies))

    def any_broker(self) -> int:
        return self.random.randint(1, BROKERS)


def kill_a_copy(scene: Scene) -> None:
    scene.copies.kill(scene.any_copy())


def kill_all_copies(scene: Scene) -> None:
    for number in range(len(scene.copies)):
        scene.copies.kill(number)


def kill_a_copy_twice(scene: Scene) -> None:
    """The second time while it starts."""
    number = scene.any_copy()
    scene.copies.kill(number)
    scene.go_on(scene.random.uniform(0.1, 2.0))
    scene.copies.kill(number)


def pause_a_copy(scene: Scene) -> None:
    """With `store: kafka` it wakes as a zombie: others have its partitions by then."""
    number = scene.any_copy()
    scene.copies.pause(number)
    scene.go_on(PAUSE_SECONDS)
    scene.copies.go_on(number)


def slow_a_copy(scene: Scene) -> None:
    """It has a tenth of its processor."""
    number = scene.any_copy()
    until = time.monotonic() + SLOW_SECONDS
    while time.monotonic() < until:
        scene.copies.pause(number)
        scene.go_on(0.09)
        scene.copies.go_on(number)
        time.sleep(0.01)


def scale_from_one_to_four_to_two(scene: Scene) -> None:
    for count in (1, PARTITIONS, 2):
        scene.copies.scale(count)
        scene.go_on(scene.random.uniform(0, 1.0))


def scale(scene: Scene) -> None:
    """To any other number of copies."""
    others = [n for n in range(1, PARTITIONS + 1) if n != len(scene.copies)]
    scene.copies.scale(scene.random.choice(others))


def restart_copies_one_by_one(scene: Scene) -> None:
    for number in range(len(scene.copies)):
        scene.copies.restart(number)
        scene.go_on(0.5)


def start_with_a_wrong_clock(scene: Scene) -> None:
    scene.copies.restart(scene.any_copy(), scene.random.choice(CLOCKS))


def cut_a_network(scene: Scene) -> None:
    """All copies that come by a relay are alone, for longer than their sessions, and come back.

    What they had sent arrives late, after others have gone on, or never.
    """
    relays = scene.cluster.relays
    for relay in relays:
        relay.cut()
    scene.go_on(PAUSE_SECONDS)
    late = scene.random.random() < 0.5
    for relay in relays:
        relay.mend(late=late)


def kill_a_broker(scene: Scene) -> None:
    """It comes back when others lead its partitions."""
    scene.cluster.kill(scene.any_broker())
    scene.go_on(scene.random.uniform(0, 2 * SESSION_SECONDS))
    mend(scene)


def stop_a_broker(scene: Scene) -> None:
    """It hands its partitions to other leaders."""
    scene.cluster.stop(scene.any_broker())
    scene.go_on(scene.random.uniform(0, 2.0))
    mend(scene)


def pause_a_broker(scene: Scene) -> None:
    """It wakes as a leader that others have replaced."""
    number = scene.any_broker()
    scene.cluster.pause(number)
    scene.go_on(2 * SESSION_SECONDS)
    scene.cluster.go_on(number)
    mend(scene)


def kill_all_brokers(scene: Scene) -> None:
    for number in scene.cluster.running:
        scene.cluster.kill(number)
    mend(scene)


def restart_brokers_one_by_one(scene: Scene) -> None:
    for number in scene.cluster.running:
        scene.cluster.stop(number)
        mend(scene)


def fill_the_disk_of_a_broker(scene: Scene) -> None:
    """It ends by itself, and starts again once there is room."""
    number = scene.any_broker()
    scene.cluster.fill_the_disk(number)
    until = time.monotonic() + PATIENCE_SECONDS
    while not scene.cluster.has_ended(number):
        if time.monotonic() > until:
            raise Wrong(f"broker {number} goes on though it can write nothing")
        scene.go_on(0.1)
    mend(scene)


def kill_a_copy_and_a_broker(scene: Scene) -> None:
    scene.cluster.kill(scene.any_broker())
    scene.copies.kill(scene.any_copy())
    scene.go_on(scene.random.uniform(0, 2 * SESSION_SECONDS))
    mend(scene)


def mend(scene: Scene) -> None:
    """Start the brokers that do not run; copies go on meanwhile."""
    scene.cluster.start_all()
    scene.go_on(0)


Fault = Callable[[Scene], None]
OF_COPIES: tuple[Fault, ...] = (
    kill_a_copy,
    kill_all_copies,
    kill_a_copy_twice,
    pause_a_copy,
    slow_a_copy,
    scale,
    scale_from_one_to_four_to_two,
    restart_copies_one_by_one,
    start_with_a_wrong_clock,
)
OF_BROKERS: tuple[Fault, ...] = (
    kill_a_broker,
    stop_a_broker,
    pause_a_broker,
    kill_all_brokers,
    restart_brokers_one_by_one,
    kill_a_copy_and_a_broker,
    fill_the_disk_of_a_broker,
    cut_a_network,
)
ALL = OF_COPIES + OF_BROKERS


def named() -> Mapping[str, Fault]:
    """Return all faults by name."""
    return {fault.__name__: fault for fault in ALL}


@contextmanager
def everything_running(cluster: Cluster | None) -> Iterator[None]:
    """End with all brokers up, whatever a fault has left."""
    try:
        yield
    finally:
        if cluster is not None:
            for relay in cluster.relays:
                relay.mend(late=True)
            for number in cluster.running:
                cluster.go_on(number)
            cluster.start_all()
