"""Privacy budget allocation at the user's side: a flagged report takes a silent tick's share."""

import numpy as np

from fugu.operators.mechanism import State
from fugu.operators.wevent.allocation import Booleans, Offer, Rule


class DonorAllocation(Rule):
    """Offer one share to every publication, and two to a flagged one that finds a donor.

    A tick that decides and does not publish becomes a donor. A flagged publication uses up the
    oldest donor of the last `window - 1` ticks, has the budget of both ticks, and silences the next
    tick, which neither decides nor publishes nor donates.

    Claim. As for `Rule`. Take a window that holds a publication with two shares. If the window does
    not hold its donor, which spends nothing, it holds the silenced tick, which spends nothing
    either. Both serve one publication only, so publications of a window spend at most one share per
    tick.

    >>> rule = DonorAllocation(window=3, epsilon=600)
    >>> state = rule.start(1)
    >>> for wish, flag in zip([1, 0, 0, 1, 1, 1, 1], [0, 0, 0, 0, 1, 0, 0]):
    ...     offer = rule.offer(state, np.array([flag > 0]))
    ...     published = (offer.publication > 0) & (wish > 0)
    ...     print(np.where(published, offer.publication, 0).tolist(), end="")
    ...     state = rule.settle(state, offer, published)
    [100][0][0][100][200][0][100]

    Source: PBA specification, section 3 (Fig. 6.3).
    """

    def _most(self) -> int:
        return 2 * self.window * self._share

    @property
    def largest(self) -> int:
        return 2 * self._share if self.window > 1 else self._share

    @property
    def _share(self) -> int:
        return self.epsilon // (2 * self.window)

    def start(self, rows: int) -> State:
        """Return also `donors`, which of the last `window - 1` ticks are, and `silenced`."""
        return {
            **super().start(rows),
            "donors": np.zeros((rows, self.window - 1), dtype=bool),
            "silenced": np.zeros(rows, dtype=bool),
        }

    def offer(self, state: State, flags: Booleans) -> Offer:
        """Offer one share or two; nothing, and no decision, at a silenced tick."""
        silenced = state["silenced"]
        absorbs = flags & state["donors"].any(axis=1) & ~silenced
        shares = np.where(silenced, 0, 1 + absorbs)
        offered = self._offer(shares * self._share, shares)
        return Offer(np.where(silenced, 0, offered.decision), offered.publication, offered.share)

    def settle(self, state: State, offer: Offer, published: Booleans) -> State:
        """Return also which ticks are donors now, and whether the next one is silenced."""
        donors, absorbs = state["donors"], published & (offer.share > 1)
        oldest = donors & (np.cumsum(donors, axis=1) == 1)
        donates = ~published & ~state["silenced"]
        return {
            **super().settle(state, offer, published),
            "donors": _followed(donors & ~(absorbs[:, None] & oldest), donates),
            "silenced": absorbs,
        }


def _followed(donors: Booleans, newest: Booleans) -> Booleans:
    """Forget the oldest tick of each row and append the newest."""
    return np.concatenate([donors, newest[:, None]], axis=1)[:, 1:].copy()
