"""Cost: what was spent on what, on which basis, under which cap, and what is still set aside."""

from __future__ import annotations

from decimal import Decimal

from report.aggregate import MoneyGroup, MoneyNode
from report.content import (
    Block,
    Bullets,
    Cell,
    Code,
    Column,
    FigureBlock,
    Heading,
    Inline,
    Section,
    Table,
    Text,
)
from report.figures.cost import cost_picture
from report.numbers import DASH, usd
from report.sections.material import Material, empty, paragraph, plain

KINDS = (
    ("phase", "By phase", "Phase"),
    ("flavor", "By hardware", "Flavor"),
    ("status", "By outcome", "Outcome"),
    ("purchase", "By what it bought", "Bought"),
)


def cost(material: Material) -> Section:
    """Section 12."""
    money = material.aggregate.money
    if money.entries == 0:
        nothing = empty("Nothing is booked in the ledger: no price, no reservation, no cap.")
        return Section(id="cost", title="Cost", blocks=(nothing, *material.notes.get("cost", ())))
    blocks: list[Block] = [
        Bullets(items=tuple(_statement(material, money))),
        *_figure(money),
    ]
    for kind, title, first in KINDS:
        groups = getattr(money, f"by_{kind}")
        if groups:
            blocks.append(_groups(material, kind, title, first, groups))
    blocks += [Heading(text="Caps"), *_caps(money), Heading(text="Open reservations"), *_reservations(money)]
    blocks += [Heading(text="Cost by unit"), *_units(material, money)]
    blocks += [Heading(text="Ledger and units"), *_reconciliation(money)]
    return Section(id="cost", title="Cost", blocks=(*blocks, *material.notes.get("cost", ())))


def _statement(material: Material, money: MoneyNode) -> list[Text]:
    numbers = material.numbers
    cap: tuple[Inline, ...] = (", no cap set",)
    if money.cap_usd is not None:
        cap = (
            " of a cap of ",
            numbers("money.cap"),
            "; ",
            numbers("money.remaining"),
            " are left after reservations",
        )
    items: list[Text] = [
        (numbers("money.spent"), *cap, "; ", numbers("money.seconds"), " booked in ", numbers("money.entries"), " ledger rows."),
        ("Reserved: ", numbers("money.reserved"), "."),
        (money.bases.sentence,),
    ]  # fmt: skip
    if money.per_unit_usd is not None and money.per_conclusion_usd is not None:
        items.append(
            ("Per unit that is there: ", numbers("money.per_unit"), "; per conclusion: ", numbers("money.per_conclusion"), ".")
        )  # fmt: skip
    items.append((f"Ledger head: row {money.head_seq}, ", Code(money.head_hash or ""), "."))
    items += [
        (f"Ledger finding: {finding.where}: {finding.what}.",)
        for finding in material.evidence.ledger.findings
    ]
    return items


def _figure(money: MoneyNode) -> list[Block]:
    spent = Decimal(money.spent_usd)
    if not spent and not Decimal(money.reserved_usd) and money.cap_usd is None:
        return [empty("No money was spent and no cap is set, so there is no curve of money.")]
    cap = f"the cap is {usd(Decimal(money.cap_usd))}" if money.cap_usd is not None else "no cap is set"
    changes = f"; the cap was set or changed {len(money.caps)} times" if len(money.caps) > 1 else ""
    alt = f"{usd(spent)} are booked and {usd(Decimal(money.reserved_usd))} reserved; {cap}{changes}."
    return [
        FigureBlock(
            picture=cost_picture(money.burn_down, alt),
            caption=(
                "USD after each row of the ledger. Dashed: the cap in force; each step is a dated row.",
            ),
        )
    ]


def _groups(material: Material, kind: str, title: str, first: str, groups: tuple[MoneyGroup, ...]) -> Table:
    fields = ("spent", "floor", "seconds", "bookings")
    return Table(
        caption=title,
        note="Floor: the platform's own seconds and bills.",
        columns=(
            Column(first), Column("Booked", numeric=True), Column("Floor", numeric=True),
            Column("Time", numeric=True), Column("Bookings", numeric=True),
        ),
        rows=tuple(
            (plain(group.name), *(material.cell(f"money-{kind}-{place}.{field}") for field in fields))
            for place, group in enumerate(groups, start=1)
        ),
    )  # fmt: skip


def _caps(money: MoneyNode) -> list[Block]:
    if not money.caps:
        return [empty("No cap was ever set.")]
    rows = tuple(
        (
            plain(str(cap.seq)),
            plain(cap.time_utc),
            plain(cap.cap),
            plain(DASH if cap.before_usd is None else usd(Decimal(cap.before_usd))),
            plain(usd(Decimal(cap.after_usd))),
            plain(cap.note or DASH),
        )
        for cap in money.caps
    )
    return [
        Table(
            caption="Every cap, in the order of the ledger",
            columns=(
                Column("Row", numeric=True), Column("Time, UTC", whole=True), Column("Scope"), Column("Was", numeric=True),
                Column("Is", numeric=True), Column("By whose decision, as noted"),
            ),
            rows=rows,
            stacked=True,
        )
    ]  # fmt: skip


def _reservations(money: MoneyNode) -> list[Block]:
    if not money.reservations:
        return [empty("None.")]
    rows = tuple(
        (
            plain(str(one.seq)),
            plain(one.time_utc),
            Cell((Code(one.job_id or DASH),)),
            plain(usd(Decimal(one.open_usd))),
        )
        for one in money.reservations
    )
    return [
        Table(
            caption="Set aside, not yet settled or released",
            columns=(
                Column("Row", numeric=True),
                Column("Time, UTC", whole=True),
                Column("Job"),
                Column("Open", numeric=True),
            ),
            rows=rows,
        )
    ]


def _units(material: Material, money: MoneyNode) -> list[Block]:
    if not money.units:
        return [empty("No booking names a unit.")]
    rows = tuple(
        (
            Cell((Code(name),)),
            material.cell(f"money-{name}.spent"),
            Cell((f"{len(one.job_ids)}",), sort=str(len(one.job_ids))),
            plain("imported at no cost" if one.imported else ""),
        )
        for name, one in money.units.items()
    )
    return [
        Table(
            caption="A job that serves several units is split evenly",
            columns=(
                Column("Unit"),
                Column("Booked", numeric=True),
                Column("Jobs", numeric=True),
                Column("Note"),
            ),
            rows=rows,
        )
    ]


def _reconciliation(money: MoneyNode) -> list[Block]:
    note: Text = (
        "The platform's list of jobs is no part of a study; ",
        Code("beforehand ledger reconcile"),
        " holds the ledger against it.",
    )
    if not money.reconciliation:
        whole = "Every unit that is there has a row in the ledger, and every unit in the ledger is there. "
        return [paragraph(whole, *note)]
    return [Bullets(items=tuple((f"{sentence}.",) for sentence in money.reconciliation)), paragraph(*note)]
