"""`run.toml`: how a study's units are generated and judged. Everything in it can move a number, so a frozen study pins it."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from ledger.money import parse_number
from manifests.documents import Document, read_toml_document

RUN_FILE = "run.toml"


def _rate(value: object) -> Decimal:
    if isinstance(value, Decimal):
        return value
    if not isinstance(value, str):
        raise ValueError('is no string: write it in quotes, as "2.50"')
    return parse_number(value, where=f"{RUN_FILE} ledger.rate_usd_per_h", unit="USD per hour")


class Verification(Document):
    """The pool of verifiers. budget_s: for one sample, where the design's verifier names none."""

    workers: Annotated[int, Field(ge=1, le=256)] = 2
    budget_s: Annotated[float, Field(gt=0)] = 10.0
    module: str | None = None
    """Import path of a verifier of your own, with `open_verifier`; null takes the one that the design's kind names."""
    memory_mb: Annotated[int, Field(ge=64)] | None = 4096
    """Address space of one worker; null sets no limit (Lean breaks under one)."""


class Booking(Document):
    """How the time is booked. A machine of one's own costs 0.00 an hour; its seconds are booked all the same."""

    flavor: str = "cpu-local"
    rate_usd_per_h: Annotated[Decimal, BeforeValidator(_rate)] = Decimal("0.00")
    phase: str = "run"


class RunSettings(Document):
    """`run.toml`. over_long_prompts: `clip` lowers max_tokens to what the window leaves, and an unfit prompt gets an error row."""

    format: Literal["run/1"]
    engine: Annotated[str, Field(min_length=1)]
    dtype: str = "bfloat16"
    batch_rows: Annotated[int, Field(ge=1, le=65_536)] = 192
    threads: Annotated[int, Field(ge=1)] | None = None
    over_long_prompts: Literal["refuse", "clip"] = "refuse"
    stall_s: Annotated[float, Field(gt=0)] = 900.0
    """A stage whose files have not grown for so long is stopped."""
    verification: Verification = Verification()
    booking: Booking = Booking()


def read_run_settings(study: Path) -> RunSettings:
    """The settings of the study."""
    return read_toml_document(
        RunSettings, study / RUN_FILE, mend='write at least format = "run/1" and engine = "transformers"'
    )
