"""RFC 3161 timestamps: a token from an authority says when the record existed at the latest. Standard library only.

A token is read and held against the record without any help. Its signature is checked by the `openssl` command against the
authority's certificate, which the reader must have from somewhere trustworthy; without the two, verify says that the signature
was not checked, and then anybody could have written the token.
"""

from __future__ import annotations

import secrets
import subprocess
import urllib.error
import urllib.request
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from manifests.digests import sha256_file
from manifests.errors import BeforehandError, CapabilityMissingError, Finding
from manifests.files import read_bytes
from prereg.der import (
    BOOLEAN,
    INTEGER,
    OCTETS,
    OID,
    SEQUENCE,
    TIME,
    DerError,
    Element,
    read_all,
    write,
    write_integer,
)
from prereg.registration import FILE_NAME as RECORD_NAME
from prereg.registration import Registration, write_once

FILE_NAME = "registration.tsr"
SHA256 = bytes.fromhex("608648016503040201")
SIGNED_DATA, TST_INFO = bytes.fromhex("2a864886f70d010702"), bytes.fromhex("2a864886f70d0109100104")
EXPLICIT_0 = 0xA0
GRANTED = (0, 1)
TIMEOUT_S = 30
MOST_BYTES = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """What an authority signed: a digest, the time, and the nonce of the request if it was given back."""

    sha256: str
    at: datetime
    nonce: int | None

    @property
    def at_utc(self) -> str:
        """The time as it is printed."""
        return self.at.strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """What verify says of the timestamp. state: owed, or the time with the word on its signature."""

    state: str
    findings: tuple[Finding, ...] = ()


def request(sha256: str, nonce: int) -> bytes:
    """A TimeStampReq for the digest, asking for the authority's certificate."""
    algorithm = write(SEQUENCE, write(OID, SHA256), write(0x05))
    imprint = write(SEQUENCE, algorithm, write(OCTETS, bytes.fromhex(sha256)))
    return write(SEQUENCE, write_integer(1), imprint, write_integer(nonce), write(BOOLEAN, b"\xff"))


def read_response(data: bytes) -> Token:
    """The token of a TimeStampResp; raises DerError when it is none, or says that nothing was granted."""
    response = _only(data)
    if response.tag != SEQUENCE:
        raise DerError("is no timestamp response")
    status = int.from_bytes(response.child(0, SEQUENCE).child(0, INTEGER).content, "big")
    if status not in GRANTED:
        raise DerError(f"the authority granted nothing (status {status})")
    token = response.child(1, SEQUENCE)
    if token.child(0, OID).content != SIGNED_DATA:
        raise DerError("holds no signed data")
    inner = token.child(1, EXPLICIT_0).child(0, SEQUENCE).child(2, SEQUENCE)
    if inner.child(0, OID).content != TST_INFO:
        raise DerError("signs something else than a timestamp")
    info = _only(inner.child(1, EXPLICIT_0).child(0, OCTETS).content)
    imprint = info.child(2, SEQUENCE)
    if imprint.child(0, SEQUENCE).child(0, OID).content != SHA256:
        raise DerError("is over another digest than sha256")
    nonces = [one for one in info.children()[5:] if one.tag == INTEGER]
    return Token(
        sha256=imprint.child(1, OCTETS).content.hex(),
        at=_time(info.child(4, TIME).content),
        nonce=int.from_bytes(nonces[0].content, "big") if nonces else None,
    )


def _only(data: bytes) -> Element:
    elements = read_all(data)
    if len(elements) != 1:
        raise DerError(f"is no timestamp response: {len(elements)} elements instead of one")
    return elements[0]


