"""What is read from columns of bytes by compiled code is what the codec reads from lists."""


import pytest

from fugu.operators import compiled
from tests.dataflows.records.scanned.reading import (
    CODECS,
    batch_of,
    is_read_alike,
    read_differently,
)

pytestmark = pytest.mark.skipif(not compiled.available(), reason="needs the extra fast")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_columns_are_read_as_lists(seed: int) -> None:
    batch = batch_of(seed, 1_500)
    for codec in CODECS:
        assert is_read_alike(codec, batch), (codec, read_differently(codec, batch))
