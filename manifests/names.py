"""Names: slugs and unit ids, the only strings that become part of a path. Standard library only."""

from __future__ import annotations

import re
from dataclasses import dataclass

from manifests.errors import BeforehandError

SLUG_PATTERN = r"[a-z0-9][a-z0-9_-]{0,47}"


def is_slug(text: str) -> bool:
    """True for a lower-case name of 1 to 48 characters: letters, digits, `_`, `-`, starting with a letter or digit."""
    return re.fullmatch(SLUG_PATTERN, text) is not None


@dataclass(frozen=True, slots=True, order=True)
class UnitId:
    """A unit's name, `system.benchmark.protocol`."""

    system: str
    benchmark: str
    protocol: str

    def __str__(self) -> str:
        """The id as it stands in files and on the command line."""
        return f"{self.system}.{self.benchmark}.{self.protocol}"

    @classmethod
    def parse(cls, text: str, *, where: str = "") -> UnitId:
        """Split an id; anything but three slugs is refused."""
        parts = text.split(".")
        if len(parts) != 3 or not all(is_slug(part) for part in parts):
            raise BeforehandError(
                f"{text!r} is not a unit id",
                where=where,
                mend="write system.benchmark.protocol, each [a-z0-9][a-z0-9_-]{0,47}",
            )
        return cls(*parts)
