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
from functools import partial
from pathlib import Path

import orjson

from fugu.dataflows.base.errors import ConfigurationError, StartRefused
from fugu.dataflows.copies.moving import require_only_another_store
from fugu.dataflows.copies.owned import Owned
from fugu.dataflows.copies.planning import planned
from fugu.dataflows.copies.sole_member import sole_member
from fugu.dataflows.copies.takeover import Takeover
from fugu.dataflows.flows.given import Given
from fugu.dataflows.flows.sections import is_merged
from fugu.dataflows.flows.state_directories import root_directory, shard_directories
from fugu.dataflows.flows.state_in_kafka import find_state
from fugu.dataflows.flows.stopped_state import alone_in
from fugu.dataflows.flows.streams import StreamsPlan
from fugu.dataflows.flows.written_state import StoppedShard
from fugu.dataflows.kafka.client import Client, CopyWriter, identity_of
from fugu.dataflows.kafka.looking_client import LookingClient
from fugu.dataflows.kafka.source import StopFlag
from fugu.dataflows.pipeline.pipeline_file import PipelineFile
from fugu.dataflows.publishing.control_topic import find_control
from fugu.dataflows.publishing.lease import Leases
from fugu.dataflows.publishing.ledger_topic import find_ledger
from fugu.dataflows.state.directory import MOVED, StateDirectory
from fugu.dataflows.state.exchange import Exchange
from fugu.dataflows.state.fingerprint import Fingerprint
from fugu.dataflows.state.moved_state import MovedState
from fugu.dataflows.state.row_table import RowTable
from fugu.dataflows.state.state_topic import FINGERPRINT, StateTopic

COMMAND = "fugu state move"
_MILLISECONDS = 60_000
"""So long a copy waits that goes on after the command was killed in the last step."""


def move_back(old: PipelineFile, new: PipelineFile) -> int:
    """Move the state of OLD, in Kafka, to the directory of NEW; return how many streams it has."""
    if is_merged(old.pipeline) or old.pipeline.source.policies is not None:
        raise ConfigurationError(
            f"{old.path}: only states of single streams are moved back to disk for now"
        )
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
    state = find_state(client, pipeline, source, None, given.state_secret)
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
    assert isinstance(plan, StreamsPlan)
    source = made.client.topic(plan.fingerprint.source_topic)
    assert source is not None
    _require_partitions(new, plan.fingerprint)
    identity = f"{identity_of(plan.name)}.creation"
    with (
        sole_member(made.client, plan.name, source) as sole,
        closing(made.client.copy_writer(identity, _MILLISECONDS)) as writer,
    ):  # which ends what an attempt that was cut short has left open, before anybody waits for it
        takeover = Takeover(plan, made.client, made.state, "moving", _MILLISECONDS)
        known = range(plan.fingerprint.partitions)
        owned = takeover.owned(known, sole.member)
        _require_settled(owned)
        exchange, token = Exchange(root), secrets.token_hex(16)
        _write(exchange, new, plan, owned)
        names = [directory.path for directory in shard_directories(new)]
        exchange.decide(present, names, COMMAND, token)
        streams = sum(len(one.table) for one in owned)
        moved = MovedState(str(root.resolve()), socket.gethostname(), token, streams)
        _take_back(writer, made.state, owned, moved)
        sole.commit(writer, {one.partition: one.position for one in owned})
    return moved


def _present(root: Path, state: StateTopic) -> list[Path]:
    """Return directories that are to be put aside: those of a state that was moved into Kafka."""
    present = sorted(root.glob("shard-[0-9][0-9][0-9][0-9]"))
    begun = [path for path in present if not StateDirectory(path).is_empty]
    if begun and not _moved_from_here(root, state):
        raise StartRefused(
            f"{begun[0]} holds a state that was not moved into topic {state.topic.name}. Name an "
            "empty state.directory, or the one that the state was moved from."
        )
    return present


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


def _require_settled(owned: Sequence[Owned[RowTable]]) -> None:
    """Refuse what a copy has to end first: a directory does not say what was aborted."""
    tails = [one.partition for one in owned if any(account.tail for account in one.accounts)]
    if tails:
        raise StartRefused(
            f"partition {tails[0]}: a copy died, and what it had written has to come back with the "
            "same bytes. Start the pipeline, let it catch up, stop it with SIGTERM or Ctrl-C, and "
            "run this again. Nothing was changed."
        )
    if len({one.finished for one in owned}) > 1:
        raise StartRefused(
            "some partitions are finished, and others are not. Run the pipeline with --finish "
            "once more, and then this. Nothing was changed."
        )


def _write(
    exchange: Exchange, new: PipelineFile, plan: StreamsPlan, owned: Sequence[Owned[RowTable]]
) -> None:
    directories = shard_directories(new)
    steps = [output.sink_step for output in plan.outputs()]
    for shard, directory in enumerate(directories):
        fingerprint = _of_shard(plan.fingerprint, shard, len(directories))
        StoppedShard(
            fingerprint,
            {one.partition: one.table for one in owned},
            {one.partition: one.position for one in owned},
            {
                step: {one.partition: one.accounts[number].begin for one in owned}
                for number, step in enumerate(steps)
            },
            plan.steps[0],
            plan.stage_step,
        ).write(exchange, directory, (plan.stage.start, plan.stage.ends))


def _of_shard(whole: Fingerprint, shard: int, shards: int) -> Fingerprint:
    """Return the fingerprint of one shard, with what it says of its own partitions."""
    own = set(map(str, range(shard, whole.partitions, shards)))
    names = ("source_begin", "sink_begin", "dead_letters_begin", "ledger_begin", "upgraded_at")
    within = partial(_within, own)
    changed = {name: within(getattr(whole, name)) for name in names}
    rotated = [within(epoch) for epoch in whole.rotated_at]
    return whole.model_copy(
        update={**changed, "rotated_at": rotated, "shard": shard, "shards": shards}
    )


def _within(own: set[str], offsets: dict[str, int]) -> dict[str, int]:
    return {partition: offset for partition, offset in offsets.items() if partition in own}


def _take_back(
    writer: CopyWriter, state: StateTopic, owned: Sequence[Owned[RowTable]], moved: MovedState
) -> None:
    """Take all blocks back, and name the directory in every partition."""
    said = (FINGERPRINT, moved.written(state.topic.identity))
    for one in owned:
        records = [(key, None) for key in one.chain.keys]
        writer.put(state.topic.name, one.partition, [*records, said])


def _complete(client: Client, new: PipelineFile, state: StateTopic, moved: MovedState) -> None:
    """Put the directories in their places, once the topic says that they count."""
    root = root_directory(new).path
    exchange, here = Exchange(root), moved.directory == str(root.resolve())
    if here and exchange.is_decided(COMMAND, moved.token):
        _claim(client, new, exchange)
        (root / MOVED).unlink(missing_ok=True)
        exchange.finish()
    elif not here or any(directory.is_empty for directory in shard_directories(new)):
        raise moved.refusal(state.topic.name)


def _claim(client: Client, new: PipelineFile, exchange: Exchange) -> None:
    """Let the new directories alone go on, and no copy of one that was there before."""
    ledger = find_ledger(client, new.pipeline)
    control = find_control(client, new.pipeline, ledger)
    waiting = exchange.waiting()
    if control is None or len(waiting) < new.pipeline.state.shards:  # those are claimed already
        return
    stored = [(one, one.stored()) for one in waiting]
    units = {f"{one.path.stem}/{found.sink_identity}": one.path for one, found in stored if found}
    with closing(Leases(client, control, new.pipeline.name)) as leases:
        leases.take(units, over_any=True)
