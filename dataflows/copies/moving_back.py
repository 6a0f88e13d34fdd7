"""Move a state from Kafka back to disk, with every budget.

The new directories are written beside the state directory's own, and a mark refuses all starts
there. Then one transaction takes every block of the state topic back, and says in every partition
where the state is now. Until it is committed copies go on, and nothing on disk does; from then on
it is the other way round. Whatever ends the command is harmless: it is run once more.
"""

import secrets
import socket
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self

import orjson

from fugu.dataflows.base.errors import ConfigurationError, StartRefused
from fugu.dataflows.copies.moving import require_only_another_store
from fugu.dataflows.copies.owned import Owned
from fugu.dataflows.copies.planning import Planned, planned
from fugu.dataflows.copies.sole_member import SoleMember, sole_member
from fugu.dataflows.copies.takeover import Takeover
from fugu.dataflows.flows.given import Given
from fugu.dataflows.flows.merging import MergingPlan
from fugu.dataflows.flows.partitions import PartitionsPlan
from fugu.dataflows.flows.plan import Plan
from fugu.dataflows.flows.policies import PoliciesPlan
from fugu.dataflows.flows.state_directories import (
    all_directories,
    merge_directory,
    policies_directory,
    root_directory,
    shard_directories,
)
from fugu.dataflows.flows.state_in_kafka import find_state
from fugu.dataflows.flows.stopped_state import alone_in
from fugu.dataflows.flows.written_state import StoppedMerge, StoppedReader, StoppedShard
from fugu.dataflows.kafka.client import Client, CopyWriter, Topic, identity_of
from fugu.dataflows.kafka.looking_client import LookingClient
from fugu.dataflows.kafka.source import StopFlag
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.publishing.lease import Leases, find_control
from fugu.dataflows.publishing.ledger_topic import find_ledger
from fugu.dataflows.state.directory import MOVED, StateDirectory
from fugu.dataflows.state.exchange import Exchange
from fugu.dataflows.state.fingerprint import Fingerprint
from fugu.dataflows.state.moved_state import MovedState
from fugu.dataflows.state.state_topic import FINGERPRINT, StateTopic

COMMAND = "fugu state move"
_MILLISECONDS = 60_000
"""So long a copy waits that goes on after the command was killed in the last step."""


def move_back(old: PipelineFile, new: PipelineFile) -> int:
    """Move the state of OLD, in Kafka, to the directory of NEW; return how many streams it has."""
    require_only_another_store(old, new)
    given, root = Given.by(old), root_directory(new)
    state = _state(given)
    root.path.mkdir(mode=0o700, parents=True, exist_ok=True)
    with alone_in(root):
        moved = state.moved() or _moved(old, new, state)
        _complete(given.client, new, state, moved)
        return moved.streams


def _state(given: Given) -> StateTopic:
    """Return the topic that has the state, or had it; nothing is created."""
    pipeline, client = given.file.pipeline, LookingClient(given.client)
    source = client.topic(pipeline.read_topic)
    state = find_state(client, pipeline, source, None, given.keys.pseudonyms, given.state_secret)
    if state is None:
        raise StartRefused(f"topic {pipeline.read_topic} does not exist, so there is no state")
    return state


def _moved(old: PipelineFile, new: PipelineFile, state: StateTopic) -> MovedState:
    """Write the directories, and then let the topic say that they count."""
    if state.stored() is None:
        raise StartRefused(f"topic {state.topic.name} holds no state; has the pipeline run yet?")
    root = root_directory(new).path
    present = _present(root, state)
    made = planned(old, StopFlag(), None)
    plan = made.plan
    _require_partitions(new, plan.fingerprint)
    identity = f"{identity_of(plan.name)}.creation"
    with (
        sole_member(made.client, plan.name, *_read_by(made)) as sole,
        closing(made.client.copy_writer(identity, _MILLISECONDS)) as writer,
    ):  # which ends what an attempt that was cut short has left open, before anybody waits for it
        streams, *_ = parts = [_Part.of(made, one, sole) for one in made.plans]
        _require_settled(parts)
        exchange, token = Exchange(root), secrets.token_hex(16)
        for part in parts:
            _write(exchange, new, part)
        names = [directory.path for directory in all_directories(new)]
        exchange.decide(present, names, COMMAND, token)
        count = sum(len(one.table) for one in streams.owned)
        moved = MovedState(str(root.resolve()), socket.gethostname(), token, count)
        for part in parts:
            part.take_back(writer, moved)
        sole.commit(writer, {part.plan.fingerprint.source_topic: part.positions for part in parts})
    return moved


