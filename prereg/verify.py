"""Verify: is the registration what was frozen? Standard library only, so that anyone can run it on a bare Python."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path

from manifests.errors import EXIT_CLEAN, EXIT_OUR_BUG, BeforehandError, Finding
from manifests.files import read_bytes
from manifests.text import printable
from prereg.block import with_lf
from prereg.comparison import DOCUMENT, against, block_against, not_frozen
from prereg.drift import with_dates
from prereg.registration import FILE_NAME, MEND, Registration, read_registration
from prereg.strict import DamagedRecordError
from prereg.verification import Verification

TYPE_CHECKING = False  # typing is slow to import, and only its aliases are needed
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TextIO

    from prereg.seals import Chain


def verify(
    study: Path,
    *,
    now: str | None = None,
    history: bool = False,
    authority: Path | None = None,
    bundles: bool = True,
) -> Verification:
    """Compare the registration with its record.

    now: UTC, to tell dates that have not come. authority: certificate of the one that stamped the record.
    history: hold it against git too; else that is listed as not checked.
    bundles: hold a bundle below the study against the record; a build does not, or its bytes would depend on the last one.
    Raises BeforehandError only where there is no study.
    """
    record_path, document_path = study / FILE_NAME, study / DOCUMENT
    if not study.is_dir():
        raise BeforehandError("is not a folder", where=str(study), mend="name a study folder")
    if not record_path.exists():
        return not_frozen(read_bytes(document_path, mend="name a study folder"))
    try:
        record = read_registration(record_path)
    except DamagedRecordError as err:
        findings = tuple(
            Finding(where=f"{FILE_NAME} {one.where}".strip(), what=one.what, mend=MEND)
            for one in err.findings
        )
        return Verification(status="record_altered", findings=findings)
    if not document_path.exists():
        gone = Finding(where=DOCUMENT, what="does not exist any more", mend="restore it from version control")
        return against(record, study, "changed", actual=None, now="", findings=(gone,))
    data = read_bytes(document_path)
    result, chain = _with_amendments(
        block_against(record, study, data), record, study, data, now or _in_an_hour()
    )
    if bundles and (study / "report").is_dir():
        from prereg.shown import check_bundles  # noqa: PLC0415 - most studies are verified before there is a bundle

        result = replace(result, findings=(*result.findings, *check_bundles(study, record, chain)))
    if (study / "registration.tsr").exists():
        from prereg.timestamp import check_stamp  # noqa: PLC0415 - urllib is slow to import

        stamp = check_stamp(study, record, authority=authority)
        result = replace(result, timestamp=stamp.state, findings=(*result.findings, *stamp.findings))
    return _with_history(result, record, study, chain) if history else result


def _with_history(
    result: Verification, record: Registration, study: Path, chain: Chain | None
) -> Verification:
    from prereg.history import drift_date, read_history  # noqa: PLC0415 - slow to import, and git is slower
    from prereg.seals import Chain  # noqa: PLC0415

    history = read_history(study, record, chain or Chain(seals=(), findings=()))
    return replace(
        result,
        findings=(
            *with_dates(result.findings, record, lambda file: drift_date(study, file)),
            *history.findings,
        ),
        first_commit=history.first_commit,
        first_commit_at=history.first_commit_at,
        unchecked=history.unchecked,
    )


def _in_an_hour() -> str:
    """Clocks of two machines may differ by less than that."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600))


