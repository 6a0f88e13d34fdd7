"""Name the promise of grr as releases of version 0.1.0 name it: by its words."""

from hashlib import blake2b

import orjson

from fugu.operators.budget import Budgeted
from fugu.operators.mechanism import Mechanism


def former_guarantee_id(mechanism: Mechanism) -> bytes:
    """Return the id that version 0.1.0 gave to releases of grr, under a budget or not."""
    [guarantee] = mechanism.guarantees()
    words = {
        "notion": guarantee.notion,
        "epsilon": guarantee.epsilon,
        "delta": guarantee.delta,
        "per": guarantee.per,
        "protects": "one true symbol against any other",
        "relative_to": "no model: any prior, and any correlation within the stream",
        "composition": _composition(mechanism),
        "trust": "the pipeline sees raw values; readers of the sanitized topic do not",
        "assumptions": [
            "streams of different keys are independent of each other",
            "the keyed hash BLAKE2b is a pseudo-random function of the secret",
        ],
        "not_covered": [
            "when records arrive, how many there are, and which key they carry (a pseudonym at "
            "most)",
            "shares of symbols over many records, which are meant to be estimated",
            "refused records: that they were refused is public",
            "whoever obtains the secret can remove all randomness",
        ],
        "proof": "SIP specification, section 9; epsilon is exact for the words drawn",
        "finite_precision_delta": 0.0,
        "window": None,
        "sound": True,
    }
    return blake2b(orjson.dumps([words]), digest_size=8).hexdigest().encode()


def _composition(mechanism: Mechanism) -> str:
    if not isinstance(mechanism, Budgeted):
        return "n releases of one stream are n times epsilon private together"
    if mechanism.window is None:
        return "this is the sum over all releases of one stream, enforced by budget"
    return (
        f"any {mechanism.window} consecutive records of a stream spend at most "
        f"{mechanism.total:g} nats, which limits the rate and not the sum: everything spent over a "
        "stream's life still adds up"
    )
