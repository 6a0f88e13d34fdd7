"""A change of the policies of a collection: one is added, removed, or replaced by another one.

>>> Change.from_data({"collection": "family", "effective": 7, "removes": "sauna", "adds": None})
Change(collection='family', effective=7, removes='sauna', adds=None)
"""

import json
from dataclasses import dataclass
from typing import Any

from fugu.operators.swellfish.plain_data import integer, members, plain_json, text
from fugu.operators.swellfish.policy import Policy


@dataclass(frozen=True)
class Change:
    """Of a collection, from a tick on: the policy with the id `removes` goes, the policy `adds`
    comes; with both, one replaces the other."""

    collection: str
    effective: int
    removes: str | None
    adds: Policy | None

    def __post_init__(self) -> None:
        if self.removes is None and self.adds is None:
            raise ValueError("adds: must be a policy, or removes the id of one, or both")

    @property
    def policy_id(self) -> str:
        """Of the policy that it is about; of the one that comes, if there are two."""
        return self.removes or "" if self.adds is None else self.adds.id

    def to_bytes(self) -> bytes:
        """JSON."""
        return plain_json(self.to_data())

    @staticmethod
    def from_bytes(change: bytes) -> "Change":
        """Raises `ValueError` naming the policy and the field."""
        try:
            data = json.loads(change)
        except ValueError:
            raise ValueError("change: must be JSON") from None
        return Change.from_data(data)

    def to_data(self) -> dict[str, Any]:
        """Plain JSON data."""
        return {
            "collection": self.collection,
            "effective": self.effective,
            "removes": self.removes,
            "adds": None if self.adds is None else self.adds.to_data(),
        }

    @staticmethod
    def from_data(data: object) -> "Change":
        """Raises `ValueError` naming the policy and the field."""
        given = members(data, "collection", "effective", "removes", "adds")
        return Change(
            text("collection", given["collection"]),
            integer("effective", given["effective"]),
            None if given["removes"] is None else text("removes", given["removes"]),
            None if given["adds"] is None else Policy.from_data(given["adds"]),
        )
