"""Name the users of a sink, without telling who they are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fugu.operators import compiled
from fugu.operators.byte_column import ByteColumn
from fugu.operators.keyed_prefix import WORTH_HASHING, KeyedPrefix
from fugu.operators.secret import Secret

_REMEMBERED = 100_000
"""The number of latest users whose pseudonyms are kept, where no compiled code makes them."""


@dataclass
class Pseudonyms:
    """Hash stream keys with a key of their own, `secret`, scoped to one sink topic."""

    secret: Secret
    sink: str
    _known: dict[bytes, bytes] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self._prefix = KeyedPrefix(self.secret, "fugu-pseudonym-v1", self.sink)

    def of(self, key: bytes) -> bytes:
        """Return 32 hexadecimal digits, the same for one key in one sink for ever."""
        return self.of_each([key])[0]

    def of_each(self, keys: Sequence[bytes]) -> Sequence[bytes]:
        """Return those of many keys: of a column at once, else of users who are remembered."""
        if isinstance(keys, ByteColumn) and len(keys) >= WORTH_HASHING and compiled.available():
            return self._prefix.names_of(keys)
        known = self._known
        try:
            return list(map(known.__getitem__, keys))
        except KeyError:
            new: Sequence[bytes] = list({key for key in keys if key not in known})
        if len(known) + len(new) > _REMEMBERED:
            known.clear()
        if len(known) < len(keys) or len(new) > len(keys) // 2:
            new = keys  # to find those that are known takes as long as to make them again
        names = list(self._prefix.names_of(new))
        known.update(zip(new, names, strict=True))
        return names if new is keys else list(map(known.__getitem__, keys))


@dataclass(frozen=True)
class Strangers:
    """Recognise keys by pseudonyms of them, by sink topic, under which they were released."""

    secret: Secret
    names: Mapping[str, Sequence[str]]

    def __call__(self, keys: Sequence[bytes]) -> list[bool]:
        """Return which keys have one of the pseudonyms."""
        found = [False] * len(keys)
        for sink, names in self.names.items():
            known = {name.encode() for name in names}
            own = Pseudonyms(self.secret, sink).of_each(keys)
            found = [one or name in known for one, name in zip(found, own, strict=True)]
        return found
