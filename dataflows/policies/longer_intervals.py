"""Say which added policies have longer intervals than delta counts ticks.

Today's changes cannot add any. Version 0.1.0 admitted them, and a state that it left may hold some.
"""

from collections.abc import Iterator

from fugu.operators.swellfish.timeline import Policies


def longer_intervals(policies: Policies, changes: bytes) -> Iterator[str]:
    """Yield a warning for each of them, with numbers."""
    for collection, admitted in policies.admitted(changes).items():
        for one in admitted:
            ticks = one.policy.when.longest(policies.tick_milliseconds)
            if ticks > policies.longest:
                yield (
                    f"policies: {collection}/{one.policy.id} has intervals of up to {ticks:,} "
                    f"ticks, and the delta that is stated counts {policies.longest:,}: within "
                    f"these intervals it is up to {ticks / policies.longest:.3g} times as much. An "
                    "earlier version admitted the policy; remove it if that is too much"
                )
