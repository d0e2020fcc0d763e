"""An estimate's plan on disk: inputs with their source, stages with formulas, how stages run together."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from ledger.formulas import FormulaError, names, parse
from manifests.documents import Document, read_toml_document
from manifests.errors import BeforehandError, Finding, FindingsError

QUANTITY = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?")
MOST_TOTALS = 200  # nested one in the other they stay within the interpreter's depth


def _decimal(text: object) -> Decimal:
    if isinstance(text, Decimal):
        return text
    if not isinstance(text, str) or QUANTITY.fullmatch(text) is None:
        raise ValueError('is not a quoted plain number, such as "0.918"')
    return Decimal(text)


Quantity = Annotated[Decimal, BeforeValidator(_decimal)]
Identifier = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,47}$")]


class Input(Document):
    """One number that the estimate rests on. low is the optimistic end, whichever of the two numbers is larger."""

    low: Quantity
    central: Quantity
    high: Quantity
    basis: Literal["measured", "bracketed"]
    """measured: for this quantity. bracketed: taken from another one, or a guess between two anchors."""
    source: str = Field(min_length=1)
    unit: str = ""


class Stage(Document):
    """One stretch of work. Its hours are a formula over the inputs; its price an hour is given, or that of a flavor."""

    hours: str
    flavor: str = ""
    usd_per_h: Quantity | None = None


class Total(Document):
    """Stages or other totals, one after the other or side by side."""

    series: tuple[str, ...] = ()
    parallel: tuple[str, ...] = ()

    @property
    def parts(self) -> tuple[str, ...]:
        """The names in it."""
        return (*self.series, *self.parallel)


class Plan(Document):
    """The file `plan.toml`."""

    format: Literal["estimate/1"]
    inputs: dict[Identifier, Input]
    stages: dict[Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,47}$")], Stage]
    totals: dict[Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,47}$")], Total] = Field(
        default_factory=dict, max_length=MOST_TOTALS
    )


class Measurement(Document):
    """What a pilot measured for an input: one value, or a range where the pilot gives one."""

    value: Quantity
    low: Quantity | None = None
    high: Quantity | None = None
    source: str = Field(min_length=1)


class Measurements(Document):
    """The file that a pilot writes; its inputs replace those of the plan."""

    format: Literal["measurements/1"]
    inputs: dict[Identifier, Measurement]


def read_plan(path: Path) -> Plan:
    """The plan, whole: every name in a formula is an input, every total names stages or totals and no circle."""
    plan = read_toml_document(Plan, path)
    if findings := tuple(_plan_findings(plan)):
        raise FindingsError("cannot be computed", findings, where=str(path))
    return plan


def read_measurements(path: Path) -> Measurements:
    """A pilot's measurements."""
    return read_toml_document(Measurements, path)


def with_measurements(plan: Plan, measured: Measurements) -> Plan:
    """The plan with the pilot's values in place of its own."""
    if unknown := sorted(set(measured.inputs) - set(plan.inputs)):
        mend = f"the plan's inputs are {', '.join(plan.inputs)}"
        raise BeforehandError(
            f"measures what the plan does not use: {', '.join(unknown)}", where="measurements", mend=mend
        )
    inputs = dict(plan.inputs)
    for name, found in measured.inputs.items():
        low = found.value if found.low is None else found.low
        high = found.value if found.high is None else found.high
        inputs[name] = Input(
            low=low,
            central=found.value,
            high=high,
            basis="measured",
            source=found.source,
            unit=inputs[name].unit,
        )
    return plan.model_copy(update={"inputs": inputs})


def _plan_findings(plan: Plan) -> Iterator[Finding]:
    for name, stage in plan.stages.items():
        try:
            unknown = sorted(names(parse(stage.hours)) - set(plan.inputs))
        except FormulaError as err:
            yield Finding(where=f"stages.{name}.hours", what=f"{stage.hours!r} {err}")
            continue
        for missing in unknown:
            yield Finding(where=f"stages.{name}.hours", what=f"names {missing}, which is not an input")
        if stage.usd_per_h is not None and stage.usd_per_h < 0:
            yield Finding(where=f"stages.{name}.usd_per_h", what="is negative")
    for name, entry in plan.inputs.items():
        if not min(entry.low, entry.high) <= entry.central <= max(entry.low, entry.high):
            yield Finding(
                where=f"inputs.{name}",
                what=f"central {entry.central} lies outside {entry.low} to {entry.high}",
            )
    for name in sorted(set(plan.totals) & set(plan.stages)):
        yield Finding(where=f"totals.{name}", what="has the name of a stage")
    for name, total in plan.totals.items():
        yield from _total_findings(plan, name, total)


def _total_findings(plan: Plan, name: str, total: Total) -> Iterator[Finding]:
    where = f"totals.{name}"
    if bool(total.series) == bool(total.parallel):
        yield Finding(
            where=where,
            what="names both series and parallel, or neither",
            mend="a total is one of the two; nest totals for both",
        )
    for part in total.parts:
        if part not in plan.stages and part not in plan.totals:
            yield Finding(where=where, what=f"names {part}, which is neither a stage nor a total")
    if _reaches(plan.totals, name, name):
        yield Finding(where=where, what="contains itself")


def _reaches(totals: Mapping[str, Total], start: str, goal: str) -> bool:
    seen: set[str] = set()
    open_parts: list[str] = list(_parts(totals, start))
    while open_parts:
        part = open_parts.pop()
        if part == goal:
            return True
        if part not in seen:
            seen.add(part)
            open_parts += _parts(totals, part)
    return False


def _parts(totals: Mapping[str, Total], name: str) -> Sequence[str]:
    return totals[name].parts if name in totals else ()
