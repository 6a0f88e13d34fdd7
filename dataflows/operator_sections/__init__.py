"""The `operator` section of a pipeline file: one typed section for each family of mechanisms."""

from typing import Annotated

from pydantic import Field

from dataflows.operator_sections.adaptive import AdaptiveOperator, ColdStartOperator
from dataflows.operator_sections.aggregates import AggregateOperator, WEventOperator
from dataflows.operator_sections.alphabets import AlphabetOperator
from dataflows.operator_sections.distances import PlacedSymbols
from dataflows.operator_sections.markov import BatchedMarkovOperator, MarkovOperator
from dataflows.operator_sections.numbers import LaplaceOperator
from dataflows.operator_sections.policies import PolicyOperator
from dataflows.operator_sections.real_time import RealTimeOperator
from dataflows.operator_sections.real_time_local import LocalRealTimeOperator
from dataflows.operator_sections.responses import RandomizedResponseOperator
from dataflows.operator_sections.temporal import TemporalOperator

ChargedOperator = (
    MarkovOperator
    | BatchedMarkovOperator
    | AdaptiveOperator
    | ColdStartOperator
    | RandomizedResponseOperator
    | LaplaceOperator
)
"""Operators that know what a release costs, and can have a budget."""

Operator = Annotated[
    ChargedOperator
    | TemporalOperator
    | WEventOperator
    | PolicyOperator
    | RealTimeOperator
    | LocalRealTimeOperator,
    Field(discriminator="kind"),
]

__all__ = [
    "AdaptiveOperator",
    "AggregateOperator",
    "AlphabetOperator",
    "BatchedMarkovOperator",
    "ChargedOperator",
    "ColdStartOperator",
    "LaplaceOperator",
    "LocalRealTimeOperator",
    "MarkovOperator",
    "Operator",
    "PlacedSymbols",
    "PolicyOperator",
    "RandomizedResponseOperator",
    "RealTimeOperator",
    "TemporalOperator",
    "WEventOperator",
]
