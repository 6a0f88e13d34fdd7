"""Write everything that shows the results of audits."""

from collections.abc import Sequence

from fugu.dataflows.kinds import KINDS
from tests.acceptance.audits import page
from tests.acceptance.audits.found import RESULTS, Row, store
from tests.acceptance.audits.picture import save
from tests.acceptance.audits.summary import summaries
from tests.acceptance.audits.tables import results

PAGE = RESULTS.with_suffix(".md")
PICTURE = RESULTS.parents[3] / "docs" / "pictures" / "audits.png"


def write(rows: Sequence[Row]) -> None:
    """Write results, the pages with them and the picture, kinds in the order of the README."""
    ordered = sorted(rows, key=lambda row: list(KINDS).index(row.kind))
    store(ordered)
    PAGE.write_text(results(ordered))
    page.GUARANTEES.write_text(page.written(ordered))
    save(summaries(ordered), PICTURE)
