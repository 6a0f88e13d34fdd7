"""Stage 0: give all rows of a user one virtual value, by which stage 1 groups them."""

import numpy as np

from fugu.operators.anonymity.records import Table
from fugu.operators.anonymity.taxonomy import Taxonomy
from fugu.operators.mechanism import Integers


def virtual_values(table: Table, taxonomy: Taxonomy, height: int) -> Integers:
    """Return the virtual value of each row, as an index in the taxonomy.

    It is the value of the user's row with the largest level that is `height` at most, the first row
    on ties; where no row has such a value, the category of the user's first row. A virtual value is
    a key to group by, and may be no ancestor of the value of a row: it is never released or tested.

    >>> from fugu.operators.anonymity.records import Record
    >>> taxonomy = Taxonomy.from_tree({"Disease": {"Virus": ["Dengue"], "Lung": None}})
    >>> dengue, lung = taxonomy.index("Dengue"), taxonomy.index("Lung")
    >>> table = Table.of([Record(0, (), dengue), Record(0, (), lung), Record(1, (), dengue)])
    >>> [taxonomy.names[value] for value in virtual_values(table, taxonomy, 2)]
    ['Lung', 'Lung', 'Virus']

    Source: anonymisation specification, section 2 (`sav`), with the corrections of section 8: users
    are grouped over the whole table, and ties go to the first row.
    """
    categories = taxonomy.categories(height)
    levels = taxonomy.levels[table.values]
    score = np.where(levels <= height, levels, 0)
    rows = np.arange(len(table))
    order = np.lexsort((rows, -score, table.users))
    users, first = np.unique(table.users[order], return_index=True)
    best = order[first]
    # The category of a value at or above the height is the value itself.
    return categories[table.values[best]][np.searchsorted(users, table.users)]
