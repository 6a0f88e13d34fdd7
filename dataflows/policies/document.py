"""The policy document: YAML or JSON, checked strictly; errors name line, policy and field."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from fugu.dataflows.base.errors import ConfigurationError, UnusableField
from fugu.dataflows.files.yaml_file import YamlFile
from fugu.dataflows.policies import building
from fugu.dataflows.policies.checks import problems
from fugu.dataflows.policies.sections import DocumentSection
from fugu.dataflows.policies.zones import zone_info
from fugu.operators.swellfish.policy import Collection, Policy
from fugu.operators.swellfish.timeline import Policies


class PolicyDocument:
    """Policies together with whose they are."""

    def __init__(self, section: DocumentSection, collections: tuple[Collection, ...]) -> None:
        self.section = section
        self.policies = Policies(section.grid.milliseconds, building.query(section), collections)
        self.zone = zone_info(section.grid.zone)
        self._default: str | None = None
        self._of_key: dict[bytes, str] = {}
        for collection in section.collections:
            if collection.applies_to.default:
                self._default = collection.id
            for key in collection.applies_to.keys or []:
                self._of_key[key.encode()] = collection.id

    def collection_of(self, key: bytes) -> str | None:
        """Return the policies of the individual with this key, if any."""
        return self._of_key.get(key, self._default)

    def begin(self, tick: int) -> datetime:
        """Return when a tick begins, by the clock of the grid's zone."""
        return datetime.fromtimestamp(tick * self.policies.tick_milliseconds / 1000, self.zone)

    @classmethod
    def read(cls, path: Path) -> "PolicyDocument":
        """Read and check a document; `ConfigurationError` lists all problems by line."""
        file = YamlFile.read(path, "policy document", "version: 1")
        section = file.content(DocumentSection)
        found = [file.problem(*problem) for problem in problems(section)]
        if not found:
            made = list(_made(section, file, found))
        if found:
            raise ConfigurationError("\n".join(found))
        return cls(section, tuple(made))


def _made(section: DocumentSection, file: YamlFile, found: list[str]) -> Iterator[Collection]:
    """The collections, as far as their policies can be made; what is wrong is `found`."""
    for number, collection in enumerate(section.collections):
        policies: list[Policy] = []
        for place, one in enumerate(collection.policies):
            try:
                policies.append(building.policy(one, section))
            except UnusableField as error:
                parts = [int(part) if part.isdigit() else part for part in error.field.split(".")]
                location = ["collections", number, "policies", place, *parts]
                found.append(file.problem(location, error.advice))
        yield Collection(collection.id, tuple(policies))
