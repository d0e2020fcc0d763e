"""The command that says what the money bought."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import click

from ledger import totals
from ledger.money import shown, stored
from ledger.reading_cli import STUDY, read_study
from manifests.console import Outcome, reporting, table

COUNT = click.IntRange(min=0)


@click.command("totals")
@STUDY
@click.option("--solved", type=COUNT, help="How many problems were solved, to say what one cost.")
@click.option("--conclusions", type=COUNT, help="How many conclusions were reached, to say what one cost.")
@reporting
def totals_command(*, study: Path, solved: int | None, conclusions: int | None) -> Outcome:
    """What the money bought: by phase, flavor, outcome and purchase, on both bases; what a unit cost."""
    ledger = read_study(study)
    cuts = {
        "phase": totals.by_phase(ledger.entries),
        "flavor": totals.by_flavor(ledger.entries),
        "outcome": totals.by_status(ledger.entries),
        "bought": totals.by_purchase(ledger.entries),
    }
    both = totals.bases(ledger.entries)
    units = totals.unit_costs(ledger.entries)
    counts = {"solved problem": solved, "conclusion": conclusions}
    prices = {
        name: totals.cost_per(both.quoted_usd, count) for name, count in counts.items() if count is not None
    }
    text = [str(both)]
    text += [_groups_table(name, groups) for name, groups in cuts.items() if groups]
    text += [_units_table(units)] if units else []
    text += [f"one {name}: {_price(price)}" for name, price in prices.items()]
    return Outcome(
        text="\n\n".join(text),
        document={
            "quoted_usd": stored(both.quoted_usd),
            "floor_usd": stored(both.floor_usd),
            "wall_clock_usd": stored(both.wall_clock_usd),
            **{f"by_{name}": [_group_document(group) for group in groups] for name, groups in cuts.items()},
            "units": [
                {"unit": cost.unit, "usd": stored(cost.spent_usd), "imported": cost.imported}
                for cost in units
            ],
            "cost_per": {name: None if price is None else stored(price) for name, price in prices.items()},
        },
        findings=ledger.findings,
    )


def _groups_table(name: str, groups: Sequence[totals.Group]) -> str:
    columns = (name, "bookings", "hours", "USD", "floor USD")
    rows = [
        (
            group.name,
            str(group.bookings),
            f"{group.seconds / 3600:.2f}",
            shown(group.spent_usd),
            shown(group.floor_usd),
        )
        for group in groups
    ]
    return table(columns, rows, numeric=columns[1:])


def _units_table(units: Sequence[totals.UnitCost]) -> str:
    rows = [
        (cost.unit, "imported" if cost.imported else shown(cost.spent_usd), ", ".join(cost.job_ids))
        for cost in units
    ]
    return table(("unit", "USD", "jobs"), rows, numeric=("USD",))


def _price(price: Decimal | None) -> str:
    return "not estimable: there is none" if price is None else f"{shown(price)} USD"


def _group_document(group: totals.Group) -> dict[str, object]:
    return {
        "name": group.name,
        "usd": stored(group.spent_usd),
        "floor_usd": stored(group.floor_usd),
        "seconds": f"{group.seconds:f}",
        "bookings": group.bookings,
    }
