"""The command that estimates hours and money from a plan."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import click

from manifests.console import Outcome, reporting, table

if TYPE_CHECKING:
    from ledger.estimates import Bracket, Estimate, Line

EXISTING_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("estimate")
@click.argument("plan_path", metavar="PLAN.toml", type=EXISTING_FILE)
@click.option(
    "--measured",
    "measured_path",
    type=EXISTING_FILE,
    help="A pilot's measurements; they replace the plan's values, and the change is shown.",
)
@click.option("--rates", "rates_path", type=EXISTING_FILE, help="A file of rates of your own.")
@click.option("--rate-date", metavar="DATE", help="The day of the rates; default: today.")
@reporting
def estimate(
    *, plan_path: Path, measured_path: Path | None, rates_path: Path | None, rate_date: str | None
) -> Outcome:
    """Hours and money: low, central, high. Brackets, not confidence intervals; which input moves the total most."""
    from ledger import estimates, plans  # noqa: PLC0415 - the models cost 100 ms that other commands save
    from ledger.prices import parse_day, rate_tables  # noqa: PLC0415
    from ledger.rates import find_rate  # noqa: PLC0415

    day = datetime.now(UTC).date() if rate_date is None else parse_day(rate_date)

    def price_of(flavor: str) -> Decimal:
        return find_rate(rate_tables(rates_path), flavor, day=day).usd_per_h

    plan = plans.read_plan(plan_path)
    before = estimates.estimate(plan, price_of=price_of)
    if measured_path is None:
        return Outcome(text=_text(before), document=_document(before), findings=before.findings)
    after = estimates.estimate(
        plans.with_measurements(plan, plans.read_measurements(measured_path)), price_of=price_of
    )
    return Outcome(
        text=f"{_text(after)}\n\n{_change_text(before, after)}",
        document={**_document(after), "before": _document(before)},
        findings=after.findings,
    )


def _text(found: Estimate) -> str:
    from ledger.estimates import rounded  # noqa: PLC0415 - as above

    names = (
        "stage",
        "low h",
        "central h",
        "high h",
        "low USD",
        "central USD",
        "high USD",
        "bracketed inputs",
    )
    rows = [*map(_cells, found.stages), *map(_cells, found.totals)]
    drawn = table(names, rows, numeric=names[1:7])
    lines = [drawn, "", "Columns are brackets with every input at that end, not confidence intervals."]
    for name, influences in found.influences:
        moving = [each for each in influences if each.spread_h > 0][:3]
        said = ", ".join(f"{each.name} ({rounded(each.spread_h, 2)} h, {each.basis})" for each in moving)
        lines.append(f"{name} is moved most by {said}" if said else f"{name}: every input is fixed")
    return "\n".join(lines)


def _change_text(before: Estimate, after: Estimate) -> str:
    from ledger.estimates import rounded  # noqa: PLC0415 - as above

    lines = ["What the measurements change (low / central / high):"]
    for old, new in zip((*before.stages, *before.totals), (*after.stages, *after.totals), strict=True):
        if (old.hours, old.bracketed) != (new.hours, new.bracketed):
            was, now = (" / ".join(rounded(value, 2) for value in _values(line.hours)) for line in (old, new))
            lines.append(f"{new.name}: {was} h -> {now} h")
    return "\n".join(lines)


def _cells(line: Line) -> Sequence[str]:
    from ledger.estimates import rounded  # noqa: PLC0415 - as above

    hours = [rounded(number, 2) for number in _values(line.hours)]
    money = ["not priced"] * 3 if line.usd is None else [rounded(number, 2) for number in _values(line.usd)]
    return (line.name, *hours, *money, ", ".join(line.bracketed))


def _values(bracket: Bracket) -> tuple[Fraction, Fraction, Fraction]:
    return bracket.low, bracket.central, bracket.high


def _document(found: Estimate) -> dict[str, object]:
    return {
        "stages": [_line_document(line) for line in found.stages],
        "totals": [_line_document(line) for line in found.totals],
        "influences": {
            name: [
                {"input": each.name, "spread_h": f"{float(each.spread_h):.6g}", "basis": each.basis}
                for each in influences
            ]
            for name, influences in found.influences
        },
    }


def _line_document(line: Line) -> dict[str, object]:
    from ledger.estimates import rounded  # noqa: PLC0415 - as above

    return {
        "name": line.name,
        "hours": [rounded(value, 6) for value in _values(line.hours)],
        "usd": None if line.usd is None else [rounded(value, 6) for value in _values(line.usd)],
        "bracketed": list(line.bracketed),
    }
