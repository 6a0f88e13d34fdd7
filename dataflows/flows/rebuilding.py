"""Rebuild a state that was lost, from the source and what is published, or refuse to.

Only where every published release comes back to the byte, rows are known to have spent no less than
was released. The new directories are written beside where the old ones were and made to count
together; whoever was cut short does it once more.
"""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from fugu.dataflows.base.batches import Outgoing
from fugu.dataflows.base.errors import ConfigurationError, StartRefused
from fugu.dataflows.flows.first_start import own_begin, require_keys_without_a_past
from fugu.dataflows.flows.given import Given
from fugu.dataflows.flows.preparation import Preparation
from fugu.dataflows.flows.rebuilt_ledger import LedgerOf
from fugu.dataflows.flows.replaying import Replay, Replayed
from fugu.dataflows.flows.sections import reports_spending, stage_of
from fugu.dataflows.flows.state_directories import root_directory, shard_directories
from fugu.dataflows.flows.stopped_state import alone_in
from fugu.dataflows.flows.streams import StreamsPlan
from fugu.dataflows.kafka.client import Client
from fugu.dataflows.kafka.source import StopFlag
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.topics import Topics, find_topics
from fugu.dataflows.publishing.lease import Leases, find_control, unit_of
from fugu.dataflows.publishing.registration import refuse_a_second_sink
from fugu.dataflows.stages.stage import StreamStage
from fugu.dataflows.state.directory import StateDirectory
from fugu.dataflows.state.exchange import Exchange
from fugu.dataflows.state.fingerprint import Fingerprint
from fugu.dataflows.state.next_directory import write_directory

COMMAND = "fugu state rebuild"


@dataclass(frozen=True)
class Rebuilt:
    """Hold how many releases were compared, and how many streams made them."""

    releases: int
    streams: int


def rebuild(file: PipelineFile) -> Rebuilt | None:
    """Rebuild the state of a pipeline; finish what was cut short, and return None then."""
    if not file.pipeline.operator.releases_record_by_record:
        raise ConfigurationError(
            f"operator.kind: a state of {file.pipeline.operator.kind} cannot be rebuilt, because "
            "its releases do not follow the records of one partition one by one. Restore the state "
            "directory from a backup."
        )
    root = root_directory(file)
    root.path.mkdir(mode=0o700, parents=True, exist_ok=True)
    with alone_in(root):
        exchange, rebuilding = Exchange(root.path), Rebuilding.of(Given.by(file))
        with rebuilding.leases() as leases:
            rebuilt = None
            if not exchange.is_decided(COMMAND):
                _require_nothing_there(root)
                rebuilt = rebuilding.write(exchange, leases)
            if leases is not None:
                leases.take(rebuilding.units(exchange), over_any=True)
            exchange.finish()
    return rebuilt


def _require_nothing_there(root: StateDirectory) -> None:
    found = sorted(root.path.glob("shard-[0-9][0-9][0-9][0-9]"))
    there = next((path for path in found if not StateDirectory(path).is_empty), None)
    if there is not None:
        raise StartRefused(
            f"{there} holds a state already. If it is damaged (fugu state verify tells), move "
            f"{root.path} away, and run {COMMAND} again."
        )


