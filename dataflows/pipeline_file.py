"""The pipeline file: YAML, checked strictly; every error names the line and what to write instead.

Paths in the file (alphabet, model, state directory, secret file) are relative to the file itself.
"""

from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import BaseModel, ValidationError

from dataflows.config import Pipeline
from dataflows.errors import ConfigurationError, UnusableField
from dataflows.kafka.connection import Connection


class PipelineFile:
    """A pipeline together with where it was read from."""

    def __init__(self, path: Path, pipeline: Pipeline, root: yaml.Node) -> None:
        self.path = path
        self.pipeline = pipeline
        self._root = root

    def resolve(self, relative: str) -> Path:
        """A path that the file mentions."""
        return (self.path.parent / Path(relative).expanduser()).resolve()

    def connection(self) -> Connection:
        """How to reach Kafka, its files and environment variables read."""
        try:
            return self.pipeline.kafka.connection(self.resolve)
        except UnusableField as error:
            line = _line_of(self._root, ["kafka", "security", error.field])
            raise ConfigurationError(f"{self.path}:{line}: kafka.security.{error}") from None

    def replacing(self, pipeline: Pipeline) -> "PipelineFile":
        """The same file with another content, to try something out."""
        return PipelineFile(self.path, pipeline, self._root)

    @classmethod
    def read(cls, path: Path) -> "PipelineFile":
        """Read and check a pipeline file; `ConfigurationError` lists all problems by line."""
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigurationError(
                f"{path}: cannot be read ({_reason(error)}). Give the path of a pipeline file."
            ) from None
        try:
            root = yaml.compose(text, Loader=yaml.SafeLoader)
            document = yaml.safe_load(text)
            duplicate = _duplicate_key(root)
        except yaml.YAMLError as error:
            raise ConfigurationError(f"{path}{_yaml_problem(text, error)}") from None
        except RecursionError:
            raise ConfigurationError(
                f"{path}: refers to itself or is nested too deeply; write it without anchors (&, *)"
            ) from None
        if not isinstance(root, yaml.MappingNode):
            raise ConfigurationError(
                f"{path}: is not a pipeline file; it starts with a line such as  name: heart-zones"
            )
        if duplicate is not None:
            raise ConfigurationError(
                f"{path}:{duplicate.start_mark.line + 1}: {duplicate.value} is written twice; "
                "delete one of the two"
            )
        try:
            return cls(path, Pipeline.model_validate(document, context=path.parent), root)
        except ValidationError as error:
            problems = [_problem(path, root, dict(item)) for item in error.errors()]
            raise ConfigurationError("\n".join(dict.fromkeys(problems))) from None


def _reason(error: Exception) -> str:
    return error.strerror or "" if isinstance(error, OSError) else "it is not UTF-8 text"


def _yaml_problem(text: str, error: yaml.YAMLError) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark:
        line, problem = error.problem_mark.line, error.problem
    else:
        line = text.count("\n", 0, getattr(error, "position", 0))
        problem = "it holds a control character; delete it"
    return f":{line + 1}: is not valid YAML ({problem})"


def _duplicate_key(node: yaml.Node | None) -> yaml.ScalarNode | None:
    if isinstance(node, yaml.SequenceNode):
        children: list[yaml.Node] = node.value
    elif isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, _ in node.value:
            if key.value in seen:
                return key  # type: ignore[no-any-return]
            seen.add(key.value)
        children = [value for _, value in node.value]
    else:
        return None
    return next(filter(None, map(_duplicate_key, children)), None)


def _problem(path: Path, root: yaml.MappingNode, item: dict[str, Any]) -> str:
    location = [part for part in item["loc"] if isinstance(part, int) or part in _KNOWN_KEYS]
    if item["type"] == "extra_forbidden":
        location = [*[part for part in item["loc"][:-1] if part in _KNOWN_KEYS], item["loc"][-1]]
    if item["type"] in ("union_tag_invalid", "union_tag_not_found"):
        location.append("kind")
    name = ".".join(str(part) for part in location) or "the file"
    line = _line_of(root, location)
    return f"{path}:{line}: {name}: {_advice(item)}"


def _advice(item: dict[str, Any]) -> str:
    kind, context = item["type"], item.get("ctx", {})
    if kind == "extra_forbidden":
        close = get_close_matches(str(item["loc"][-1]), _KNOWN_KEYS, n=1)
        return "unknown key" + (f"; did you mean {close[0]}?" if close else "; delete it")
    if kind == "union_tag_invalid":
        return f"there is no {context['tag']!r}; write one of {context['expected_tags']}"
    if kind in ("missing", "union_tag_not_found"):
        return "is required; add it"
    if kind == "value_error":
        return str(context["error"])
    if kind == "string_pattern_mismatch":
        return "use letters, digits, dot, underscore and minus only, at most 249 of them"
    message = str(item["msg"][0].lower() + item["msg"][1:])
    if kind == "string_type":
        return message + "; put quotes around it if it is meant as text"
    if kind == "model_type":
        return "write a section: keys of its own, indented, one on each line"
    return message


def _line_of(root: yaml.Node, location: list[str | int]) -> int:
    node, line = root, root.start_mark.line
    for part in location:
        if isinstance(node, yaml.MappingNode):
            found = next(((k, v) for k, v in node.value if k.value == str(part)), None)
            if found is None:
                break
            line, node = found[0].start_mark.line, found[1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int):
            node = node.value[part]
            line = node.start_mark.line
    return int(line) + 1


def _keys_of(annotation: object) -> set[str]:
    """Every key that may be written somewhere below."""
    keys = {key for argument in get_args(annotation) for key in _keys_of(argument)}
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        for name, field in annotation.model_fields.items():
            keys |= {name} | _keys_of(field.annotation)
    return keys


_KNOWN_KEYS = _keys_of(Pipeline)
