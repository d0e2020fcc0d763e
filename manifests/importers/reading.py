"""What every importer gives: a log opened for reading, as batches of rows and the facts that the log states about itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

import pyarrow as pa

from manifests.digests import sha256_bytes
from manifests.importers.logfiles import LogFile
from manifests.importers.mapping import RowMap

Part = Literal["log", "companion"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Defaults:
    """What the plan says where a source is silent.

    None where nothing is known: an importer then refuses a column that has to be known, or leaves the others null.
    """

    sampling: str | None
    cap_tokens: int | None
    n_samples: int | None
    """Planned samples per problem; with 1, a source need not number its samples."""
    number_samples: bool = False
    """Without a plan: samples that the source does not number are numbered in the order in which they stand."""
    statements: bool = False
    """A guessed map takes the problem's text too."""


NO_PLAN = Defaults(sampling="main", cap_tokens=None, n_samples=None, number_samples=True, statements=True)
"""For logs that are read outside of any study."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """A number that the source prints about its own rows: a mean of verdicts.

    n: the samples it says it is over; sampling: the one it is over, or None for all rows.
    """

    name: str
    value: float
    n: int | None = None
    sampling: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFacts:
    """What a log says of itself; None where it is silent."""

    system: str | None = None
    revision: str | None = None
    benchmark: str | None = None
    verifier: str | None = None
    n_problems: int | None = None
    n_samples: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    cap_tokens: int | None = None
    headlines: tuple[Headline, ...] = ()
    deviations: tuple[str, ...] = ()
    """What the log says went otherwise than planned, in its own words or as `status: …`."""
    notes: tuple[str, ...] = ()
    """What this importer chose, to be told to the user."""


@dataclass(slots=True)
class Tally:
    """Counts that are whole once the batches have been read."""

    n_read: int = 0
    n_left_out: int = 0
    statements: dict[str, str] = field(default_factory=dict)
    """problem id -> sha256 of its statement, where the log holds statements."""
    restated: dict[str, str] = field(default_factory=dict)
    """problem id -> the first place where another statement stands under it."""

    def note_statement(self, problem_id: str, statement: str, place: str) -> None:
        """Keep the statement's digest, or the place where it is not the one further up."""
        digest = sha256_bytes(statement.encode("utf-8", "surrogatepass"))
        if self.statements.setdefault(problem_id, digest) != digest:
            self.restated.setdefault(problem_id, place)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A log, opened. Iterating `batches` reads it; what cannot be taken raises FindingsError at the end, all at once."""

    importer: str
    """`name@version`."""
    files: tuple[Path, ...]
    batches: Iterator[pa.RecordBatch]
    tally: Tally
    facts: LogFacts = field(default_factory=LogFacts)
    row_map: RowMap | None = None
    guessed: bool = False

    @property
    def name(self) -> str:
        """The log's file name."""
        return self.files[0].name


class Importer(Protocol):
    """One format. `part` decides by content which of its files a file is; None means another format."""

    NAME: str

    def part(self, file: LogFile) -> Part | None:
        """`log` for a file with rows of its own, `companion` for one that belongs to such a file."""

    def read(
        self,
        log: LogFile,
        companions: Sequence[LogFile],
        *,
        defaults: Defaults,
        row_map: RowMap | None = None,
    ) -> Reading:
        """Open the log."""
