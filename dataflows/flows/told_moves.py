"""Tell the merge of an aggregate that people are in other partitions, once that is decided.

The entries of the internal log are written into the state directory before the decision, and into
the log behind it. Whoever was cut short writes them once more: the merge takes each in once. The
merge keeps its directory, and so its ledger of budgets: it reads in the log what has changed.
"""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from fugu.dataflows.base.batches import Outgoing
from fugu.dataflows.base.errors import StartRefused
from fugu.dataflows.flows.log_seal import LogSeal
from fugu.dataflows.flows.state_directories import merge_directory, policies_directory
from fugu.dataflows.kafka.client import Client
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.secrets import read_keys
from fugu.dataflows.stages.log_entries import MOVED_KEY
from fugu.dataflows.state.durable_file import replace_durably
from fugu.dataflows.state.row_block import read, written

_FILE = "moved-people"


@dataclass(frozen=True)
class ToldMoves:
    """Hold entries for the internal log, which is a `topic`, and what `reading` is from now on."""

    topic: str
    identity: str
    reading: str
    timestamp: int = 0
    entries: Sequence[bytes] = ()

    def keep(self, root: Path) -> None:
        """Write them down, durably."""
        header = {
            "topic": self.topic,
            "identity": self.identity,
            "reading": self.reading,
            "timestamp": self.timestamp,
            "entries": list(map(len, self.entries)),
        }
        replace_durably(root / _FILE, written(header, self.entries))

    @classmethod
    def kept(cls, root: Path) -> "ToldMoves":
        """Return what was written down; `StartRefused` if that is gone."""
        try:
            header, body = read((root / _FILE).read_bytes())
        except FileNotFoundError:
            raise StartRefused(
                f"{root / _FILE} is missing, which the merge is to be told. Restore the state "
                "directory from a backup, and run this once more; it completes what was begun."
            ) from None
        entries = body.take_each(header["entries"])
        place = (header["topic"], header["identity"], header["reading"])
        return cls(*place, header["timestamp"], entries)

    def tell(self, client: Client, file: PipelineFile) -> None:
        """Write them into the log, and let the merge and the reader of policies go on with it."""
        topic = client.topic(self.topic)
        if topic is None or topic.identity != self.identity:
            raise StartRefused(
                f"topic {self.topic} (sink.partials) is not the one that people were moved over. "
                "Restore it, and run this once more; it completes what was begun."
            )
        count = len(self.entries)
        outgoing = Outgoing(
            partition=0,
            keys=[MOVED_KEY] * count,
            values=self.entries,
            headers=[[] for _ in self.entries],
            timestamps=[self.timestamp] * count,
        )
        if count:
            seal = LogSeal(read_keys(file).pseudonyms, file.pipeline.name, self.identity)
            with closing(client.writer()) as writer:
                writer.write(self.topic, seal.onto(outgoing))
                writer.flush()
        for directory in (merge_directory(file), policies_directory(file)):
            stored = directory.stored()
            if stored is not None and stored.reading != self.reading:
                directory.replace(stored.model_copy(update={"reading": self.reading}))

    @staticmethod
    def forget(root: Path) -> None:
        """Delete what was written down, and told."""
        (root / _FILE).unlink(missing_ok=True)
