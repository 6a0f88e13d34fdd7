"""Write the table of faults into `docs/guarantees.md`."""

from tests.privacy.faults.table import GUARANTEES, written

GUARANTEES.write_text(written())
