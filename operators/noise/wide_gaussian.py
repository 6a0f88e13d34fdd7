"""Draw the discrete Gaussian widely: 2^7 times one draw of the table, plus another one.

The deviation is 2^14 sqrt(2^14 + 1) grid steps, 128 times that of a single draw. So a step is 128
times smaller next to the noise, and so is what rounding costs. The law is that of a discrete
Gaussian of this deviation, but for a factor between 1 - 10^-300000 and 1 + 10^-300000.

>>> sample(np.array([[[0, 0]], [[2**63, 2**63]]], dtype=np.uint64).reshape(1, 2, 2)).tolist()
[[-11051]]

Source: continual release specification, section 3 (wide draws); Peikert 2010.
"""

import numpy as np

from fugu.operators.mechanism import Integers, Words
from fugu.operators.noise import gaussian_table as narrow
from fugu.operators.noise.gaussian_table import PRECISION

TIMES = 2**7
SQUARED_DEVIATION = 2 ** (2 * PRECISION) * (TIMES**2 + 1)
VARIANCE = SQUARED_DEVIATION - 9
"""The variance of the normal noise that draws are made of, in squared grid steps."""
DRAWS = 2
"""Count the draws of the table in one: coordinate j uses coordinates 2 j and 2 j + 1."""


def sample(words: Words) -> Integers:
    """Draw once for each two coordinates, which are the last axis but one."""
    drawn = narrow.sample(words)
    return np.asarray(TIMES * drawn[..., ::DRAWS] + drawn[..., 1::DRAWS])
