"""Read files of sections and taxonomies, in YAML or JSON: every error names the line.

Reading takes seconds at most, whatever the file is: its size is limited, and so is the number of
its keys and values, in which what an alias (*) repeats is counted again.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import orjson
import yaml
from pydantic import ValidationError

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.base.problems import Location, problems_at_keys
from fugu.dataflows.base.section import INTEGERS, Section
from fugu.operators.anonymity.suppression import Taxonomy

Content = TypeVar("Content", bound=Section)


LARGEST_FILE = 4 * 2**20
MOST_NODES = 200_000


class _TooManyNodes(Exception):
    """Report that the file has more keys and values than are read."""


class _UnusableValue(yaml.MarkedYAMLError):
    """Report a value that YAML takes for something which it cannot be."""


class _Loader(yaml.SafeLoader):
    """Read 1e-6 as a number, which YAML 1.1 takes for a text, and no integer of more than 64 bits.

    Counts keys and values as they are composed, those of aliases as often as they are repeated.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._nodes = 0
        self._sizes: dict[yaml.Node, int] = {}

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Return the next node; raise `_TooManyNodes` as soon as there are."""
        before, repeats = self._nodes, self.check_event(yaml.AliasEvent)
        node = super().compose_node(parent, index)
        if node is None:
            return None
        if repeats and node not in self._sizes:
            raise RecursionError
        self._nodes += self._sizes[node] if repeats else 1
        self._sizes[node] = self._nodes - before
        if self._nodes > MOST_NODES:
            raise _TooManyNodes
        return node

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """Return what a node holds; raise `_UnusableValue` where it is not what it looks like."""
        try:
            value = super().construct_object(node, deep)
        except (ValueError, KeyError, AttributeError):
            kind = node.tag.rpartition(":")[2]
            problem = f"YAML takes a value for {kind}, and it is none"
            raise _UnusableValue(problem=problem, problem_mark=node.start_mark) from None
        if type(value) is int and value not in INTEGERS:
            problem = "an integer does not fit into 64 bits"
            raise _UnusableValue(problem=problem, problem_mark=node.start_mark)
        return value


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?[0-9]+[eE][-+]?[0-9]+$"), list("-+0123456789")
)


class YamlFile:
    """Hold the content of a file, and where each part of it stands."""

    def __init__(self, path: Path, document: object, root: yaml.MappingNode) -> None:
        self.path = path
        self._document = document
        self._root = root

    @classmethod
    def read(cls, path: Path, what: str, first_line: str, copy: Path | None = None) -> "YamlFile":
        """Read `what` a person believes to be in `path`, which begins like `first_line`.

        A `copy` is read in its place, which may have changed.
        """
        read = path if copy is None else copy
        try:
            if read.stat().st_size > LARGEST_FILE:
                raise ConfigurationError(
                    f"{path}: is larger than {LARGEST_FILE // 2**20} MiB, the most that is read. "
                    f"Is it a {what}? Long lists go into files of their own."
                )
            text = read.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigurationError(
                f"{path}: cannot be read ({_reason(error)}). Give the path of a {what}."
            ) from None
        try:
            document, root, duplicate = _json(text) if path.suffix == ".json" else _yaml(text)
        except orjson.JSONDecodeError as error:
            raise ConfigurationError(f"{path}:{error.lineno}: is not valid JSON") from None
        except yaml.YAMLError as error:
            raise ConfigurationError(f"{path}{_yaml_problem(text, error)}") from None
        except RecursionError:
            raise ConfigurationError(
                f"{path}: refers to itself or is nested too deeply; write it without anchors (&, *)"
            ) from None
        except _TooManyNodes:
            raise ConfigurationError(
                f"{path}: has more than {MOST_NODES:,} keys and values, with all that aliases (*) "
                "repeat, which is the most that is read. Write it without anchors (&, *), or "
                "split it; long lists go into files of their own."
            ) from None
        if not isinstance(root, yaml.MappingNode):
            raise ConfigurationError(
                f"{path}: is not a {what}; it starts with a line such as  {first_line}"
            )
        if duplicate is not None:
            raise ConfigurationError(
                f"{path}:{duplicate.start_mark.line + 1}: {duplicate.value} is written twice; "
                "delete one of the two"
            )
        return cls(path, document, root)

    @property
    def plain(self) -> dict[str, object]:
        """Return the content as it was read, unchecked."""
        assert isinstance(self._document, dict)
        return self._document

    def content(self, model: type[Content]) -> Content:
        """Return the checked content; `ConfigurationError` lists all problems by line."""
        try:
            return model.model_validate(self._document, context=self.path.parent)
        except ValidationError as error:
            found = [self.problem(*problem) for problem in problems_at_keys(error, model)]
            raise ConfigurationError("\n".join(dict.fromkeys(found))) from None

    def problem(self, location: Location, advice: str) -> str:
        """Write one line about the content at a place; entries of lists are called by their id."""
        node: yaml.Node | None = self._root
        line, names = self._root.start_mark.line, []
        for part in location:
            name, below = str(part), None
            if isinstance(node, yaml.MappingNode):
                for key, value in node.value:
                    if key.value == name:
                        line, below = key.start_mark.line, value
            elif isinstance(node, yaml.SequenceNode) and isinstance(part, int):
                below = node.value[part]
                line, name = below.start_mark.line, _id_of(below) or name
            node = below
            names.append(name)
        return f"{self.path}:{line + 1}: {'.'.join(names) or 'the file'}: {advice}"


Read = tuple[object, yaml.Node | None, yaml.ScalarNode | None]
"""The content of a file, its nodes, and a key that is there twice."""


def _yaml(text: str) -> Read:
    """Parse once; compare keys before merged ones (<<) come in between."""
    loader = _Loader(text)
    root = loader.get_single_node()
    duplicate = _duplicate_key(root)
    document = None if root is None else loader.construct_document(root)
    return document, root, duplicate


def _json(text: str) -> Read:
    """Parse JSON, which may be indented with tabs; YAML may not."""
    document = orjson.loads(text)
    root = _Loader(text.replace("\t", " ")).get_single_node()
    return document, root, _duplicate_key(root)


def _id_of(node: yaml.Node) -> str | None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == "id" and isinstance(value, yaml.ScalarNode):
                return str(value.value)
    return None


def _reason(error: Exception) -> str:
    return error.strerror or "" if isinstance(error, OSError) else "it is not UTF-8 text"


_QUOTING = yaml.composer.ComposerError, yaml.constructor.ConstructorError
"""Problems that quote what is in the file, which may be a password."""


def _yaml_problem(text: str, error: yaml.YAMLError) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark:
        line, problem = error.problem_mark.line, error.problem or ""
        before, quote, _ = problem.partition("'")
        if quote and isinstance(error, _QUOTING):
            problem = f"{before.strip()}; put quotes around a text that begins with *, & or !"
    else:
        line = text.count("\n", 0, getattr(error, "position", 0))
        problem = "it holds a control character; delete it"
    if isinstance(error, _UnusableValue):
        return f":{line + 1}: {problem}; put quotes around it to make it text"
    return f":{line + 1}: is not valid YAML ({problem})"


def _duplicate_key(node: yaml.Node | None) -> yaml.ScalarNode | None:
    if isinstance(node, yaml.SequenceNode):
        children: list[yaml.Node] = node.value
    elif isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                continue
            if key.value in seen:
                return key
            seen.add(key.value)
        children = [value for _, value in node.value]
    else:
        return None
    return next(filter(None, map(_duplicate_key, children)), None)


Tree = dict[str, object]
Problem = tuple[Location, str]
_DEEPEST = 50


def read_taxonomy(path: Path) -> Tree:
    """Return the tree in a file; `ConfigurationError` lists all problems by line.

        Disease:
          Virus infection: [Dengue, H1N1]
          Lung infection:

    What is below a name is another mapping, a list of names, or nothing. Every error names the
    line.
    """
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
