"""Every kind of mechanism by its name, found in the modules under `tests/operators`.

A module there brings a mechanism under the conformance suite by its top-level `EXAMPLES`, and says
by its `UNUSABLE` which values the mechanism's parameters must refuse; both have their types in
`example`. Such a module does not import this one.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.conformance.example import Example

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Kind:
    """Hold a class of mechanisms and how to configure a few of it."""

    mechanism: type[Any]
    configure: Callable[[type[Any]], tuple[Example, ...]]

    def examples(self) -> tuple[Example, ...]:
        """Configure the examples, freshly each time."""
        return self.configure(self.mechanism)


def _declared(name: str) -> Iterator[tuple[type[Any], Any]]:
    for path in sorted(ROOT.joinpath("tests", "operators").rglob("*.py")):
        if re.search(rf"^{name}\b", path.read_text(), re.MULTILINE):
            module = import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
            yield from getattr(module, name).items()


def _found() -> Iterator[tuple[str, Kind]]:
    for mechanism, configure in _declared("EXAMPLES"):
        yield mechanism.kind, Kind(mechanism, configure)


def _by_key(pairs: Iterator[tuple[Any, Any]]) -> dict[Any, Any]:
    found = sorted(pairs, key=lambda pair: str(pair[0]))
    keys = [key for key, _ in found]
    assert len(set(keys)) == len(keys), "declared twice"
    return dict(found)


KINDS: Mapping[str, Kind] = _by_key(_found())
UNUSABLE: Mapping[type[Any], Mapping[str, tuple[float, ...]]] = _by_key(_declared("UNUSABLE"))
