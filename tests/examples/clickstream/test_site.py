"""The generated site: the same seeds give the same clicks, and they look like a clickstream."""

from collections import Counter
from hashlib import blake2b
from itertools import pairwise

from examples.clickstream.site import Site

SITE = Site(pages=500)


def test_the_same_seeds_give_the_same_clicks() -> None:
    clicks = Site(pages=500).clicks(visitors=50, seed=7)
    assert clicks == SITE.clicks(visitors=50, seed=7)
    assert blake2b(repr(clicks).encode(), digest_size=8).hexdigest() == "50e92143b399ee6a"


def test_other_seeds_give_other_clicks_on_the_same_site() -> None:
    assert SITE.clicks(visitors=50, seed=7) != SITE.clicks(visitors=50, seed=8)
    assert Site(pages=500).links == SITE.links
    assert Site(pages=500, seed=2).links != SITE.links
    assert Site(pages=500, tastes=0.3).links == SITE.links
    assert Site(pages=500, tastes=0.3).clicks(50, seed=7) != SITE.clicks(50, seed=7)


def test_few_pages_have_most_clicks_and_visitors_follow_links() -> None:
    clicks = SITE.clicks(visitors=2_000, seed=7)
    assert clicks == sorted(clicks)
    often = Counter(click.page for click in clicks)
    assert 0.05 < often[0] / len(clicks) < 0.25
    assert sum(often[page] for page in range(50)) > 0.5 * len(clicks)
    visits: dict[tuple[int, int], list[int]] = {}
    for click in clicks:
        visits.setdefault((click.visitor, click.visit), []).append(click.page)
    steps = [(before, after) for pages in visits.values() for before, after in pairwise(pages)]
    followed = sum(after in SITE.links[before] for before, after in steps) / len(steps)
    assert 0.5 < followed < 0.8
    lengths = Counter(len(pages) for pages in visits.values())
    assert lengths[1] > lengths[5] > lengths[15] > 0
