"""Say in a state topic that its state is on disk again, so that no copy goes on with it."""

from dataclasses import asdict, dataclass

import orjson

from fugu.dataflows.base.errors import StartRefused

_MOVED = "moved"


@dataclass(frozen=True)
class MovedState:
    """Name the directory that a state was moved to, the attempt that did it, and its streams."""

    directory: str
    host: str
    token: str
    streams: int

    def written(self, topic_identity: str) -> bytes:
        """Return the record that takes the place of a fingerprint."""
        return orjson.dumps({"topic": topic_identity, _MOVED: asdict(self)})

    @classmethod
    def of(cls, content: bytes | None) -> "MovedState | None":
        """Read the record of a fingerprint; None where the state was not moved."""
        try:
            said = None if content is None else orjson.loads(content)
            return cls(**said[_MOVED]) if isinstance(said, dict) and _MOVED in said else None
        except (orjson.JSONDecodeError, TypeError):
            return None

    def refusal(self, topic: str) -> StartRefused:
        """Return what is raised where a copy would go on with the state."""
        return StartRefused(
            f"topic {topic}: the state was moved to disk, to directory {self.directory} on "
            f"{self.host}. Start the pipeline file that says state.store: disk there; if fugu "
            "state move was cut short, run it once more. To move the state into Kafka again, name "
            "another topic (state.topic), or delete this one before."
        )
