"""The keys of a pipeline."""

from dataclasses import dataclass

from fugu.operators.randomness import Secret


@dataclass(frozen=True)
class Keys:
    """Hold the keys of one key epoch: for draws, which can be rotated, and for pseudonyms.

    Rotation replaces the noise key by K' = BLAKE2b-256(key = K, "ratchet") and counts the key
    epoch, a field of every draw. K' does not give K away: once K is destroyed, nobody can repeat
    the draws made with it. Pseudonyms have a sub-key of their own, so that a user keeps one name in
    a sink for ever.

    >>> keys = Keys.from_root(Secret(bytes(32)))
    >>> after = keys.rotated()
    >>> after.epoch, after.noise.check_value() == keys.noise.check_value()
    (1, False)
    >>> after.pseudonyms.check_value() == keys.pseudonyms.check_value()
    True

    Source: noise specification, section 5 (ratchet); design, section 4.5.
    """

    noise: Secret
    pseudonyms: Secret
    epoch: int

    @classmethod
    def from_root(cls, root: Secret) -> "Keys":
        """Return the keys of epoch 0."""
        return cls(root, root.derive("pseudonyms"), 0)

    def rotated(self) -> "Keys":
        """Return the keys of the next epoch."""
        return Keys(self.noise.ratchet(), self.pseudonyms, self.epoch + 1)
