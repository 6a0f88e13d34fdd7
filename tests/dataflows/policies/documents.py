"""A policy document as text, so that tests can name the line an error must name."""

from pathlib import Path

import pytest

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.policies.document import PolicyDocument

EXAMPLE = Path(__file__).parents[3] / "examples/household/policies.yaml"

DOCUMENT = """\
version: 1
grid: {tick: PT10M, zone: Europe/Berlin}
query: {kind: sum, unit: kW, cap: 14.5, resolution: 0.01}
epsilon: 1.0
activities: [boiler, stove]
collections:
  - id: household
    applies_to: {default: true}
    policies:
      - id: shower
        activities: [boiler]
        calendar: {days: [mon, fri], start: "06:00", end: "09:00"}
        pattern: {duration: PT10M}
        theta: 2.2 kW
      - id: holiday
        interval: {start: 2026-07-18T12:00, end: 2026-07-18T13:00}
        pattern: {ticks: 2}
        theta: [1, 3.5]
  - id: shop
    applies_to: {keys: [meter-1, meter-2]}
    policies: []
"""


def with_change(old: str, new: str) -> str:
    """The document above with one piece of its text replaced."""
    assert DOCUMENT.count(old) == 1, f"{old!r} must occur exactly once"
    return DOCUMENT.replace(old, new)


def read(directory: Path, text: str = DOCUMENT, name: str = "policies.yaml") -> PolicyDocument:
    """Write a document and read it as `fugu` does."""
    path = directory / name
    path.write_text(text)
    return PolicyDocument.read(path)


def read_error(directory: Path, text: str, name: str = "policies.yaml") -> str:
    """The error about a document, with its path shortened to its name."""
    with pytest.raises(ConfigurationError) as caught:
        read(directory, text, name)
    return str(caught.value).replace(f"{directory}/", "")
