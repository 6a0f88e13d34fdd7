"""Recognise series of real-time release that go on with the exact account of their noise.

Implementations 1 and 2 turned epsilon and delta into a budget by zero-concentrated DP, the first
one without what finite precision adds to delta. The exact account pays for more. A series that one
of them began goes on with what it spent. Each of its values has at most the steps that today's
schedule gives it, and there are no more values than that schedule has: so values before and after
cost together no more than those of a series that begins today.

One exception is left: where rounding left something over, a former series may have had a few values
more than its horizon. It is over then. Its own promise holds, but sums over pipelines leave out the
delta of those draws, 3e-15 each.

Source: continual release specification, section 4.
"""

from typing import Literal

from fugu.operators.realtime.account import Account, account_of, paid_by
from fugu.operators.realtime.local_release import LocalRealTimeRelease
from fugu.operators.realtime.real_time_release import RealTimeRelease
from fugu.operators.realtime.zcdp import units_of_rho

Former = Literal[1, 2]
"""Numbers an implementation."""


def law_digest_before(
    mechanism: RealTimeRelease | LocalRealTimeRelease, implementation: Former
) -> bytes | None:
    """Return the digest of a former implementation; None where its states cannot go on.

    >>> release = RealTimeRelease(1, 1, 1, epsilon=1.0, delta=1e-6, horizon=10)
    >>> law_digest_before(release, 2).hex()[:16]
    '9283086da1b849c1'
    """
    if isinstance(mechanism, LocalRealTimeRelease):
        series = law_digest_before(mechanism.series, implementation)
        return series and mechanism.law_digest_of(implementation, series)
    account = account_before(mechanism, implementation)
    if account is None or not mechanism.account.covers(account):
        return None
    return mechanism.law_digest_of(implementation, account.budget)


def account_before(release: RealTimeRelease, implementation: Former) -> Account | None:
    """Return the account of a former implementation; None where it refused the budget."""
    epsilon, delta = release.epsilon, release.delta
    try:
        if implementation == 1:
            return paid_by(units_of_rho(epsilon, delta), release.shared, release.period)
        return account_of(
            epsilon, delta, share=release.shared, values=release.period, convert=units_of_rho
        )
    except ValueError:
        return None
