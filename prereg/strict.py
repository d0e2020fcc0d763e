"""A JSON object read field by field: unknown, missing and wrongly typed keys are all found. Standard library only.

Verify may not import pydantic; the few records that it reads go through here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from manifests.digests import is_sha256
from manifests.errors import Finding, NotInOrderError


class DamagedRecordError(NotInOrderError):
    """A record is not what the tool wrote; `findings` says why."""

    def __init__(self, findings: tuple[Finding, ...], *, where: str) -> None:
        super().__init__("; ".join(f"{one.where} {one.what}".strip() for one in findings), where=where)
        self.findings = findings


@dataclass(slots=True)
class Fields:
    """The keys of one object. Every accessor notes what is wrong and returns a stand-in; `finish` raises if anything was."""

    document: object
    where: str
    findings: list[Finding] = field(default_factory=list)
    read: set[str] = field(default_factory=set)

    def value(self, key: str) -> object:
        """The key's value, or None with a finding when it is missing."""
        self.read.add(key)
        if not isinstance(self.document, dict):
            if not self.findings:
                self.wrong("", "is no object")
            return None
        if key not in self.document:
            self.wrong(key, "is missing")
        return self.document.get(key)

    def text(self, key: str) -> str:
        """A string."""
        value = self.value(key)
        if not isinstance(value, str):
            self.wrong(key, "is no string")
            return ""
        return value

    def optional_text(self, key: str) -> str | None:
        """A string or null."""
        return None if self.value(key) is None else self.text(key)

    def sha256(self, key: str) -> str:
        """64 hex digits."""
        value = self.text(key)
        if not is_sha256(value):
            self.wrong(key, "is no sha256")
        return value

    def whole(self, key: str) -> int:
        """An integer, not below 0."""
        value = self.value(key)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            self.wrong(key, "is no whole number")
            return 0
        return value

    def flag(self, key: str) -> bool:
        """True or false."""
        value = self.value(key)
        if not isinstance(value, bool):
            self.wrong(key, "is neither true nor false")
            return False
        return value

    def array(self, key: str) -> tuple[object, ...]:
        """A list."""
        value = self.value(key)
        if not isinstance(value, list):
            self.wrong(key, "is no list")
            return ()
        return tuple(value)

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of strings."""
        values = self.array(key)
        if not all(isinstance(value, str) for value in values):
            self.wrong(key, "holds what is no string")
        return tuple(str(value) for value in values)

    def objects(self, key: str) -> tuple[Fields, ...]:
        """A list of objects, each read the same way; their findings join these."""
        return tuple(
            Fields(value, f"{self.where} {key}.{index}".strip(), self.findings)
            for index, value in enumerate(self.array(key))
        )

    def mapping(self, key: str) -> Mapping[str, object] | None:
        """An object kept whole, or None for null."""
        value = self.value(key)
        if value is None or isinstance(value, dict):
            return value
        self.wrong(key, "is no object")
        return None

    def wrong(self, key: str, what: str) -> None:
        """Note one thing, once a key."""
        place = f"{self.where} {key}".strip()
        if all(finding.where != place for finding in self.findings):
            self.findings.append(Finding(where=place, what=what))

    def finish(self) -> None:
        """Note the keys that nothing read."""
        if isinstance(self.document, dict):
            for key in sorted(set(self.document) - self.read):
                self.wrong(key, "is not a known key")
