"""Name fields inside of records: `zone`, `data.zone`, `readings[0].bpm`, `` `odd.name` ``.

A name goes through the program as its text in the pipeline file, made canonical. Where all names
of a pipeline are plain, a record is what JSON holds. Otherwise it is flattened: each text with what
its path leads to.

>>> flattened({"data": {"zone": "rest"}, "odd.name": 7}, ["data.zone", "`odd.name`", "data.at"])
{'data.zone': 'rest', '`odd.name`': 7}
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Annotated, Any

from pydantic import AfterValidator

Step = str | int
"""The name of a field of an object, or the place of an item in a list."""

_PART = re.compile(r"`(?P<quoted>(?:[^`]|``)+)`|(?P<plain>[^.\[\]`]+)")
_PLACE = re.compile(r"\[(?P<place>0|[1-9][0-9]{0,3})\]")
_SPECIAL = frozenset(".[]`")


@cache
def steps_of(text: str) -> tuple[Step, ...]:
    """Return the steps of a path; `ValueError` says what to write instead.

    >>> steps_of("readings[0].bpm"), steps_of("`a.b`.c")
    (('readings', 0, 'bpm'), ('a.b', 'c'))
    """
    steps: list[Step] = []
    at = 0
    while True:
        part = _PART.match(text, at)
        if part is None:
            raise ValueError(_advice(text))
        quoted = part["quoted"]
        steps.append(part["plain"] if quoted is None else quoted.replace("``", "`"))
        at = part.end()
        while place := _PLACE.match(text, at):
            steps.append(int(place["place"]))
            at = place.end()
        if at == len(text):
            return tuple(steps)
        if text[at] != ".":
            raise ValueError(_advice(text))
        at += 1


def _advice(text: str) -> str:
    quoted = text.replace("`", "``") or "name"
    return (
        "is no path to a field: write names with points between them and places of lists in "
        f"brackets, such as data.zone or readings[0].bpm. If it is one name, write `{quoted}`, "
        "in backticks, and quotes of YAML around them"
    )


def text_of(steps: Iterable[Step]) -> str:
    """Return the canonical text of a path.

    >>> text_of(("a.b", 0, "c"))
    '`a.b`[0].c'
    """
    text = ""
    for step in steps:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            odd = not step or not _SPECIAL.isdisjoint(step)
            text += "." * bool(text) + (f"`{step.replace('`', '``')}`" if odd else step)
    return text


def is_plain(text: str) -> bool:
    """Return whether a name is that of a field of the record itself, written as it is."""
    return _SPECIAL.isdisjoint(text)


def released_name(text: str) -> str:
    """Return the name under which a release shows a field: the last one of its path.

    >>> released_name("data.zone"), released_name("readings[0]"), released_name("`odd.name`")
    ('zone', 'readings', 'odd.name')
    """
    return next(step for step in reversed(steps_of(text)) if isinstance(step, str))


def holds(outer: str, inner: str) -> bool:
    """Return whether a field is another one, or holds it.

    >>> holds("data", "data.at"), holds("data.at", "data"), holds("data", "database")
    (True, False, False)
    """
    steps = steps_of(outer)
    return steps_of(inner)[: len(steps)] == steps


def flattened(record: dict[str, object], names: Iterable[str]) -> dict[str, object]:
    """Return what each of these paths leads to, where there is something."""
    found: dict[str, object] = {}
    for name in names:
        value: object = record
        for step in steps_of(name):
            if isinstance(step, str):
                if not isinstance(value, dict) or step not in value:
                    break
                value = value[step]
            else:
                if not isinstance(value, list) or step >= len(value):
                    break
                value = value[step]
        else:
            found[name] = value
    return found


def placed(values: Mapping[str, object]) -> dict[str, object]:
    """Return a record in which each path leads to its value; other items of lists are null.

    >>> placed({"data.zone": "rest", "data.hearts[1].bpm": 71})
    {'data': {'zone': 'rest', 'hearts': [None, {'bpm': 71}]}}
    """
    record: dict[str, object] = {}
    for name, value in values.items():
        steps, into = steps_of(name), record
        _place(into, steps, value)
    return record


def _place(into: Any, steps: tuple[Step, ...], value: object) -> None:
    first, rest = steps[0], steps[1:]
    if isinstance(first, int):
        into.extend([None] * (first + 1 - len(into)))
    if not rest:
        into[first] = value
        return
    there = into[first] if isinstance(first, int) else into.get(first)
    kind: type = dict if isinstance(rest[0], str) else list
    into[first] = there if isinstance(there, kind) else kind()
    _place(into[first], rest, value)


def _canonical(text: str) -> str:
    return text_of(steps_of(text))


FieldName = Annotated[str, AfterValidator(_canonical)]
"""A field of a record in a pipeline file: a name, or a path to it."""