@dataclass(frozen=True)
class Rebuilding:
    """Hold what a start would run: nothing of it is created or written by a look."""

    client: Client
    preparation: Preparation
    topics: Topics
    stage: StreamStage

    @classmethod
    def of(cls, given: Given) -> "Rebuilding":
        """Find the topics of a pipeline, and make its stage."""
        preparation = Preparation(given, StopFlag(), None, looking=True)
        pipeline, scope = preparation.pipeline, preparation.scope
        topics = find_topics(preparation.client, pipeline)
        admission = preparation.admission(topics.source)
        source = topics.source.identity
        stage = stage_of(pipeline, preparation.mechanism, scope, source, admission)
        return cls(given.client, preparation, topics, stage)

    @contextmanager
    def leases(self) -> Iterator[Leases | None]:
        """Give the leases of the pipeline, where claims are kept."""
        pipeline, ledger = self.preparation.pipeline, self.preparation.ledger
        control = find_control(self.client, pipeline, ledger)
        if control is None:
            yield None
            return
        with closing(Leases(self.client, control, pipeline.name)) as leases:
            yield leases

    def units(self, exchange: Exchange) -> dict[str, Path]:
        """Return what the new directories hold, which are not in their places yet."""
        return {
            unit_of(StateDirectory(path.with_suffix("")), self.topics.sink.identity): path
            for path in (directory.path for directory in exchange.waiting())
        }

    def write(self, exchange: Exchange, leases: Leases | None) -> Rebuilt:
        """Write the directories of all shards, and make them count."""
        self._refuse_another_past(exchange.root, leases)
        replayed = self._replayed(leases)
        self._complete_ledger(replayed)
        self._complete_dead_letters(replayed)
        tables = {partition: one.table for partition, one in replayed.items()}
        columns = self.stage.start, self.stage.ends
        directories = shard_directories(self.preparation.file)
        for shard, directory in enumerate(directories):
            fingerprint = self._fingerprint(shard, replayed)
            write_directory(exchange, directory, fingerprint, tables, columns)
        exchange.decide([], [directory.path for directory in directories], COMMAND)
        releases = sum(one.releases for one in replayed.values())
        return Rebuilt(releases, sum(map(len, tables.values())))

    def _refuse_another_past(self, root: Path, leases: Leases | None) -> None:
        """Refuse where something shows that there were releases elsewhere, or with other keys."""
        require_keys_without_a_past(self.preparation.scope.key_epoch, root)
        ledger = self.preparation.ledger
        if ledger is not None:
            refuse_a_second_sink(self.client, ledger, self.preparation.entry(self.topics))
        if leases is not None:
            leases.require_no_other_sink(self.topics.sink.identity)

    def _replayed(self, leases: Leases | None) -> dict[int, Replayed]:
        preparation, topics = self.preparation, self.topics
        claimed = leases is not None and leases.know(topics.sink.identity)
        publisher = preparation.publisher(topics.source)
        replay = Replay(
            preparation.client, topics, preparation.codec, self.stage, publisher, claimed
        )
        replayed = {number: replay.of(number) for number in range(topics.source.partitions)}
        if not any(one.releases for one in replayed.values()):
            raise ConfigurationError(
                f"topic {topics.sink.name} holds no release, so there is nothing to rebuild: "
                "start the pipeline"
            )
        return replayed

    def _fingerprint(self, shard: int, replayed: Mapping[int, Replayed]) -> Fingerprint:
        blank = self.preparation.fingerprint(self.topics, shard, StreamsPlan.steps)
        own, ledger = blank.own_partitions, self.preparation.ledger
        begins = {
            "source_begin": {str(p): replayed[p].source_next for p in own},
            "sink_begin": {str(p): replayed[p].sink_next for p in own},
            "dead_letters_begin": {str(p): replayed[p].dead_letters_next for p in own},
            "ledger_begin": own_begin(self.client, ledger, own),
        }
        return blank.model_copy(update=begins)

    def _complete_dead_letters(self, replayed: Mapping[int, Replayed]) -> None:
        """Write the dead letters that a crash has kept back, which no start makes any more."""
        with closing(self.client.writer()) as writer:
            for one in replayed.values():
                for outgoing in one.unsaid:
                    writer.write(self.topics.dead_letters.name, outgoing)
            writer.flush()

    def _complete_ledger(self, replayed: Mapping[int, Replayed]) -> None:
        """Write what streams had spent and the ledger does not say, or not any more.

        Refuse where it says more: the sink has lost releases.
        """
        ledger, pipeline = self.preparation.ledger, self.preparation.pipeline
        if ledger is None or not reports_spending(pipeline):
            return
        own = LedgerOf(pipeline.name, self.preparation.publisher(self.topics.source))
        newest = own.newest(self.client, ledger)
        own.refuse_more(ledger.name, newest, replayed)
        with closing(self.client.writer()) as writer:
            for partition, one in replayed.items():
                every = one.spending.items()
                said = {key: newest[key].value for key, _ in every if key in newest}
                due = [(key, entry) for key, entry in every if said.get(key) != entry[0]]
                writer.write(
                    ledger.name,
                    Outgoing(
                        partition=partition % ledger.partitions,
                        keys=[key for key, _ in due],
                        values=[value for _, (value, _, _) in due],
                        headers=[headers for _, (_, headers, _) in due],
                        timestamps=[timestamp for _, (_, _, timestamp) in due],
                    ),
                )
            writer.flush()