@dataclass(frozen=True)
class _Part:
    """Hold what one dataflow has in the topic: all of its partitions, read back."""

    plan: Plan
    state: StateTopic
    owned: Sequence[Owned[Any]]

    @classmethod
    def of(cls, made: Planned, plan: Plan, sole: SoleMember) -> Self:
        """Read all partitions back."""
        state = made.state_of(plan)
        takeover = Takeover(plan, made.client, state, "moving", _MILLISECONDS, reads_on=False)
        topic, known = plan.fingerprint.source_topic, range(plan.fingerprint.partitions)
        return cls(plan, state, takeover.owned(known, sole.of(topic)))

    @property
    def positions(self) -> dict[int, int]:
        """Return the next offset of every partition."""
        return {one.partition: one.position for one in self.owned}

    def take_back(self, writer: CopyWriter, moved: MovedState) -> None:
        """Take all blocks back, and name the directory in every partition."""
        said = (FINGERPRINT, moved.written(self.state.topic.identity))
        taken_back = {
            self.state.place(one.partition): [*((key, None) for key in one.chain.keys), said]
            for one in self.owned
        }
        self.state.put(writer, taken_back)


def _read_by(made: Planned) -> list[Topic]:
    """Return the topics that the dataflows read."""
    topics = [made.client.topic(plan.fingerprint.source_topic) for plan in made.plans]
    return [topic for topic in topics if topic is not None]


def _present(root: Path, state: StateTopic) -> list[Path]:
    """Return directories that are to be put aside: those of a state that was moved into Kafka."""
    present = [*sorted(root.glob("shard-[0-9][0-9][0-9][0-9]")), *_beside(root)]
    begun = [path for path in present if not StateDirectory(path).is_empty]
    if begun and not _moved_from_here(root, state):
        raise StartRefused(
            f"{begun[0]} holds a state that was not moved into topic {state.topic.name}. Name an "
            "empty state.directory, or the one that the state was moved from."
        )
    return present


def _beside(root: Path) -> list[Path]:
    """Return the directories beside those of shards that are there."""
    return [path for name in ("merge", "policies") if (path := root / name).exists()]


def _moved_from_here(root: Path, state: StateTopic) -> bool:
    try:
        said = orjson.loads((root / MOVED).read_bytes())
    except (FileNotFoundError, orjson.JSONDecodeError):
        return False
    return isinstance(said, dict) and said.get("identity") == state.topic.identity


def _require_partitions(new: PipelineFile, fingerprint: Fingerprint) -> None:
    if new.pipeline.state.shards > fingerprint.partitions:
        raise ConfigurationError(
            f"{new.path}: state.shards: write at most {fingerprint.partitions}, which is how many "
            f"partitions {fingerprint.source_topic} had when the state began"
        )


def _require_settled(parts: Sequence[_Part]) -> None:
    """Refuse what a copy has to end first: a directory does not say what was aborted."""
    owned = [(part, one) for part in parts for one in part.owned]
    tails = [one for one in owned if any(account.tail for account in one[1].accounts)]
    if tails:
        part, one = tails[0]
        raise StartRefused(
            f"topic {part.plan.fingerprint.source_topic}, partition {one.partition}: a copy died, "
            "and what it had written has to come back with the same bytes. Start the pipeline, let "
            "it catch up, stop it with SIGTERM or Ctrl-C, and run this again. Nothing was changed."
        )
    if len({one.finished for one in parts[0].owned}) > 1:
        raise StartRefused(
            "some partitions are finished, and others are not. Run the pipeline with --finish "
            "once more, and then this. Nothing was changed."
        )


