"""Compare the noise of published numbers with the law that is declared."""

from collections.abc import Iterator

from fugu.dataflows.offline.auditing.audited import Check
from fugu.dataflows.offline.auditing.records.worlds import Start, StreamWorld
from fugu.dataflows.offline.auditing.shapes import DRAWS, follows
from fugu.dataflows.records.numbers import decimals_of
from fugu.operators.budget import without_budget
from fugu.operators.noise.number_release import NumberRelease

_NUMBER = 1
"""The column of the first published number."""
_SEED = 2**32, 0


def noise_checks(fresh: Start) -> Iterator[Check]:
    """Yield tests of the noise at both ends and in the middle of the range, if any is added."""
    release = without_budget(fresh.line.mechanism)
    if not isinstance(release, NumberRelease):
        return
    half = 0.5 * release.units_per_one * 10.0 ** -decimals_of(release.units_per_one)
    middle = (release.lower + release.upper) // 2
    numbers = {"least": release.lower, "middle": middle, "largest": release.upper}
    for name, number in numbers.items():
        seen = StreamWorld(fresh, (number,)).seen(DRAWS, _SEED, lambda runs: None)
        noise = seen[:, _NUMBER] * release.units_per_one - number
        yield follows(
            f"the noise on the {name} number follows the declared law",
            release.distribution(noise - half),
            release.distribution(noise + half),
        )
