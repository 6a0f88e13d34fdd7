"""Every victim in turn."""

import pytest

from tests.privacy.attacks.pipelines import VICTIMS, Victim


@pytest.fixture(params=VICTIMS, ids=[victim.name for victim in VICTIMS])
def victim(request: pytest.FixtureRequest) -> Victim:
    chosen: Victim = request.param
    return chosen
