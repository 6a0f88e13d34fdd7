"""How compiled steps are compiled."""

import numpy as np
import pytest

from operators import compiled
from operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from tests.operators.compiled.equal_runs import beliefs, compare, dense

pytestmark = pytest.mark.skipif(not compiled.available(), reason="needs the extra fast")


def test_a_compiled_step_counts_no_arrays_and_makes_none() -> None:
    from operators.compiled import crr

    rng = np.random.default_rng(1)
    mechanism = ConditionalRandomizedResponse(dense(3, rng), 1.0)
    compare(mechanism, beliefs(3, rng)[0], seed=1)
    machine_code = vars(crr)["_run"].inspect_asm()
    assert machine_code
    assert not any("NRT_" in code for code in machine_code.values())
