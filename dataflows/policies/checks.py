"""What must hold across the sections of a policy document."""

from collections.abc import Iterable, Iterator

from fugu.dataflows.base.problems import Location
from fugu.dataflows.policies.sections import DocumentSection
from fugu.dataflows.policies.zones import zone


def problems(document: DocumentSection) -> Iterator[tuple[Location, str]]:
    """List all problems that are found, each with its place."""
    try:
        zone(document.grid.zone)
    except ValueError as error:
        yield ["grid", "zone"], str(error)
    collections = list(enumerate(document.collections))
    for first, again in _repeated((one.id, (number,)) for number, one in collections):
        yield ["collections", *again, "id"], f"collection {first[0] + 1} has this id already"
    for number, collection in collections:
        policies = enumerate(collection.policies)
        for first, again in _repeated((one.id, (place,)) for place, one in policies):
            location: Location = ["collections", number, "policies", *again, "id"]
            yield location, f"policy {first[0] + 1} of the collection has this id already"
    named = [
        (key, (number, place))
        for number, collection in collections
        for place, key in enumerate(collection.applies_to.keys or [])
    ]
    for first, (number, place) in _repeated(named):
        owner = document.collections[first[0]].id
        location = ["collections", number, "applies_to", "keys", place]
        yield location, f"is a key of {owner} already; every key has one collection"
    defaults = [number for number, one in collections if one.applies_to.default]
    for number in defaults[1:]:
        owner = document.collections[defaults[0]].id
        location = ["collections", number, "applies_to", "default"]
        yield location, f"{owner} is for everybody else already; write {{keys: [...]}}"


def _repeated(
    names: Iterable[tuple[str, tuple[int, ...]]],
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return where a name stands first, and where again."""
    first: dict[str, tuple[int, ...]] = {}
    for name, place in names:
        if first.setdefault(name, place) != place:
            yield first[name], place
