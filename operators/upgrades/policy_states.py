"""States of strategies under policies before figures named the policies they were made with."""

from fugu.operators.columns import objects
from fugu.operators.mechanism import State
from fugu.operators.swellfish.chain import first_digest, next_digest
from fugu.operators.swellfish.strategy import PolicyStrategy


def with_digests(strategy: PolicyStrategy[object], old: State) -> State:
    """Return a state of implementation 1 with the digests of its policies.

    All changes so far are one link of the chain: figures of that version named none, so nobody can
    tell any more which tick knew of which. Policies, ledgers and releases stay what they are.

    >>> from fugu.operators.swellfish.household import HOUSEHOLD
    >>> from fugu.operators.swellfish.unicorn import Unicorn
    >>> unicorn = Unicorn(HOUSEHOLD, 1, 1.0)
    >>> old = {name: cells for name, cells in unicorn.start(1).items() if name != "policies"}
    >>> with_digests(unicorn, old)["policies"] == unicorn.start(1)["policies"]
    array([ True])
    """
    first = first_digest(strategy.timeline.digest())
    rows = zip(old["changes"].tolist(), old["tick"].tolist(), strict=True)
    digests = [next_digest(first, changes, tick) if changes else first for changes, tick in rows]
    return {**old, "policies": objects(digests)}
