"""Notice that the schema registry does not say what it is asked for, so that records wait."""

from collections.abc import Iterable
from dataclasses import dataclass

from fugu.dataflows.monitoring.notices import Kind, Notice
from fugu.dataflows.records.registered import Schemas


@dataclass(frozen=True)
class RegistryAway:
    """Look whether a registry has told schemas the last time that it was asked."""

    topic: str
    schemas: Schemas

    def notices(self, now: float) -> Iterable[Notice]:
        """Return what is to be said."""
        since = self.schemas.away_since
        if since is not None:
            text = (
                f"topic {self.topic}: records wait for a schema, and the registry at "
                f"{self.schemas.url} has told none for {now - since:.0f} s "
                f"({self.schemas.away_because})"
            )
            yield Notice(Kind.REGISTRY_AWAY, self.topic, None, text, still=True)
