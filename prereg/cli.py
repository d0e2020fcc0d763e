"""`beforehand new` and `beforehand prereg …`."""

from __future__ import annotations

from pathlib import Path

import click

from manifests.console import Outcome, reporting
from prereg.power_cli import power

FOLDER = click.Path(path_type=Path)


@click.command()
@click.argument("folder", metavar="studies/NAME", type=FOLDER)
@click.option(
    "--from",
    "logs",
    multiple=True,
    metavar="LOG",
    type=FOLDER,
    help="Draft the design from a log; may be given again.",
)
@reporting
def new(folder: Path, logs: tuple[Path, ...]) -> Outcome:
    """Start a study: a folder with a commented registration."""
    from prereg.new import new_study  # noqa: PLC0415 - each command imports what it needs, so that --help is quick

    draft = None
    if logs:
        from manifests.importers.drafting import draft_design  # noqa: PLC0415

        draft = draft_design(logs)
    files = new_study(folder, draft)
    text = "\n".join(
        [
            *(draft.said if draft is not None else ()),
            *(f"wrote {file}" for file in files),
            f"next: fill in {files[1]}, then beforehand prereg check {folder}",
        ]
    )
    return Outcome(text=text, document={"files": [str(file) for file in files]})


@click.group()
def prereg() -> None:
    """Check, freeze and verify the registration."""


@prereg.command()
@click.argument("study", type=FOLDER)
@reporting
def check(study: Path) -> Outcome:
    """List everything that stands between the registration and its freeze, and what each primary endpoint can see."""
    from prereg.check import examine  # noqa: PLC0415
    from prereg.outlook import document, outlooks, printed  # noqa: PLC0415

    examination = examine(study)
    findings = examination.findings
    text = f"{len(findings)} findings" if findings else "nothing is missing: the registration can be frozen"
    seen = outlooks(examination.design) if examination.design is not None else ()
    return Outcome(
        text="\n\n".join([*map(printed, seen), text]),
        document={"primary": [document(one) for one in seen]},
        findings=findings,
    )


@prereg.command()
@click.argument("study", type=FOLDER)
@reporting
def witness(study: Path) -> Outcome:
    """Look for data of the registered comparison that exist already, as freeze does."""
    from manifests.study import Study  # noqa: PLC0415
    from prereg.freeze import sightings  # noqa: PLC0415
    from prereg.looking import look  # noqa: PLC0415
    from prereg.plan import load_design  # noqa: PLC0415

    opened = Study.open(study)
    result = look(opened, load_design(opened.registration_path))
    return Outcome(text=result.sentence, document=result.document(), findings=sightings(result))


@prereg.command()
@click.argument("study", type=FOLDER)
@click.option("--acknowledge", metavar="TEXT", help="What exists already and who has seen it.")
@click.option("--succeeds", metavar="STUDY", type=FOLDER, help="The withdrawn study that this one replaces.")
@click.option("--timestamp", "url", metavar="URL", help="Ask this RFC 3161 authority for a token.")
@reporting
def freeze(study: Path, acknowledge: str | None, succeeds: Path | None, url: str | None) -> Outcome:
    """Record the block's hash, the block itself, the pinned files and what data exist already, once."""
    from prereg.freeze import freeze as freeze_study  # noqa: PLC0415

    freezing = freeze_study(study, acknowledge=acknowledge, succeeds=succeeds)
    registration = freezing.registration
    seen = _outlooks(registration.frozen_text)
    stamped = "owed"
    if url is not None:
        from prereg.timestamp import stamp  # noqa: PLC0415

        stamped = stamp(study, url).at_utc
    first = "finished an interrupted freeze" if freezing.finished_interrupted else "frozen"
    text = "\n".join(
        [
            *(f"{printed}\n" for printed, _ in seen),
            f"{first} at {registration.frozen_at}",
            f"sha256 {registration.block_sha256}",
            f"pinned files: {len(registration.pinned)}",
            f"timestamp: {stamped}",
            "commit registration.json and PREREGISTRATION.md now: the hash proves integrity, only others can prove the time",
        ]
    )
    document = {
        "primary": [outlook for _, outlook in seen],
        "block_sha256": registration.block_sha256,
        "frozen_at": registration.frozen_at,
        "timestamp": stamped,
        "record_sha256": registration.record_sha256,
        "finished_interrupted": freezing.finished_interrupted,
        "pinned": [{"path": file.path, "sha256": file.sha256} for file in registration.pinned],
    }
    return Outcome(text=text, document=document)


