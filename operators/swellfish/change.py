"""Changes of policies: one of a collection, a collection that comes, and keys that move."""

import json
from dataclasses import dataclass

from fugu.operators.swellfish.plain_data import PlainData
from fugu.operators.swellfish.policy import Collection, Policy


@dataclass(frozen=True)
class Change(PlainData):
    """Remove the policy with the id `removes` from a collection, add the policy `adds`, or both.

    It is in effect from tick `effective` on; with both, the policy that it adds replaces the one
    with the same id. `owner`: an owner of the collection has signed it, as number `sequence` of the
    own changes. `sent`: the tick at which it was written. Raises `ValueError` where it has neither
    policy, or two ids.

    >>> gone = Change("home", 7, removes="sauna", adds=None)
    >>> change_of(gone.to_bytes()) == gone
    True
    """

    collection: str
    effective: int
    removes: str | None
    adds: Policy | None
    owner: bool = False
    sequence: int = 0
    sent: int = 0

    def __post_init__(self) -> None:
        if self.removes is None and self.adds is None:
            raise ValueError("adds: must be a policy, or removes the id of one, or both")
        if self.removes is not None and self.adds is not None and self.removes != self.adds.id:
            raise ValueError("removes: must be the id of the policy that comes instead")

    @property
    def policy_id(self) -> str:
        """Return the id of the policy that it is about."""
        return self.removes or "" if self.adds is None else self.adds.id

    @property
    def key(self) -> str:
        """Return the key of its record."""
        return f"{self.collection}/{self.policy_id}"

    @property
    def subject(self) -> str:
        """Return what it is about, for messages."""
        return f"policy {self.policy_id}"

    @property
    def added(self) -> tuple[Policy, ...]:
        """Return all policies that it adds."""
        return () if self.adds is None else (self.adds,)


class AboutCollection:
    """Name what is about a whole collection."""

    collection: str

    @property
    def key(self) -> str:
        """Return the key of its record."""
        return self.collection

    @property
    def subject(self) -> str:
        """Return what it is about, for messages."""
        return f"collection {self.collection}"


@dataclass(frozen=True)
class NewCollection(AboutCollection, PlainData):
    """Make a collection of these policies, which count from tick `effective` on.

    If an owner of all collections has signed it, it is owned. Raises `ValueError` naming the field.
    """

    collection: str
    effective: int
    policies: tuple[Policy, ...]
    owner: bool = False
    sequence: int = 0
    sent: int = 0

    def __post_init__(self) -> None:
        Collection(self.collection, self.policies)

    @property
    def added(self) -> tuple[Policy, ...]:
        """Return all policies that it adds."""
        return self.policies


@dataclass(frozen=True)
class MovedKeys(AboutCollection, PlainData):
    """Give the people with these keys another collection, from tick `effective` on.

    Raises `ValueError` naming the field.
    """

    collection: str
    effective: int
    keys: tuple[str, ...]
    owner: bool = False
    sequence: int = 0
    sent: int = 0

    def __post_init__(self) -> None:
        if not self.keys or len(set(self.keys)) < len(self.keys):
            raise ValueError("keys: must be at least one, and each once")

    @property
    def added(self) -> tuple[Policy, ...]:
        """Return all policies that it adds: none."""
        return ()


AnyChange = Change | NewCollection | MovedKeys


def noticed(change: AnyChange, now: int, notice: int) -> int:
    """Return the tick from which on a change may take protection away.

    The notice begins when the change is known, and when it was sent, whichever is later. After a
    long silence the next tick is an old one, and nobody can object to what was sent since.
    """
    return max(change.effective, max(now, change.sent) + notice)


def change_of(content: bytes) -> AnyChange:
    """Read a change from JSON; `ValueError` names the policy and the field.

    Version 1 knew of no owners: a change without these members is that of a stranger.
    """
    try:
        data = json.loads(content)
    except ValueError:
        raise ValueError("change: must be JSON") from None
    if not isinstance(data, dict):
        raise ValueError("change: must be an object")
    data = {"owner": False, "sequence": 0, "sent": 0} | data
    if "policies" in data:
        return NewCollection.from_data(data)
    return MovedKeys.from_data(data) if "keys" in data else Change.from_data(data)
