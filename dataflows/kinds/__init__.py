"""The `operator` section of a pipeline file: one typed section for each family of mechanisms."""

from typing import Annotated

from pydantic import Field

from fugu.dataflows.kinds.adaptive import AdaptiveOperator, ColdStartOperator
from fugu.dataflows.kinds.aggregates import AggregateOperator, WEventOperator
from fugu.dataflows.kinds.alphabets import AlphabetOperator
from fugu.dataflows.kinds.distances import PlacedSymbols
from fugu.dataflows.kinds.markov import BatchedMarkovOperator, MarkovOperator
from fugu.dataflows.kinds.numbers import LaplaceOperator
from fugu.dataflows.kinds.policies import PolicyOperator
from fugu.dataflows.kinds.real_time import RealTimeOperator
from fugu.dataflows.kinds.real_time_local import LocalRealTimeOperator
from fugu.dataflows.kinds.responses import RandomizedResponseOperator
from fugu.dataflows.kinds.temporal import TemporalOperator

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
