"""Follow added partitions: stop once everything is read, move the streams, and start again.

`source.partitions: follow` asks for it. A start moves the streams before anything else, and then
releases the records that were refused because their keys had moved before their rows did. What is
still to be done is noted in a file, so a process that was killed anywhere in between leaves nothing
undone.

STATE/following.json   there from before streams move until refused records have been driven again
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread

from fugu.dataflows.base.batches import Reason
from fugu.dataflows.base.errors import FuguError, StartRefused
from fugu.dataflows.base.metrics import LAG, NOTICE, RECORDS_IN, Metrics
from fugu.dataflows.flows.added_partitions import partitions_begun
from fugu.dataflows.flows.dead_letters import Choice
from fugu.dataflows.flows.found_partitioner import as_begun
from fugu.dataflows.flows.redriven_state import COMMAND as REDRIVE
from fugu.dataflows.flows.redriven_state import driven_again
from fugu.dataflows.flows.repartitioning import COMMAND, Repartitioned, repartition
from fugu.dataflows.flows.state_directories import root_directory
from fugu.dataflows.kafka.clients import client_of
from fugu.dataflows.monitoring.notices import Kind
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.state.directory import exchanging
from fugu.dataflows.state.durable_file import replace_durably

_LOOK_SECONDS = 1.0

log = logging.getLogger(__name__)


@dataclass
class Following:
    """Decide when a pipeline moves its streams to added partitions.

    A pipeline that was refused the move at its start goes on with the partitions it knows.
    """

    file: PipelineFile
    enabled: bool
    decided: bool = field(default=False, init=False)
    """Say whether the pipeline stops to start again."""
    _read: float = field(default=0.0, init=False)
    _ended: Event = field(default_factory=Event, init=False)

    def at_start(self) -> None:
        """Move the streams, if partitions were added and the last stop was graceful."""
        if not self.enabled:
            return
        try:
            cut_short = exchanging(root_directory(self.file).path)
            if cut_short != REDRIVE and (cut_short == COMMAND or self._added()):
                self._note_that_it_is_due()
                log.info("partitions were added to the source: streams move there before it begins")
                _say(repartition(self.file), self.file.path)
            self._drive_again()
        except StartRefused as refusal:
            log.info("added partitions are followed later: %s", refusal)
        except FuguError as error:
            self.enabled = False
            log.warning("added partitions are not followed before the next start: %s", error)

    def _drive_again(self) -> None:
        """Release what was refused since the topic was extended, as `fugu redrive` does."""
        if not self._due.exists():
            return
        if self.file.pipeline.operator.releases_record_by_record:
            choice = Choice(Reason.WRONG_PARTITION, at_home=True)
            tally = driven_again(as_begun(self.file), choice)
            if tally.records:
                log.info(
                    "%d records that were refused as wrong_partition before their streams had "
                    "moved have had their turn: %d released, %d repeated, %d gone from the source",
                    tally.records,
                    tally.released,
                    tally.repeated,
                    tally.gone,
                )
        self._due.unlink()

    def _note_that_it_is_due(self) -> None:
        self._due.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_durably(self._due, b"{}")

    @property
    def _due(self) -> Path:
        return root_directory(self.file).path / "following.json"

    def watch(self, metrics: Callable[[], Metrics], stop: Callable[[], None]) -> None:
        """Look every second, and stop the pipeline when streams are to move."""
        if self.enabled:
            look = Thread(target=self._watch, args=(metrics, stop), name="following", daemon=True)
            look.start()

    def close(self) -> None:
        """Look no more."""
        self._ended.set()

    def is_due(self, metrics: Metrics) -> bool:
        """Return whether partitions were added, and all is read but for what came since last asked.

        Records of keys that move are released where they are; later they would be refused there.
        """
        read = sum(metrics.values(RECORDS_IN).values())
        since, self._read = read - self._read, read
        added = any(
            seconds > 0
            for (kind, *_), seconds in metrics.values(NOTICE).items()
            if kind == Kind.PARTITIONS_ADDED
        )
        return added and sum(metrics.values(LAG).values()) <= since

    def _watch(self, metrics: Callable[[], Metrics], stop: Callable[[], None]) -> None:
        while not self._ended.wait(_LOOK_SECONDS):
            if self.is_due(metrics()):
                log.info("partitions were added to the source: stopping to move streams there")
                self.decided = True
                return stop()

    def _added(self) -> bool:
        begun = partitions_begun(self.file)
        if begun is None:
            return False
        client = client_of(self.file.connection(), self.file.pipeline.source.generation)
        source = client.topic(self.file.pipeline.source.topic)
        return source is not None and source.partitions > begun


def _say(done: Repartitioned, path: Path) -> None:
    if done.after is None:
        log.info("streams have moved to added partitions, as was begun")
    else:
        log.info("%s", done.moves_in_words)
    if done.unread_in_words is not None:
        log.warning("%s", done.unread_in_words)
