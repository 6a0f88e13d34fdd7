"""States of the version before are recognised: digests as that version computed them.

The pins are digests over (implementation, law digest) of all examples, made with that
version.
"""

import json
from hashlib import blake2b

import pytest

from fugu.operators.budget import Budgeted
from fugu.operators.mechanism import Mechanism
from fugu.operators.personal_cap import cap_of
from fugu.operators.realtime.real_time_release import RealTimeRelease
from fugu.operators.sip.adaptive_release import AdaptiveRelease
from fugu.operators.sip.batches.batched_release import BatchedRelease
from fugu.operators.sip.cold_start import ColdStart
from fugu.operators.sip.distances import Points
from fugu.operators.sip.markov_model import MarkovModel
from fugu.operators.upgrades.former_laws import former_implementation, former_law_digest
from tests.conformance.kinds import KINDS

MADE_BY_THE_VERSION_BEFORE = {
    "adaptive_crr": "424ba2bf0064010c5e37ce78d094f3e0",
    "backward_perturbation": "d928347a906bf85c558f9460898e0ef5",
    "batched_crr": "fb460c7f70131966ad9602d38721b4e1",
    "binary_tree": "1873fd4534bc4f6b962d2cba82d50960",
    "budget_absorption": "e01306dc293e84c477d43b5097b8d35d",
    "budget_distribution": "c345d58093bdb428c90db43d4a7adf31",
    "cold_start_crr": "3585b02fbf5ac0286dfc32f46a56d237",
    "crr": "a02b7163922437a8382d784475a5d377",
    "extended_threshold_perturbation": "7f2e4fd7235e846d0c00e4c549261c5f",
    "fast": "21f33b7253ff9d79a1249a83ae75f0b8",
    "forward_perturbation": "30b84b59a1557045e17828bc5ac1febc",
    "grr": "3fbd47dce32711c7012f8fce2d679089",
    "laplace": "eb0a8fe640b96950a40962e79d51c854",
    "oue": "134f4b3107a3219ef84f8fe6ae29c478",
    "paper_crr": "16dc57d217c0fe61a971392e6d350fc0",
    "pba": "87302c878c3e9c7934b5f80ac0433c18",
    "real_time": "529f77c6b41532316b883cf3b3eb55bd",
    "real_time_local": "0b31d2c93bb4e814b7020d3985b13649",
    "rescue_dp": "e351053dfe57d845f4a4c83c91ad0f9b",
    "sample": "c43925bf722c0a737d58eab3990b3ff2",
    "threshold_perturbation": "3cc970b4c2934a09b11847f42fafa4cd",
    "tinar_sample": "5adf883d1ccc2630bb0d2c8c8535072b",
    "tinar_uniform": "3f8c7833f7110c509e20d84de91cb3a9",
    "ts_budget_absorption": "44ae22f4865b769f00905ee5766fa9e2",
    "ts_budget_distribution": "d6aef69e9722f18be5f82dd7aa20ef62",
    "ts_sample": "be180a16ff86eee508bd0f1d1a6c466a",
    "ts_uniform": "55b1621cc0a9d6b85c2bbaa1a9c47cad",
    "unicorn": "364ab00b70664eca12062cef2ef7c8e0",
    "unicorn_is": "13bf020a8c7b0afec5b8d67b355e8560",
    "unicorn_ps": "5d406a4c99c1bda8c2937a320d15c00e",
    "uniform": "8ec461103207a85108e080c7793e2ae5",
}
OF_ANOTHER_LAW = {"forward_perturbation"}
"""The kind whose declared epsilon was drawn with a little more before, and is refused."""


def is_new(mechanism: Mechanism) -> bool:
    """Return whether a mechanism has what nothing of its kind had then.

    That is a cap, weights in turn, a history, points where releases repeat or begin cold, and lists
    with gaps, or of a model that is no dense matrix.
    """
    if isinstance(mechanism, RealTimeRelease) and (mechanism.weights or mechanism.history):
        return True
    if isinstance(mechanism, AdaptiveRelease | ColdStart):
        return isinstance(mechanism.distance, Points)
    batched = mechanism.mechanism if isinstance(mechanism, Budgeted) else mechanism
    if isinstance(batched, BatchedRelease):
        return batched.gaps is not None or not isinstance(batched.model, MarkovModel)
    return cap_of(mechanism) is not None


@pytest.mark.parametrize("kind", sorted(set(MADE_BY_THE_VERSION_BEFORE) - OF_ANOTHER_LAW))
def test_the_laws_of_the_version_before_are_recognised(kind: str) -> None:
    laws = [
        [former_implementation(example.mechanism), former_law_digest(example.mechanism).hex()]
        for example in KINDS[kind].examples()
        if not is_new(example.mechanism)
    ]
    pinned = blake2b(json.dumps(laws).encode(), digest_size=16).hexdigest()
    assert pinned == MADE_BY_THE_VERSION_BEFORE[kind]


def test_every_kind_of_the_version_before_goes_on() -> None:
    assert set(KINDS) >= set(MADE_BY_THE_VERSION_BEFORE)


@pytest.mark.parametrize("kind", KINDS)
def test_a_law_is_another_one_exactly_where_the_implementation_is(kind: str) -> None:
    for example in KINDS[kind].examples():
        mechanism = example.mechanism
        same = former_implementation(mechanism) == mechanism.implementation
        assert (former_law_digest(mechanism) == mechanism.law_digest()) == same
