"""Believe of a promise that others may have written only what can be computed again.

The id in the headers of releases is a digest of the guarantees, so nobody can put other ones in
their place. Where the promise holds its law, guarantees, text and numbers for estimates are
computed from it; where it does not, sentences are those that this version has for the points.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from functools import cache
from math import isclose
from pathlib import Path
from typing import Any

import orjson

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.pipeline.guarantee_data import (
    guarantee_data,
    guarantee_id,
    point_in_words,
    read_guarantee,
)
from fugu.dataflows.pipeline.guarantee_text import in_words
from fugu.dataflows.publishing.promise import Promise, depends_on_the_past
from fugu.operators.budget import without_budget
from fugu.operators.guarantee import Guarantee, Point
from fugu.operators.mechanism import Mechanism

_OPERATORS = "fugu.operators."
_UNEXPECTED = (AttributeError, KeyError, TypeError, ValueError)


class PromiseAlarm(UserWarning):
    """Warn that a promise says of itself what does not follow from its law."""


def checked_promise(
    promise: Promise, files: Mapping[str, Path] | None = None
) -> tuple[Promise, str | None]:
    """Return what can be believed of a promise, and what was not as it says, if anything.

    `files` are those that it does not hold. Raises `ConfigurationError` where neither the
    guarantees that it holds nor those of its law are the ones of its id.
    """
    told = _told(promise)
    try:
        mechanism = promise.mechanism(files)
    except ConfigurationError as error:
        if told is None:
            raise _not_believed(promise, "its law cannot be built") from None
        return _in_our_words(promise, told, str(error)), None
    computed = _computed(promise, mechanism)
    if _identity(computed) == promise.guarantee_id:
        return computed, _difference(promise, told, computed)
    if told is None:
        raise _not_believed(promise, "neither are those of its law")
    return _in_our_words(computed, told, "its law promises something else"), (
        f"the law in the promise {promise.guarantee_id} of {promise.pipeline} promises something "
        "else: another version of Fugu wrote it, or somebody else did. The guarantees that are "
        "shown are those of the id, and estimates use this law. Read the topic with the version "
        "that released it"
    )


def _not_believed(promise: Promise, because: str) -> ConfigurationError:
    return ConfigurationError(
        f"the promise {promise.guarantee_id} of {promise.pipeline} is not believed: its guarantees "
        f"are not those of its id, and {because}. Somebody else may have written it; find out who "
        "may write to the topic of promises"
    )


def _identity(promise: Promise) -> str:
    return guarantee_id([read_guarantee(one) for one in promise.guarantees]).decode()


def _told(promise: Promise) -> list[Guarantee] | None:
    """Return the guarantees that it holds; None where they are not those of its id."""
    try:
        told = [read_guarantee(one) for one in promise.guarantees]
    except _UNEXPECTED:
        return None
    return told if guarantee_id(told).decode() == promise.guarantee_id else None


def _computed(promise: Promise, mechanism: Mechanism) -> Promise:
    section = promise.section()
    return promise.model_copy(
        update={
            **_said(mechanism.guarantees()),
            "depends_on_the_past": depends_on_the_past(mechanism),
            "noise": section.noise,
            "estimator": dict(section.estimator(without_budget(mechanism))),
        }
    )


def _said(guarantees: Sequence[Guarantee]) -> dict[str, Any]:
    return {
        "guarantees": [orjson.loads(orjson.dumps(guarantee_data(one))) for one in guarantees],
        "text": "\n\n".join(map(in_words, guarantees)),
    }


def _in_our_words(promise: Promise, told: Sequence[Guarantee], because: str) -> Promise:
    said = _said([_reworded(one) for one in told])
    said["text"] += f"\n\nThis was not computed from the law: {because}."
    return promise.model_copy(update=said)


def _difference(promise: Promise, told: list[Guarantee] | None, computed: Promise) -> str | None:
    """Say what of a promise does not follow from its law."""
    numbers = promise.estimator, computed.estimator
    differs = [
        name
        for name, holds in (
            ("guarantees", told is not None),
            ("text", promise.text == computed.text),
            ("noise", promise.noise == computed.noise),
            ("depends_on_the_past", promise.depends_on_the_past == computed.depends_on_the_past),
            ("estimator", _same_numbers(*numbers)),
        )
        if not holds
    ]
    if not differs:
        return None
    return (
        f"the promise {promise.guarantee_id} of {promise.pipeline} says other things than follow "
        f"from its law ({', '.join(differs)}): another version of Fugu wrote it, or somebody else "
        "did. What is shown and used was computed from the law"
    )


def _same_numbers(one: Mapping[str, float], other: Mapping[str, float]) -> bool:
    return one.keys() == other.keys() and all(
        isclose(one[name], other[name], rel_tol=1e-9) for name in one
    )


def _reworded(guarantee: Guarantee) -> Guarantee:
    """Return a guarantee whose points have the sentences of this version."""
    changed = dict[str, Any]()
    for field in fields(guarantee):
        value = getattr(guarantee, field.name)
        if isinstance(value, Point):
            changed[field.name] = _own(value)
        elif isinstance(value, tuple):
            changed[field.name] = tuple(
                _own(one) if isinstance(one, Point) else one for one in value
            )
    return replace(guarantee, **changed)


def _own(point: Point) -> Point:
    """Return a point in the words of this version; of one that it does not know, the name."""
    numbers = dict(point.numbers)
    known = _sentences().get(point.name)
    if known is not None:
        try:
            known.of(**numbers).__str__()
            return known.of(**numbers)
        except (LookupError, ValueError, TypeError):
            pass
    listed = ", ".join(f"{name} {number:g}" for name, number in numbers.items())
    words = point.name.replace("-", " ") + (f" ({listed})" if listed else "")
    return point_in_words(point.name, words).of(**numbers)


@cache
def _sentences() -> Mapping[str, Point]:
    """Return the points that operators make, by their names; kinds have imported all of them."""
    modules = [module for name, module in list(sys.modules.items()) if name.startswith(_OPERATORS)]
    found = dict[str, Point]()
    for value in (value for module in modules for value in vars(module).values()):
        several = value if isinstance(value, tuple) else (value,)
        found |= {one.name: one for one in several if isinstance(one, Point)}
    return found
