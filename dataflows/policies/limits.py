"""Build the limits of changes from the sections of a policy document."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction

from fugu.dataflows.base.errors import UnusableField
from fugu.dataflows.policies.building import query
from fugu.dataflows.policies.fields import Threshold
from fugu.dataflows.policies.sections import DocumentSection, LimitsSection
from fugu.dataflows.policies.zones import zone
from fugu.operators.swellfish.bounds import usual
from fugu.operators.swellfish.limits import UNDECLARED, Limits, Noise
from fugu.operators.swellfish.policy import Collection


def declared(section: LimitsSection | None, document: DocumentSection) -> Limits:
    """Return the limits that a section declares; `UnusableField` names the one that is wrong."""
    if section is None:
        return UNDECLARED
    noise, added, interval = section.noise, section.added, section.interval
    return Limits(
        demand=None if noise is None else _demand("noise", noise, document),
        added=None if added is None else _demand("added", added, document),
        interval=None if interval is None else _ticks(interval, document),
        policies=section.policies,
    )


def undeclared(document: DocumentSection, collections: Sequence[Collection]) -> Limits:
    """Return the limits where nothing is declared; a day is as long as clocks make it."""
    policies = [collection.policies for collection in collections]
    limits = usual(policies, query(document), document.grid.milliseconds)
    return replace(limits, interval=max(limits.longest, _ticks(timedelta(days=1), document)))


def noise(document: DocumentSection) -> Noise:
    """Return how noise is written: in the unit of the query."""
    of_one = Fraction(document.query.resolution) / Fraction(document.epsilon)
    return Noise(float(of_one), document.query.unit or "")


def _demand(field: str, threshold: Threshold, document: DocumentSection) -> int:
    """Return what noise of this scale is in units, times epsilon."""
    number, unit = threshold
    if unit is not None and unit != document.query.unit:
        expected = document.query.unit
        written = "without one" if expected is None else f"in {expected}, as query.unit says"
        raise UnusableField(field, f"is in another unit than the query; write it {written}")
    resolution: Decimal = document.query.resolution
    return int(Fraction(number) * Fraction(document.epsilon) / Fraction(resolution))


def _ticks(local: timedelta, document: DocumentSection) -> int:
    """Return how many ticks a span of local clocks touches at most, when they are put back."""
    clocks = zone(document.grid.zone)
    return (local + timedelta(seconds=clocks.most - clocks.least)) // document.grid.tick + 2
