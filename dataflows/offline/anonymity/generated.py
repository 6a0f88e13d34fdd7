"""Make windows up: people who share ways through a town, each with detours of their own."""

from random import Random

from fugu.dataflows.kinds import AnonymizeOperator
from fugu.dataflows.stages.windows import Point, WindowPeople, WindowTable, written_points
from fugu.operators.anonymity.suppression import Taxonomy

_WAYS, _PLACES, _STOPS = 6, 12, 8
_DETOURS = 0.25
"""The share of points at which somebody is elsewhere."""
_CROWD = 20
"""So many times K people are in a window, and at least this many."""
_FEWEST = 200


def generated(operator: AnonymizeOperator, windows: int, seed: int) -> list[WindowTable]:
    """Return windows of made-up people with the sensitive values of the taxonomy's leaves."""
    return [_window(operator, Random(f"{seed} {window}")) for window in range(windows)]


def _window(operator: AnonymizeOperator, random: Random) -> WindowTable:
    quanta = operator.ticks.width // operator.quantum
    stops = min(_STOPS, quanta, operator.max_points)
    people = min(max(_FEWEST, _CROWD * operator.K), operator.max_people)
    ways = [
        {at: random.randrange(_PLACES) for at in random.sample(range(quanta), stops)}
        for _ in range(_WAYS)
    ]
    leaves = _leaves(operator.tree)
    keys, contents = list[bytes](), list[bytes]()
    for who in range(people):
        value, points = random.choice(leaves), list[Point]()
        for quantum, place in random.choice(ways).items():
            there = random.randrange(_PLACES) if random.random() < _DETOURS else place
            points.append((quantum, quantum, value, f"place {there}"))
        keys.append(b"person %d" % who)
        contents.append(written_points(points))
    return WindowTable.of([WindowPeople(0, 0, keys, contents)])


def _leaves(taxonomy: Taxonomy) -> list[int]:
    inner = set(taxonomy.parents)
    return [place for place in range(len(taxonomy.names)) if place not in inner]