def _with_amendments(
    result: Verification, record: Registration, study: Path, data: bytes, now: str
) -> tuple[Verification, Chain | None]:
    """The result with the seals and what is wrong with them."""
    findings = list(result.findings)
    if record.frozen_at > now:
        findings.append(
            Finding(where=FILE_NAME, what=f"was frozen at {record.frozen_at}, which has not come yet")
        )
    path = study / "amendments.jsonl"
    chain = None
    if path.exists() or b"<!-- AMENDMENT:" in data:
        from prereg.entries import check_ledger_heads, check_times, compare, entries_of  # noqa: PLC0415 - most
        from prereg.seals import parse_chain  # noqa: PLC0415 - registrations have no amendment

        chain = parse_chain(read_bytes(path) if path.exists() else b"", root=record.record_sha256)
        entries, wrong = entries_of(with_lf(data), where=DOCUMENT)
        ledger = study / "ledger.csv"
        findings += [
            *chain.findings,
            *wrong,
            *compare(chain, entries, where=DOCUMENT),
            *check_times(chain, frozen_at=record.frozen_at, now=now),
            *check_ledger_heads(chain, read_bytes(ledger) if ledger.exists() else None),
        ]
    if record.succeeds is not None:
        from prereg.succession import check_succession  # noqa: PLC0415 - it imports this module

        findings += check_succession(study, record)
    return replace(result, findings=tuple(findings), seals=chain.seals if chain else ()), chain


OPTIONS = frozenset({"--json", "--history", "--help", "-h"})
USAGE = """usage: verify-prereg STUDY [--history] [--authority=CERTIFICATE] [--json]

Is the registration of the study folder what was frozen? --history holds it against git; --authority checks the signature of its timestamp; --json prints one JSON document on stdout.
exit codes: 0 unchanged, 1 anything else, 2 wrong use or input, 70 a bug of ours"""


def main(argv: Sequence[str] | None = None) -> int:
    """`verify-prereg STUDY [--history] [--authority=CERTIFICATE] [--json]`. 0 unchanged, 1 otherwise, 2 wrong use or input, 70 a bug of ours."""
    # Read by hand: argparse alone takes as long to import as everything that verify does.
    given = list(sys.argv[1:] if argv is None else argv)
    as_json = "--json" in given
    names = [one for one in given if not one.startswith("-")]
    certificates = [one.partition("=")[2] for one in given if one.startswith("--authority=")]
    flags = [one for one in given if one.startswith("-") and not one.startswith("--authority=")]
    unknown = [one for one in flags if one not in OPTIONS]
    if {"--help", "-h"} & set(given):
        _say(USAGE, sys.stdout)
        return EXIT_CLEAN
    if unknown or len(names) != 1:
        what = f"does not know the option {unknown[0]}" if unknown else f"takes one study, got {len(names)}"
        return _failed(
            BeforehandError(what, where="verify-prereg", mend=USAGE.partition("\n")[0]), as_json=as_json
        )
    try:
        result = verify(
            Path(names[0]),
            history="--history" in given,
            authority=Path(certificates[-1]) if certificates else None,
        )
    except BeforehandError as err:
        return _failed(err, as_json=as_json)
    except Exception:  # noqa: BLE001 - the last line of defence: a bug of ours, said as such
        import traceback  # noqa: PLC0415

        traceback.print_exc()
        _say("error: this is a bug in beforehand, please report it with the traceback", sys.stderr)
        return EXIT_OUR_BUG
    if as_json:
        _print_json({**result.document, "findings": [_shown(one) for one in result.findings]})
    else:
        _say("\n".join([result.text, *(str(finding) for finding in result.findings)]), sys.stdout)
    return result.exit_code


def _failed(err: BeforehandError, *, as_json: bool) -> int:
    if as_json:
        _print_json({"error": {"where": err.where, "what": err.what, "mend": err.mend}, "findings": []})
    else:
        _say(f"error: {err}", sys.stderr)
    return err.exit_code


def _shown(finding: Finding) -> dict[str, str]:
    return {"where": finding.where, "what": finding.what, "mend": finding.mend}


def _print_json(document: dict[str, object]) -> None:
    import json  # noqa: PLC0415 - loaded already by the record's reader; named here for this one call

    _say(json.dumps(document, indent=1, sort_keys=True), sys.stdout)


def _say(text: str, stream: TextIO) -> None:
    """Print foreign text with its control characters made visible, whatever the terminal can show."""
    shown = "\n".join(printable(line) for line in text.split("\n"))
    encoding = stream.encoding or "utf-8"
    print(shown.encode(encoding, "backslashreplace").decode(encoding), file=stream)


if __name__ == "__main__":
    raise SystemExit(main())
