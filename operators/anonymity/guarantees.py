"""The guarantee of anonymised windows: a crowd behind few known points, and no more."""

from math import inf

from fugu.operators.anonymity.limits import Limits
from fugu.operators.guarantee import Guarantee, Neighbours
from fugu.operators.points import RAW_VALUES_SEEN, SECRET, Point

KNOWN_POINTS = Point(
    "known-points",
    "an adversary who knows that a person is in the window, and at most {points:,} of the points "
    "of this person (places, each with its quantum of time), and nothing else",
)
KNOWN_POINTS_OF_ONE_RECORD = Point(
    "known-points-of-one-record",
    "an adversary who knows that a person is in the window, and at most {points:,} of the points "
    "of one record of this person (places, each with its quantum of time), and nothing else",
)
CROWD = Point(
    "crowd",
    "whatever points of one released trajectory the adversary knows, at least {people:,} different "
    "people of the window have a released trajectory with all of them",
)
CONFIDENCE = Point(
    "confidence",
    "among all released records that match what the adversary knows, no category of the sensitive "
    "value has a share above {numerator:,}/{denominator:,}",
)
LINKED_CROWD = Point(
    "linked-crowd",
    "where all records of a person match, at least {people:,} people of the window have as many "
    "records that match",
)
CHECKED = Point(
    "checked-before-publication",
    "four attacks (identity, attribute, similarity, correlated records) are tried on every window, "
    "with all knowledge of so many points, before it is published",
)
THE_REPAIR = Point(
    "fixed-point-of-the-repair",
    "points are removed until no knowledge is left that breaks a bound; the attacks are counted "
    "again from what is to be published. Anonymisation specification, sections 4 and 5",
)
THESIS_FAILS = Point(
    "thesis-table-fails",
    "the thesis's algorithm checks a group against rows that lose points later, counts records "
    "instead of people, and does not look at confidence: its own Table 4.3 is open to identity, "
    "attribute and similarity attacks. Anonymisation specification, section 7",
)
OWN_PLACE_AND_TIME = Point(
    "true-points",
    "points that are published are true: places and times of real people, unchanged",
)
ONE_WINDOW = Point(
    "one-window",
    "the windows of a stream are about different points of time; each promise is about one of them",
)
ONE_KEY_EACH = Point(
    "one-key-each",
    "one key for each person: several keys of one person count as several people in every crowd, "
    "and known points of all of them together may find the person",
)

_JOINED_RECORDS = Point(
    "joined-records",
    "knowledge of points of several records of one person: records that share a key can be joined, "
    "and few people may have all of these points",
)
_NOT_COVERED = (
    Point(
        "no-differential-privacy",
        "differential privacy: nothing is drawn but row keys and the order of rows, so no epsilon "
        "bounds what the presence or the data of one person change in the release",
    ),
    Point(
        "more-points",
        "knowledge of more points than stated: a few more are often enough to find one person",
    ),
    Point(
        "other-knowledge",
        "any other knowledge: that a person was not at a place, approximate places or times, the "
        "length of a trajectory, habits, the map, values of other people, or who else is in the "
        "window",
    ),
    Point(
        "suppressed-points",
        "knowledge of points that were suppressed: the adversary may know them too, and concludes "
        "from what was suppressed, or from a crowd that lacks them, that some records are not the "
        "person's",
    ),
    Point(
        "windows",
        "several windows together: they do not compose, and whoever intersects two releases about "
        "one person may find the person; this goes for overlapping windows and for other releases "
        "of the same data, too",
    ),
    Point(
        "homogeneity",
        "homogeneity below the stated share: a category may be as likely as the share allows, and "
        "so far more likely than in the whole population",
    ),
    Point(
        "coarser-categories",
        "what categories have in common: all records that match may have different categories of "
        "one kind, such as two infections, so that the kind is certain (a privacy height of 2 "
        "leaves nothing above but the root)",
    ),
    Point(
        "particular-values",
        "the difference between categories: one that is rare or grave is treated like any other",
    ),
    Point(
        "absence",
        "knowledge that somebody is absent: rows of people who are known not to be a person count "
        "in the crowd of this person",
    ),
    Point(
        "minimality",
        "an adversary who repeats the algorithm: it is deterministic, removes no more than it must "
        "in its order, and what it removed says something about what would have been seen",
    ),
    Point(
        "presence-in-the-window",
        "presence: that people, and how many, have records in the window, and that a window was "
        "suppressed, is public; a person who is known to be in it has one of its categories",
    ),
    Point(
        "colluding-records",
        "people who write records of invented people: who makes up the rest of a crowd knows which "
        "row of it is left",
    ),
    SECRET,
)


def anonymity_guarantee(
    limits: Limits, *, sound: bool = True, tick_milliseconds: int | None = None
) -> Guarantee:
    """Return what one window promises; epsilon is infinite, since none bounds what is learned.

    `tick_milliseconds` is the width of the window, which is one tick. `sound` is false for the
    thesis's algorithm, whose claim is known to fail.
    """
    share = limits.confidence
    adversary = KNOWN_POINTS_OF_ONE_RECORD if limits.linked else KNOWN_POINTS
    bounds = (
        CROWD.of(people=limits.people),
        CONFIDENCE.of(numerator=share.numerator, denominator=share.denominator),
        *((LINKED_CROWD.of(people=limits.people),) if limits.linked else ()),
    )
    return Guarantee(
        notion="anonymity",
        epsilon=inf,
        delta=0.0,
        per="window",
        neighbours=Neighbours("person", "contribution", "replaced-or-none", kept=()),
        adversary=adversary.of(points=limits.known_points),
        accounting=(*bounds, *((CHECKED,) if sound else ())),
        trust=RAW_VALUES_SEEN,
        assumptions=(ONE_WINDOW, OWN_PLACE_AND_TIME, ONE_KEY_EACH),
        not_covered=((_JOINED_RECORDS,) if limits.linked else ()) + _NOT_COVERED,
        proof=THE_REPAIR if sound else THESIS_FAILS,
        finite_precision_delta=0.0,
        window=1,
        tick_milliseconds=tick_milliseconds,
        sound=sound,
    )
