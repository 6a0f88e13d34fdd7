"""Read policy documents in YAML or JSON; errors name line, policy and field."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from fugu.dataflows.base.errors import ConfigurationError, UnusableField
from fugu.dataflows.base.problems import Location
from fugu.dataflows.files.yaml_file import YamlFile
from fugu.dataflows.policies import building, limits
from fugu.dataflows.policies.owners import OwnerSection
from fugu.dataflows.policies.sections import DocumentSection, LimitsSection
from fugu.dataflows.policies.zones import zone, zone_info
from fugu.operators.swellfish.policy import Collection, Policy
from fugu.operators.swellfish.timeline import Policies


class PolicyDocument:
    """Hold policies together with whose they are."""

    def __init__(self, section: DocumentSection, collections: tuple[Collection, ...]) -> None:
        self.section = section
        self.policies = Policies(
            section.grid.milliseconds,
            building.query(section),
            collections,
            building.notice(section, collections),
            limits.declared(section.limits, section),
            limits.undeclared(section, collections),
            limits.noise(section),
        )
        self.zone = zone_info(section.grid.zone)
        self.owners = {one.name: one for _, owners in _owners(section) for one in owners}
        self._owners_of = {one.id: one.owners or [] for one in section.collections}
        self._default: str | None = None
        self._of_key: dict[bytes, str] = {}
        for collection in section.collections:
            if collection.applies_to.default:
                self._default = collection.id
            for key in collection.applies_to.keys or []:
                self._of_key[key.encode()] = collection.id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PolicyDocument) and self.section == other.section

    def collection_of(self, key: bytes) -> str | None:
        """Return the policies of the individual with this key, if any."""
        return self._of_key.get(key, self._default)

    def owners_of(self, collection: str) -> list[OwnerSection]:
        """Return whose signature counts for a collection; for a later one those who own all."""
        return [*(self.section.owners or []), *self._owners_of.get(collection, [])]

    def begin(self, tick: int) -> datetime:
        """Return when a tick begins, by the clock of the grid's zone."""
        return datetime.fromtimestamp(tick * self.policies.tick_milliseconds / 1000, self.zone)

    @classmethod
    def read(cls, path: Path) -> "PolicyDocument":
        """Read and check a document; `ConfigurationError` lists all problems by line."""
        file = YamlFile.read(path, "policy document", "version: 1")
        section = file.content(DocumentSection)
        found = [file.problem(*problem) for problem in _problems(section)]
        if not found:
            made = list(_made(section, file, found))
        if found:
            raise ConfigurationError("\n".join(found))
        return cls(section, tuple(made))


def _made(section: DocumentSection, file: YamlFile, found: list[str]) -> Iterator[Collection]:
    """Yield the collections with the policies that can be made; add problems to `found`."""
    for number, collection in enumerate(section.collections):
        policies: list[Policy] = []
        for place, one in enumerate(collection.policies):
            try:
                policies.append(building.policy(one, section))
            except UnusableField as error:
                parts = [int(part) if part.isdigit() else part for part in error.field.split(".")]
                location = ["collections", number, "policies", place, *parts]
                found.append(file.problem(location, error.advice))
        owned = bool(section.owners or collection.owners)
        own = limits.declared(collection.limits, section)
        yield Collection(collection.id, tuple(policies), owned, own)


def _problems(document: DocumentSection) -> Iterator[tuple[Location, str]]:
    """Yield what does not hold across the sections of a document, each problem with its place."""
    try:
        zone(document.grid.zone)
    except ValueError as error:
        yield ["grid", "zone"], str(error)
    else:
        yield from _limits([], document.limits, document)
        for number, one in enumerate(document.collections):
            yield from _limits(["collections", number], one.limits, document)
    yield from _two_of_a_name(document)
    first: dict[object, str] = {}
    for name, place, advice in _names(document):
        if name in first:
            yield ["collections", *place], first[name]
        else:
            first[name] = advice


def _limits(
    place: Location, section: LimitsSection | None, document: DocumentSection
) -> Iterator[tuple[Location, str]]:
    try:
        limits.declared(section, document)
    except UnusableField as error:
        yield [*place, "limits", error.field], error.advice


def _owners(document: DocumentSection) -> Iterator[tuple[Location, list[OwnerSection]]]:
    yield ["owners"], document.owners or []
    for number, one in enumerate(document.collections):
        yield ["collections", number, "owners"], one.owners or []


def _two_of_a_name(document: DocumentSection) -> Iterator[tuple[Location, str]]:
    """Yield owners whose name is that of another key: a signature names its owner."""
    known: dict[str, OwnerSection] = {}
    for place, owners in _owners(document):
        for number, one in enumerate(owners):
            if known.setdefault(one.name, one) != one:
                advice = f"{one.name} has another key elsewhere; every key needs a name of its own"
                yield [*place, number, "name"], advice


def _names(document: DocumentSection) -> Iterator[tuple[object, Location, str]]:
    """Yield all that may be written once, its place, and what to say of the same name later."""
    collections = list(enumerate(document.collections))
    for number, one in collections:
        yield ("collection", one.id), [number, "id"], f"collection {number + 1} has this id already"
    for number, one in collections:
        for place, policy in enumerate(one.policies):
            advice = f"policy {place + 1} of the collection has this id already"
            yield (number, policy.id), [number, "policies", place, "id"], advice
    for number, one in collections:
        for place, key in enumerate(one.applies_to.keys or []):
            advice = f"is a key of {one.id} already; every key has one collection"
            yield ("key", key), [number, "applies_to", "keys", place], advice
    for number, one in collections:
        if one.applies_to.default:
            advice = f"{one.id} is for everybody else already; write {{keys: [...]}}"
            yield "default", [number, "applies_to", "default"], advice
