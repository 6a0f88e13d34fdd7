"""Every kind of mechanism by its name, with small configured examples to try and to test it on.

One line in its family brings a new mechanism under the conformance suite, and another one says
which values its parameters must refuse.

>>> [kind for kind in KINDS if kind.endswith("crr")]
['adaptive_crr', 'batched_crr', 'cold_start_crr', 'crr', 'paper_crr']
>>> example = KINDS["crr"].examples()[0]
>>> example.mechanism.start(2)["spent"].tolist(), example.accepted.tolist()
([0, 0], [0, 1])
"""

from collections.abc import Mapping
from typing import Any

from fugu.operators.registry import aggregates, numbers, payloads, policies, series, symbols
from fugu.operators.registry.example import Example, Kind

_FAMILIES = (symbols, numbers, payloads, aggregates, policies, series)

KINDS: Mapping[str, Kind] = {
    name: kind for family in _FAMILIES for name, kind in family.KINDS.items()
}

UNUSABLE: Mapping[type[Any], Mapping[str, tuple[float, ...]]] = {
    mechanism: values for family in _FAMILIES for mechanism, values in family.UNUSABLE.items()
}
"""For every number that configures a mechanism, values that no example may be given instead."""

__all__ = ["KINDS", "UNUSABLE", "Example", "Kind"]
