"""Read a taxonomy of sensitive values: a tree in YAML, from the general to the particular.

    Disease:
      Virus infection: [Dengue, H1N1]
      Lung infection:

What is below a name is another mapping, a list of names, or nothing. Every error names the line.
"""

from collections.abc import Iterator
from pathlib import Path

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.base.problems import Location
from fugu.dataflows.files.yaml_file import YamlFile
from fugu.operators.anonymity.taxonomy import Taxonomy

Tree = dict[str, object]
Problem = tuple[Location, str]
_DEEPEST = 50


def read_taxonomy(path: Path) -> Tree:
    """Return the tree in a file; `ConfigurationError` lists all problems by line."""
    file = YamlFile.read(path, "taxonomy", "Disease:")
    found = [file.problem(*problem) for problem in problems_of(file.plain)]
    if found:
        raise ConfigurationError("\n".join(found))
    return file.plain


def problems_of(tree: object) -> Iterator[Problem]:
    """List what keeps a tree from being a taxonomy, each with its place."""
    if not isinstance(tree, dict):
        yield [], "write a tree: one name, and what is below it, indented"
        return
    if len(tree) != 1:
        yield (
            [],
            f"has {len(tree)} names at the top; write one above all others, such as Disease:",
        )
        return
    seen: dict[str, Location] = {}
    for place, name in _names(tree, []):
        if len(place) > _DEEPEST:
            yield place, f"is more than {_DEEPEST} levels deep"
            return
        if not isinstance(name, str) or not name:
            yield (
                place,
                "is no text: YAML reads a bare on, off, yes, no, null or 17 as something else; put "
                "quotes around it. Below a name stand names, a list of names, or nothing",
            )
        elif name in seen:
            yield place, f"{name} is in the tree already; give each name one place"
        else:
            seen[name] = place


def taxonomy_of(tree: Tree) -> Taxonomy:
    """Return the taxonomy of a tree without problems."""
    return Taxonomy.from_tree(tree)


def _names(below: object, place: Location) -> Iterator[tuple[Location, object]]:
    """Yield each name with its place, and whatever stands where a name belongs."""
    match below:
        case None:
            return
        case dict():
            for name, rest in below.items():
                yield [*place, name], name
                if isinstance(name, str):
                    yield from _names(rest, [*place, name])
        case list():
            for number, entry in enumerate(below):
                inside = [*place, number]
                if isinstance(entry, dict):
                    yield from _names(entry, inside)
                else:
                    yield inside, entry
        case _:
            yield place, None if not isinstance(below, str) else below