def _time(content: bytes) -> datetime:
    text = content.decode("ascii", "replace").removesuffix("Z").partition(".")[0]
    try:
        return datetime.strptime(text, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except ValueError as err:
        raise DerError(f"gives {text!r} for a time") from err


def stamp(study: Path, url: str) -> Token:
    """The record has a token, stored beside it as `registration.tsr`, once."""
    if not url.startswith(("http://", "https://")):
        raise BeforehandError(
            f"{url!r} is no web address", where="--timestamp", mend="give http://… or https://…"
        )
    target = study / FILE_NAME
    if target.exists():
        raise BeforehandError("exists already", where=str(target), mend="a record is stamped once")
    digest, nonce = sha256_file(study / RECORD_NAME), secrets.randbits(63)
    query = urllib.request.Request(  # noqa: S310 - the scheme is checked above
        url, data=request(digest, nonce), headers={"Content-Type": "application/timestamp-query"}
    )
    try:
        with urllib.request.urlopen(query, timeout=TIMEOUT_S) as answer:  # noqa: S310
            data = answer.read(MOST_BYTES)
    except (urllib.error.URLError, OSError, ValueError) as err:
        mend = "the freeze stands; try again later: beforehand prereg timestamp STUDY --url URL"
        raise CapabilityMissingError(f"the authority did not answer: {err}", where=url, mend=mend) from err
    try:
        token = read_response(data)
    except DerError as err:
        raise BeforehandError(f"the answer {err}", where=url, mend="ask another authority") from err
    if token.sha256 != digest or token.nonce != nonce:
        raise BeforehandError("the answer is for another request", where=url, mend="ask another authority")
    write_once(target, data)
    return token


def check_stamp(study: Path, record: Registration, *, authority: Path | None) -> Stamp:
    """The token held against the record, and its signature against the authority's certificate when one is given."""
    path = study / FILE_NAME
    if not path.exists():
        return Stamp(state="owed")
    try:
        token = read_response(read_bytes(path))
    except ValueError as err:
        return Stamp(
            state="unreadable", findings=(Finding(where=FILE_NAME, what=str(err), mend="restore it"),)
        )
    findings = []
    if token.sha256 != sha256_file(study / RECORD_NAME):
        findings.append(
            Finding(
                where=FILE_NAME,
                what="stamps another record than the one that is here",
                mend="restore the record",
            )
        )
    if (token.at + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ") < record.frozen_at:
        what = f"states {record.frozen_at}, and was stamped before that, at {token.at_utc}"
        findings.append(
            Finding(where=f"{RECORD_NAME} frozen_at", what=what, mend="the clock that froze it was wrong")
        )
    if authority is None:
        return Stamp(
            state=f"{token.at_utc}, signature not checked (give --authority CERTIFICATE)",
            findings=tuple(findings),
        )
    reason = _signature_fault(study, path, authority)
    if reason is None:
        return Stamp(state=f"{token.at_utc}, signed by the given authority", findings=tuple(findings))
    findings.append(
        Finding(
            where=FILE_NAME,
            what=f"the signature does not hold: {reason}",
            mend="is it the right certificate?",
        )
    )
    return Stamp(state=f"{token.at_utc}, signature does not hold", findings=tuple(findings))


def _signature_fault(study: Path, token: Path, authority: Path) -> str | None:
    read_bytes(authority)
    try:
        finished = subprocess.run(  # noqa: S603 - a fixed command, no shell
            ["openssl", "ts", "-verify", "-data", str((study / RECORD_NAME).resolve()), "-in", str(token.resolve()), "-CAfile", str(authority.resolve())],  # noqa: S607
            capture_output=True,
            check=False,
            timeout=TIMEOUT_S,
        )  # fmt: skip
    except FileNotFoundError as err:
        raise CapabilityMissingError(
            "openssl is not installed", where="--authority", mend="install it, or verify without"
        ) from err
    said = (finished.stdout + finished.stderr).decode("utf-8", "replace")
    if finished.returncode == 0 and "Verification: OK" in said:
        return None
    return next(
        (
            line.rpartition(":")[0].rpartition(":")[2] or line
            for line in said.splitlines()
            if "error:" in line
        ),
        said.strip()[:200],
    )