def _write(exchange: Exchange, new: PipelineFile, part: _Part) -> None:
    """Write the directories of a dataflow."""
    plan, owned = part.plan, part.owned
    common: dict[str, Any] = {
        "positions": part.positions,
        "ends": _ends(plan, owned),
        "source_step": plan.steps[0],
        "suffix": plan.suffix,
    }
    if isinstance(plan, MergingPlan):
        [merge] = owned
        StoppedMerge(
            fingerprint=plan.fingerprint,
            stage_step=plan.merge_step,
            state=merge.table.state,
            kept=plan.kept,
            **common,
        ).write(exchange, merge_directory(new))
    elif isinstance(plan, PoliciesPlan):
        reader = StoppedReader(fingerprint=plan.fingerprint, **common)
        reader.write(exchange, policies_directory(new))
    else:
        assert isinstance(plan, PartitionsPlan)
        directories = shard_directories(new)
        for shard, directory in enumerate(directories):
            StoppedShard(
                fingerprint=_of_shard(plan.fingerprint, shard, len(directories)),
                stage_step=plan.stage_step,
                tables={one.partition: one.table for one in owned},
                columns=(plan.stage.start, plan.stage.ends),
                **common,
            ).write(exchange, directory)


def _ends(plan: Plan, owned: Sequence[Owned[Any]]) -> dict[str, dict[int, int]]:
    """Return where every output ends for the partitions, by the step that writes it."""
    return {
        output.sink_step: {one.partition: one.accounts[number].begin for one in owned}
        for number, output in enumerate(plan.outputs())
    }


def _of_shard(whole: Fingerprint, shard: int, shards: int) -> Fingerprint:
    """Return the fingerprint of one shard, with what it says of its own partitions."""
    own = set(map(str, range(shard, whole.partitions, shards)))
    names = ("source_begin", "sink_begin", "dead_letters_begin", "ledger_begin")
    within = partial(_within, own)
    changed = {name: within(getattr(whole, name)) for name in names}
    rotated = [within(epoch) for epoch in whole.rotated_at]
    return whole.model_copy(
        update={**changed, "rotated_at": rotated, "shard": shard, "shards": shards}
    )


def _within(own: set[str], offsets: dict[str, int]) -> dict[str, int]:
    return {partition: offset for partition, offset in offsets.items() if partition in own}


def _complete(client: Client, new: PipelineFile, state: StateTopic, moved: MovedState) -> None:
    """Put the directories in their places, once the topic says that they count."""
    root = root_directory(new).path
    exchange, here = Exchange(root), moved.directory == str(root.resolve())
    if here and exchange.is_decided(COMMAND, moved.token):
        _claim(client, new, exchange)
        (root / MOVED).unlink(missing_ok=True)
        exchange.finish()
    elif not here or any(directory.is_empty for directory in all_directories(new)):
        raise moved.refusal(state.topic.name)


def _claim(client: Client, new: PipelineFile, exchange: Exchange) -> None:
    """Let the new directories alone go on, and no copy of one that was there before."""
    ledger = find_ledger(client, new.pipeline)
    control = find_control(client, new.pipeline, ledger)
    waiting = exchange.waiting()
    if control is None or len(waiting) < len(all_directories(new)):  # those are claimed already
        return
    stored = [(one, one.stored()) for one in waiting]
    units = {f"{one.path.stem}/{found.sink_identity}": one.path for one, found in stored if found}
    with closing(Leases(client, control, new.pipeline.name)) as leases:
        leases.take(units, over_any=True)
