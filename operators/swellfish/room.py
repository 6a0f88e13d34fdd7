"""Limit how many bytes changes of policies take in the state of a stream."""

from fugu.operators.swellfish.change import AnyChange
from fugu.operators.swellfish.changes import Standings, size

LARGEST_CHANGES = 2**22
LARGEST_OF_COLLECTION = 2**16
OF_EACH_COLLECTION = 2**12
"""Bytes that a collection of the document may take, however much others take."""
MOST_MADE = 1_000
"""Collections that changes make."""


def require_room(change: AnyChange, standings: Standings, in_all: int) -> None:
    """Raise `ValueError` where a collection would take too much, or take it from others.

    Where there are owners, strangers fill half of what a collection may take, and nobody takes from
    owners. `standings` are those after the change, which take `in_all` bytes.
    """
    standing = standings[change.collection]
    own, reserved = size(standing), 0 if standing.made else OF_EACH_COLLECTION
    strangers = standing.owned and not change.owner
    most = LARGEST_OF_COLLECTION // 2 if strangers else LARGEST_OF_COLLECTION
    if own > most:
        raise ValueError(
            f"{change.subject}: changes of collection {change.collection} would take more than "
            f"{most:,} bytes; remove policies, or put them into the document"
        )
    if in_all > LARGEST_CHANGES and own > reserved and not change.owner:
        raise ValueError(
            f"{change.subject}: all changes would take more than {LARGEST_CHANGES:,} bytes, and "
            f"collection {change.collection} may take {reserved:,} then; remove policies, or put "
            "them into the document"
        )
    if sum(one.made for one in standings.values()) > MOST_MADE:
        raise ValueError(
            f"{change.subject}: more than {MOST_MADE:,} collections would be made by changes; put "
            "them into the document"
        )
