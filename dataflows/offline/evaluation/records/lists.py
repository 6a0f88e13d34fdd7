"""Read releases that are lists record by record, as a reader has them.

A fresh list is about the last records of its stream, as many as it has symbols. A list that is
published again for want of budget says nothing new and comes with every record: its last symbol
stands for that record, as a repeated symbol does where releases are single. So every record counts
once, or not at all while it is held back.
"""

import numpy as np

from fugu.dataflows.offline.evaluation.run import Run
from fugu.dataflows.offline.evaluation.sample import Sample
from fugu.operators.mechanism import Kind, Releases


def record_by_record(sample: Sample, run: Run) -> Run:
    """Return one symbol for every record that something was published about."""
    by_stream = np.argsort(sample.streams[run.records], kind="stable")
    lists, kinds = run.releases.values[by_stream], run.kinds[by_stream]
    notes = {name: note[by_stream] for name, note in run.releases.annotations.items()}
    complete = np.flatnonzero(kinds == Kind.FRESH)
    symbols = lists[:, -1].copy()
    for back in range(1, lists.shape[1]):
        record = complete - back
        symbols[record] = lists[complete, -1 - back]
        kinds[record] = Kind.FRESH
        for note in notes.values():
            note[record] = note[complete]
    place = np.argsort(by_stream)
    releases = Releases(
        symbols[place], {name: note[place] for name, note in notes.items()}, kinds[place]
    )
    return Run(run.records, releases, run.spent, run.dead, run.held_back)