@prereg.command()
@click.argument("study", type=FOLDER)
@click.option("--url", required=True, help="The RFC 3161 authority.")
@reporting
def timestamp(study: Path, url: str) -> Outcome:
    """Ask an authority for a token that says when the frozen record existed at the latest."""
    from prereg.timestamp import FILE_NAME, stamp  # noqa: PLC0415

    token = stamp(study, url)
    return Outcome(
        text=f"stamped at {token.at_utc}; commit {FILE_NAME}",
        document={"at": token.at_utc, "sha256": token.sha256},
    )


@prereg.command()
@click.argument("study", type=FOLDER)
@click.option(
    "--authority",
    metavar="CERTIFICATE",
    type=FOLDER,
    help="Certificate of the authority that stamped the record.",
)
@reporting
def verify(study: Path, authority: Path | None) -> Outcome:
    """Compare the registration with its record and with git history (verify-prereg does the same on a bare Python)."""
    from prereg.verify import verify as verify_study  # noqa: PLC0415

    result = verify_study(study, history=True, authority=authority)
    return Outcome(
        text=result.text, document=result.document, findings=result.findings, exit_code=result.exit_code
    )


@prereg.command()
@click.argument("study", type=FOLDER, required=False)
@click.argument("file", metavar="AMENDMENT.toml", type=FOLDER, required=False)
@click.option("--template", is_flag=True, help="Print an amendment to fill in.")
@reporting
def amend(study: Path | None, file: Path | None, *, template: bool) -> Outcome:
    """Write a dated amendment below the block and seal it with what could have been seen."""
    from manifests.documents import read_toml_document  # noqa: PLC0415
    from prereg.amend import amend as amend_study  # noqa: PLC0415
    from prereg.amendment import TEMPLATE, Amendment  # noqa: PLC0415

    if template:
        return Outcome(text=TEMPLATE.rstrip(), document={"template": TEMPLATE})
    if study is None or file is None:
        raise click.UsageError("give STUDY and AMENDMENT.toml, or --template")
    amending = amend_study(study, read_toml_document(Amendment, file))
    seal = amending.seal
    first = "finished an interrupted amendment" if amending.finished_interrupted else "sealed"
    text = "\n".join(
        [
            f"{first}: {seal.id}, {seal.kind}, at {seal.sealed_at}",
            f"touches {', '.join(seal.touches) or 'no endpoint'}; seen: {seal.evidence.stated}",
            f"head of the chain {seal.n}:{seal.hash}",
            "commit amendments.jsonl and PREREGISTRATION.md now",
        ]
    )
    return Outcome(text=text, document={**seal.document(), "hash": seal.hash})


@prereg.group()
def hook() -> None:
    """Guard a repository against changes to what is frozen."""


@hook.command("install")
@click.argument("folder", type=FOLDER, default=Path())
@reporting
def hook_install(folder: Path) -> Outcome:
    """Let git refuse commits that change frozen text, seals or ledger rows."""
    from prereg.hook import install  # noqa: PLC0415

    paths = install(folder)
    text = "\n".join(
        [*(f"wrote {path}" for path in paths), "git commit --no-verify goes past it: let CI verify too"]
    )
    return Outcome(text=text, document={"hooks": [str(path) for path in paths]})


def _outlooks(frozen_text: str) -> list[tuple[str, dict[str, object]]]:
    """What each primary endpoint of a frozen block can see, for people and for `--json`."""
    from prereg.outlook import document, outlooks, printed  # noqa: PLC0415
    from prereg.plan import parse_block_design  # noqa: PLC0415

    design = parse_block_design(frozen_text, where="the frozen block")
    return [(printed(one), document(one)) for one in outlooks(design)]


prereg.add_command(power)
