"""`beforehand units push|pull`, and the pin checks behind `units check --pins`. The Hub client is loaded only to run them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from manifests.console import Outcome, note, reporting, table
from manifests.errors import EXIT_CAPABILITY_MISSING, BeforehandError, Finding
from manifests.names import UnitId
from manifests.stores import LocalStore, check_files
from manifests.study import Study
from prereg.planned import planned_units

STUDY = click.argument("study", type=click.Path(path_type=Path))
UNIT = click.option(
    "--unit", "unit_texts", multiple=True, metavar="ID", help="Only this unit; may be given several times."
)
PINS = click.option(
    "--pins", is_flag=True, help="Ask the Hub about every pinned model, dataset and tokenizer."
)
TOKENIZERS = click.option(
    "--tokenizers",
    nargs=2,
    multiple=True,
    metavar="A B",
    help="Hold two tokenizers against each other: systems of the design, or owner/name@revision.",
)


@click.command()
@STUDY
@UNIT
@click.option("--create", is_flag=True, help="Make the dataset repository, private, if it is not there.")
@reporting
def push(study: Path, unit_texts: tuple[str, ...], *, create: bool) -> Outcome:
    """Commit units to the study's Hub repository, one commit each, and pin them."""
    from manifests.hub.client import Hub  # noqa: PLC0415 - loading the client takes longer than most commands
    from manifests.hub.push import push_units  # noqa: PLC0415

    opened = Study.open(study)
    repo = opened.require_hub_repo()
    units = _named(unit_texts, LocalStore(study).unit_ids(), what="has no record in the study")
    if create:
        Hub().create(repo)
    pushed = push_units(opened, units)
    lines = [f"{one.unit}: {one.commit}{'' if one.new else ' (was there already)'}" for one in pushed]
    places = sorted({str(one.pin.place) for one in pushed if one.new})
    lines += [f"pinned at {place}" for place in places]
    return Outcome(
        text="\n".join(lines) or "no unit to push",
        document={
            "units": [
                {
                    "unit": str(one.unit),
                    "commit": one.commit,
                    "new": one.new,
                    "pin": one.pin.model_dump(mode="json"),
                }
                for one in pushed
            ]
        },
    )


@click.command()
@STUDY
@UNIT
@click.option("--refresh", is_flag=True, help="Also look for newer commits, and show what moved.")
@reporting
def pull(study: Path, unit_texts: tuple[str, ...], *, refresh: bool) -> Outcome:
    """Fetch the planned units that the study lacks into the Hub client's cache, verify them, and pin the new ones."""
    from manifests.hub.pull import pull_units  # noqa: PLC0415 - start-up time
    from manifests.hub.store import HubStore  # noqa: PLC0415 - start-up time

    opened = Study.open(study)
    opened.require_hub_repo()
    lines: list[str] = []
    findings: list[Finding] = []
    if refresh:
        from manifests.hub.refresh import refresh as look  # noqa: PLC0415 - start-up time

        refreshed = look(opened)
        lines += [f"head: {refreshed.head}", *refreshed.moved]
        findings += refreshed.findings
    units = _named(unit_texts, planned_units(opened.root), what="is not planned")
    pulled = pull_units(opened, units)
    fetched = [one for one in pulled.units if one.fetched]
    size = sum(one.bytes for one in fetched)
    store = HubStore.of(opened)
    damage = [  # the pull itself verifies what lies in the cache
        finding
        for one in pulled.units
        if store.is_local(one.unit)
        for finding in check_files(store, one.record)
    ]
    findings += damage
    verified = f"{len(damage)} files in the study folder are damaged" if damage else "all verified"
    lines.append(
        f"{len(pulled.units)} units at hand, {len(fetched)} fetched ({size / 1e6:.1f} MB), {verified}"
    )
    if fetched:
        lines.append(table(["Unit", "Commit"], [[str(one.unit), str(one.place)] for one in fetched]))
    lines += [f"not in the repository yet: {unit}" for unit in pulled.absent]
    if pulled.not_asked:
        note(f"new units were not looked for: {pulled.not_asked}")
    return Outcome(
        text="\n".join(lines),
        document={
            "units": [
                {
                    "unit": str(one.unit),
                    "fetched": one.fetched,
                    "new": one.new,
                    "pin": one.pin.model_dump(mode="json"),
                }
                for one in pulled.units
            ],
            "absent": [str(unit) for unit in pulled.absent],
            "not_asked": pulled.not_asked,
        },
        findings=(*findings, *pulled.findings),
        exit_code=EXIT_CAPABILITY_MISSING
        if pulled.not_asked and not findings and not pulled.findings
        else None,
    )


def _named(texts: Sequence[str], known: Iterable[UnitId], *, what: str) -> tuple[UnitId, ...]:
    """The units of `--unit`, or all that are known."""
    all_units = tuple(known)
    units = tuple(UnitId.parse(text, where="--unit") for text in texts)
    for unit in units:
        if unit not in all_units:
            shown = ", ".join(str(one) for one in all_units[:5]) or "none"
            raise BeforehandError(f"{unit} {what}", where="--unit", mend=f"known are {shown}")
    return units or all_units


def check_against_hub(study: Study, tokenizers: Sequence[tuple[str, str]]) -> Outcome:
    """Every pin of the study, and the given pairs of tokenizers, held against the Hub."""
    from pipeline.hub_pins import check_pins, compare_pinned_tokenizers, stated_pins  # noqa: PLC0415 - start-up time

    pins = stated_pins(study)
    findings = list(check_pins(pins))
    lines = [f"{len(pins)} pins checked, {len(findings) or 'no'} findings"]
    compared = [compare_pinned_tokenizers(study, first, second) for first, second in tokenizers]
    for one in compared:
        lines += [one.sentence, *(f"  note: {text}" for text in one.notes)]
        findings += one.findings
    return Outcome(
        text="\n".join(lines),
        document={
            "pins": [
                {"where": pin.where, "kind": pin.kind, "repo": pin.repo, "revision": pin.revision}
                for pin in pins
            ],
            "tokenizers": [
                {
                    "first": {"name": one.first.name, "sha256": one.first.sha256, **one.first.sections},
                    "second": {"name": one.second.name, "sha256": one.second.sha256, **one.second.sections},
                    "ordinary_ids": one.n_ordinary,
                    "notes": list(one.notes),
                }
                for one in compared
            ],
        },
        findings=tuple(findings),
    )
