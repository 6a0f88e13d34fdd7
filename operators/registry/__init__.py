"""Every kind of mechanism by its name, with small configured examples to try and to test it on.

One line in its family brings a new mechanism under the conformance suite, and another one says
which values its parameters must refuse.

>>> sorted(KINDS)
['adaptive_crr', 'backward_perturbation', 'batched_crr', 'binary_tree', 'budget_absorption', \
'budget_distribution', 'cold_start_crr', 'crr', 'extended_threshold_perturbation', 'fast', \
'forward_perturbation', 'grr', 'laplace', 'oue', 'paper_crr', 'pba', 'quantified', 'rescue_dp', \
'sample', 'threshold_perturbation', 'tinar_sample', 'tinar_uniform', 'ts_budget_absorption', \
'ts_budget_distribution', 'ts_sample', 'ts_uniform', 'unicorn', 'unicorn_is', 'unicorn_ps', \
'uniform']
>>> example = KINDS["crr"].examples()[0]
>>> example.mechanism.start(2)["spent"].tolist(), example.accepted.tolist()
([0, 0], [0, 1])
"""

from collections.abc import Mapping
from typing import Any

from operators.registry import aggregates, numbers, payloads, policies, symbols
from operators.registry.example import Example, Kind

_FAMILIES = (symbols, numbers, payloads, aggregates, policies)

KINDS: Mapping[str, Kind] = {
    name: kind for family in _FAMILIES for name, kind in family.KINDS.items()
}

UNUSABLE: Mapping[type[Any], Mapping[str, tuple[float, ...]]] = {
    mechanism: values for family in _FAMILIES for mechanism, values in family.UNUSABLE.items()
}
"""For every number that configures a mechanism, values that no example may be given instead."""

__all__ = ["KINDS", "UNUSABLE", "Example", "Kind"]
