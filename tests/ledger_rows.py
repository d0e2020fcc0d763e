"""Factories of ledger rows and files, shared by the ledger's tests."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

from hypothesis import strategies as st

from ledger.chain import Head, genesis, link
from ledger.entries import Entry, format_line, format_row
from ledger.layout import empty_ledger
from ledger.money import charge
from manifests.text import CONTROL_CHARACTERS

STUDY = "toy"
NOON = datetime(2024, 8, 26, 12, tzinfo=UTC)
RATE_DATE = date(2026, 8, 22)


def booking(job_id="job-1", *, seconds="3600", rate="2.50", billing="second", **cells):
    """A booking whose amount follows from its seconds and rate."""
    price = {"seconds": Decimal(seconds), "rate_usd_per_h": Decimal(rate), "billing": billing}
    defaults = {
        "seq": 1,
        "time_utc": NOON,
        "kind": "book",
        "job_id": job_id,
        "attempt": 1,
        "flavor": "a100-large",
        "rate_date": RATE_DATE,
        "basis": "running",
        "amount_usd": charge(**price),
        "outcome": "completed",
    }
    return Entry(**{**defaults, **price, **cells})


def cap(amount, *, scope="study", **cells):
    return Entry(
        **{
            "seq": 1,
            "time_utc": NOON,
            "kind": "cap",
            "scope": scope,
            "amount_usd": Decimal(amount),
            "note": "by user",
            **cells,
        }
    )


def reserve(amount, **cells):
    return Entry(**{"seq": 1, "time_utc": NOON, "kind": "reserve", "amount_usd": Decimal(amount), **cells})


def release(amount, *, of, **cells):
    return Entry(
        **{
            "seq": 1,
            "time_utc": NOON,
            "kind": "release",
            "amount_usd": Decimal(amount),
            "corrects_seq": of,
            **cells,
        }
    )


def correction(amount, *, of, job_id="job-1", **cells):
    defaults = {"kind": "correct", "attempt": 1, "basis": "occupancy", "note": "wall clock"}
    return Entry(
        **{
            "seq": 1,
            "time_utc": NOON,
            "amount_usd": Decimal(amount),
            "corrects_seq": of,
            "job_id": job_id,
            **defaults,
            **cells,
        }
    )


def chained(*entries, study_name=STUDY):
    """The entries as the rows of one ledger."""
    head = genesis(study_name)
    rows = []
    for entry in entries:
        rows.append(link(entry, head))
        head = Head(rows[-1].seq, rows[-1].hash)
    return tuple(rows)


def file_of(*entries, study_name=STUDY):
    """The bytes of a ledger that holds the entries."""
    rows = chained(*entries, study_name=study_name)
    return empty_ledger() + "".join(format_line(format_row(row)) for row in rows).encode()


def ledger_file(folder: Path, *entries):
    """A study folder with a ledger in it; returns the ledger's path."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "study.toml").write_text(f'name = "{STUDY}"\n', encoding="utf-8")
    path = folder / "ledger.csv"
    path.write_bytes(file_of(*entries))
    return path


def _is_note(text):
    return not CONTROL_CHARACTERS.search(text) and (not text or text[0] not in "=+-@")


SLUGS = st.sampled_from(["base", "sft", "x-ckpt20", "minif2f", "aime24", "c16k_n8", "0"])
UNITS = st.lists(st.tuples(SLUGS, SLUGS, SLUGS).map(".".join), max_size=2, unique=True).map(" ".join)
AMOUNTS = st.decimals(min_value=0, max_value=10**6, places=6)
NOTES = st.text("ab 1,;\"'=+-@éß日😀\\\u0301", max_size=30).filter(_is_note)
PHASES = st.sampled_from(["", "P1", "P5b", "exp-3_x"])


@st.composite
def any_entry(draw):
    """An entry of any kind, with cells that fit the columns and the rules, but for references to other rows."""
    kind = draw(st.sampled_from(["cap", "reserve", "book", "import"]))
    cells = {"phase": draw(PHASES), "note": draw(NOTES), "time_utc": draw(MOMENTS)}
    if kind == "book":
        number = draw(st.integers(1, 10**6))
        seconds, rate = draw(st.decimals(0, 10**6, places=3)), draw(st.decimals(0, 100, places=2))
        outcome = draw(
            st.sampled_from(["completed", "failed nothing", "canceled training-record refuted-hypothesis"])
        )
        billing = draw(st.sampled_from(["second", "minute"]))
        return booking(
            f"job-{number}",
            seconds=seconds,
            rate=rate,
            billing=billing,
            unit=draw(UNITS),
            outcome=outcome,
            **cells,
        )
    if kind == "cap":
        scope = "phase" if cells["phase"] else "study"
        return replace(cap(draw(AMOUNTS), scope=scope), **{**cells, "note": f"by user {cells['note']}"})
    if kind == "reserve":
        return reserve(draw(AMOUNTS), unit=draw(UNITS), **cells)
    unit = draw(UNITS.filter(bool))
    return Entry(**{"seq": 1, "kind": "import", "unit": unit, **cells, "note": f"from {cells['note']}"})


MOMENTS = st.integers(0, 20 * 365 * 86_400).map(
    lambda s: datetime(2020, 1, 1, tzinfo=UTC) + timedelta(seconds=s)
)
