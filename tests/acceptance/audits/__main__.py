"""Audit the named kinds, or all, and write the results of these beside those of the others."""

import sys

from tests.acceptance.audits.found import audited, stored
from tests.acceptance.audits.proofs import IN_NATS
from tests.acceptance.audits.written import write

chosen = sys.argv[1:] or list(IN_NATS)
new = {kind: audited(kind) for kind in chosen}
kept = [row for row in stored() if row.kind not in new]
write([*kept, *(row for rows in new.values() for row in rows)])
