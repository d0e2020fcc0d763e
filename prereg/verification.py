"""What verify has to say of a registration: its state, in one word, and what differs. Standard library only."""

from __future__ import annotations

from dataclasses import dataclass

from manifests.errors import EXIT_CLEAN, EXIT_FINDINGS, Finding

TYPE_CHECKING = False  # typing is slow to import, and only its aliases are needed
if TYPE_CHECKING:
    from typing import Literal

    from prereg.seals import Seal

    Status = Literal["unchanged", "line_endings_only", "changed", "record_altered", "not_frozen"]

LIMITS = "Hashes prove integrity, not identity and not time."
MOST_DIFF_LINES = 4000
SENTENCES = {
    "unchanged": "the block is, byte for byte, what was frozen",
    "line_endings_only": "the text is what was frozen; its line endings or its byte order mark are not",
    "changed": "the block is not what was frozen",
    "record_altered": "the record is not what freeze wrote, so it proves nothing",
    "not_frozen": "nothing is frozen here",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """The state of a registration. expected: digest in the record; actual: digest of the block now; diff: frozen against now."""

    status: Status
    findings: tuple[Finding, ...] = ()
    expected: str | None = None
    actual: str | None = None
    frozen_at: str | None = None
    n_pinned: int = 0
    diff: str = ""
    difference: str = ""
    timestamp: str = "owed"
    seals: tuple[Seal, ...] = ()
    first_commit: str | None = None
    first_commit_at: str | None = None
    unchecked: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 only for an unchanged block with its hash line and its pinned files."""
        return EXIT_CLEAN if self.status == "unchanged" and not self.findings else EXIT_FINDINGS

    @property
    def text(self) -> str:
        """What people read, findings apart."""
        lines = [f"{self.status.replace('_', ' ')}: {SENTENCES[self.status]}"]
        if self.frozen_at is not None:
            lines.append(
                f"frozen at {self.frozen_at}, by the clock of the machine that froze it (timestamp: {self.timestamp})"
            )
            lines.append(
                f"sha256 {self.expected}" + (f", now {self.actual}" if self.actual != self.expected else "")
            )
            lines.append(f"pinned files: {self.n_pinned}")
        if self.first_commit is not None:
            lines.append(
                f"first committed at {self.first_commit_at}, by the committer's clock, in {self.first_commit[:12]}"
            )
        lines.extend(
            f"amendment {seal.id}: {seal.kind}, {seal.sealed_at}, touches {', '.join(seal.touches) or 'nothing'}, "
            f"seen: {seal.evidence.stated}"
            for seal in self.seals
        )
        lines.extend(f"withdrawn by {seal.id}" for seal in self.seals if seal.kind == "withdrawal")
        if self.difference:
            lines.append(self.difference)
        if self.diff:
            lines.append(self.diff)
        lines.extend(f"not checked: {one}" for one in self.unchecked)
        return "\n".join([*lines, LIMITS])

    @property
    def document(self) -> dict[str, object]:
        """What `--json` prints, findings apart."""
        return {
            "status": self.status,
            "frozen_at": self.frozen_at,
            "block_sha256": {"recorded": self.expected, "actual": self.actual},
            "n_pinned": self.n_pinned,
            "difference": self.difference,
            "diff": self.diff,
            "withdrawn_by": next((seal.id for seal in self.seals if seal.kind == "withdrawal"), None),
            "amendments": [
                {
                    "id": seal.id,
                    "kind": seal.kind,
                    "sealed_at": seal.sealed_at,
                    "touches": list(seal.touches),
                    "seen": seal.evidence.seen,
                    "stated": seal.evidence.stated,
                }
                for seal in self.seals
            ],
            "first_commit": {"commit": self.first_commit, "at": self.first_commit_at},
            "timestamp": self.timestamp,
            "not_checked": list(self.unchecked),
            "proves": LIMITS,
        }


def difference(frozen: str, now: str) -> str:
    """One sentence when two different texts differ in little, else empty."""
    if not now:
        return ""
    if [line.rstrip() for line in frozen.split("\n")] == [line.rstrip() for line in now.split("\n")]:
        return "only white space at the ends of lines differs"
    if frozen.split() == now.split():
        return "only white space differs"
    before, after = _parsed_design(frozen), _parsed_design(now)
    if before is None or before != after:
        return ""
    return "the design reads the same; its text or the prose around it differs"


def _parsed_design(text: str) -> dict[str, object] | None:
    import tomllib  # noqa: PLC0415 - only a changed registration pays for it

    from prereg.fences import Markdown  # noqa: PLC0415

    fences = [
        fence for fence in Markdown.scan(text.encode()).fences if fence.info.split() == ["toml", "design"]
    ]
    try:
        return tomllib.loads(fences[0].content.decode()) if len(fences) == 1 else None
    except tomllib.TOMLDecodeError:
        return None


def unified_diff(frozen: str, now: str) -> str:
    """The frozen text against the text now. Long differences are cut, and say so."""
    import difflib  # noqa: PLC0415 - only a changed registration pays for it

    before, after = frozen.split("\n"), now.split("\n")
    head = 0
    while head < min(len(before), len(after)) and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < min(len(before), len(after)) - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    start = max(0, head - 3)  # equal lines far from any change only cost time
    before, after = (
        before[start : len(before) - max(0, tail - 3)],
        after[start : len(after) - max(0, tail - 3)],
    )
    cut = max(len(before), len(after)) > MOST_DIFF_LINES
    before, after = before[:MOST_DIFF_LINES], after[:MOST_DIFF_LINES]
    lines = list(difflib.unified_diff(before, after, "frozen", "now", lineterm=""))[2:]
    moved = [f"--- frozen, from line {start + 1} of the block", "+++ now", *lines]
    return "\n".join([*moved, "(the rest of the difference is not shown)"] if cut else moved)
