"""A change of the policies of a collection: one is added, removed, or replaced by another one."""

import json
from dataclasses import dataclass

from fugu.operators.swellfish.plain_data import PlainData, plain_json
from fugu.operators.swellfish.policy import Policy


@dataclass(frozen=True)
class Change(PlainData):
    """Remove the policy with the id `removes` from a collection, add the policy `adds`, or both.

    It is in effect from tick `effective` on; with both, the policy that it adds replaces the one
    with the same id. `owner` says that an owner of the collection has signed it. Raises
    `ValueError` where it has neither, or two ids.

    >>> Change.from_bytes(Change("home", 7, removes="sauna", adds=None, owner=True).to_bytes())
    Change(collection='home', effective=7, removes='sauna', adds=None, owner=True)
    """

    collection: str
    effective: int
    removes: str | None
    adds: Policy | None
    owner: bool = False

    def __post_init__(self) -> None:
        if self.removes is None and self.adds is None:
            raise ValueError("adds: must be a policy, or removes the id of one, or both")
        if self.removes is not None and self.adds is not None and self.removes != self.adds.id:
            raise ValueError("removes: must be the id of the policy that comes instead")

    @property
    def policy_id(self) -> str:
        """Return the id of the policy that it is about."""
        return self.removes or "" if self.adds is None else self.adds.id

    def to_bytes(self) -> bytes:
        """Encode it as JSON."""
        return plain_json(self.to_data())

    @staticmethod
    def from_bytes(change: bytes) -> "Change":
        """Read JSON; `ValueError` names the policy and the field."""
        try:
            data = json.loads(change)
        except ValueError:
            raise ValueError("change: must be JSON") from None
        return Change.from_data({"owner": False} | data if isinstance(data, dict) else data)
