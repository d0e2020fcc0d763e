"""What the Hub client raises, as errors that say what, where and the mend. No token ever stands in one."""

from __future__ import annotations

import errno
import re

import httpx2
from huggingface_hub import get_token
from huggingface_hub.errors import (
    DisabledRepoError,
    FileMetadataError,
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    LocalTokenNotFoundError,
    OfflineModeIsEnabled,
    RemoteEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from manifests.errors import BeforehandError, CapabilityMissingError
from manifests.hub.failures import (
    GatedError,
    MissingEntryError,
    MissingRepoError,
    StaleParentError,
    UnreachableError,
    VanishedError,
)

TOKEN_PATTERN = re.compile(r"hf_[A-Za-z0-9_]{8,}|(?<=[Bb]earer )\S+")
DISK = (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOSPC, errno.EDQUOT, errno.ENOTDIR)
SHOWN_CHARACTERS = 300
LOG_IN = "log in with `hf auth login`, or set HF_TOKEN to a token of the account"


def without_token(text: str) -> str:
    """The text with anything that looks like a token, and the token in use, blotted out."""
    token = get_token()
    shown = text.replace(token, "<token>") if token else text
    return TOKEN_PATTERN.sub("<token>", shown)


def translated(err: Exception, *, where: str) -> BeforehandError:
    """The client's error in our words; an error that is not the Hub's, the network's or the disk's is raised as it is."""
    if isinstance(err, LocalEntryNotFoundError):
        return _hidden(err, where=where)
    if isinstance(err, HfHubHTTPError):
        return _answered(err, where=where)
    if isinstance(err, OfflineModeIsEnabled):
        what = "may not be asked: offline mode is set in the environment"
        return CapabilityMissingError(what, where=where, mend="unset HF_HUB_OFFLINE")
    if isinstance(err, LocalTokenNotFoundError):
        return BeforehandError("needs a token, and there is none", where=where, mend=LOG_IN)
    if isinstance(err, HFValidationError):
        return BeforehandError(_line(err), where=where, mend="write owner/name")
    if isinstance(err, httpx2.TimeoutException):
        return _unreachable("did not answer in time", where=where)
    if isinstance(err, httpx2.TransportError | ConnectionError):
        return _unreachable(f"cannot be reached: {_line(err)}", where=where, retry_after_s=0)
    if isinstance(err, OSError):
        return _disk_or_body(err, where=where)
    raise err


def _hidden(err: LocalEntryNotFoundError, *, where: str) -> BeforehandError:
    """The client tried for long, then looked in its cache, and says only the latter. What really happened is the cause."""
    if not isinstance(err.__cause__, Exception):
        return _unreachable("could not be asked, and the file is not in the cache", where=where)
    said = translated(err.__cause__, where=where)
    if isinstance(said, UnreachableError):
        said.retry_after_s = None
    return said


def _disk_or_body(err: OSError, *, where: str) -> BeforehandError:
    if err.errno in DISK:
        return BeforehandError(
            f"the Hub client's cache cannot be written: {err.strerror}",
            where=str(err.filename or ""),
            mend="make the folder writable, free some space, or point HF_HOME to another folder",
        )
    if isinstance(err, FileMetadataError):
        return _unreachable("answered without the headers of the Hub", where=where)
    # "Consistency check failed": the body is not as long as was announced.
    return _unreachable(f"sent something else than it announced: {_line(err)}", where=where, retry_after_s=0)


ANSWERS: tuple[tuple[type[HfHubHTTPError], type[BeforehandError], str, str], ...] = (
    (
        GatedRepoError,  # a RepositoryNotFoundError too: it comes first
        GatedError,
        "is gated, and the account of this token was not let in",
        "ask for access on the repository's page, with the account that the token belongs to",
    ),
    (
        RepositoryNotFoundError,
        MissingRepoError,
        "is not there, or it is private and this token may not see it",
        f"mend the name (the repository was perhaps deleted), or {LOG_IN}",
    ),
    (DisabledRepoError, BeforehandError, "was disabled by the Hub", "its owner can ask the Hub why"),
    (
        RevisionNotFoundError,
        VanishedError,
        "this commit is not there: the history was rewritten, or the commit never was in this repository",
        "`beforehand units pull STUDY --refresh` says whether the same content lies in another commit",
    ),
    (
        RemoteEntryNotFoundError,
        MissingEntryError,
        "has no such file at this commit",
        "`beforehand units pull STUDY --refresh` says what the repository holds now",
    ),
)


def _answered(err: HfHubHTTPError, *, where: str) -> BeforehandError:
    for answer, kind, what, mend in ANSWERS:
        if isinstance(err, answer):
            return kind(what, where=where, mend=mend)
    status, said = err.response.status_code, _said(err)
    if status == 401:
        what = f"refused the token: it is missing, expired or revoked{said}"
        return BeforehandError(what, where=where, mend=LOG_IN)
    if status == 403:
        mend = "take a token with write access to this repository: docs/hub.md lists the scopes"
        return BeforehandError(f"the token has no right to do this{said}", where=where, mend=mend)
    if status == 412:
        return StaleParentError("another commit came first", where=where)
    if status == 429:
        return _unreachable(f"asks for a pause{said}", where=where, retry_after_s=_retry_after_s(err))
    if status >= 500:
        return _unreachable(f"answers {status}{said}", where=where, retry_after_s=0)
    return BeforehandError(f"refused the request with {status}{said}", where=where)


def _said(err: HfHubHTTPError) -> str:
    message = _line(err.server_message or "")
    return f" (it says: {message})" if message else ""


def _retry_after_s(err: HfHubHTTPError) -> float:
    try:
        return max(0.0, float(err.response.headers.get("Retry-After", "0")))
    except ValueError:
        return 0.0


def _unreachable(what: str, *, where: str, retry_after_s: float | None = None) -> UnreachableError:
    return UnreachableError(
        what,
        where=where,
        mend="try again later; what was already fetched or pushed is kept. Without the network: --offline",
        retry_after_s=retry_after_s,
    )


def _line(err: object) -> str:
    """The first line of a foreign message, cut short."""
    lines = [line.strip() for line in without_token(str(err)).splitlines() if line.strip()]
    return lines[0][:SHOWN_CHARACTERS] if lines else type(err).__name__ if isinstance(err, Exception) else ""
