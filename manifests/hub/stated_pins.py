"""Pins against the Hub: each must be a full commit of a repository that is there, under this name, and may be read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from manifests.errors import BeforehandError, Finding
from manifests.hub.cache import RepoKind, cached_path
from manifests.hub.client import Head, Hub
from manifests.hub.failures import GatedError, MissingRepoError, UnreachableError, VanishedError
from manifests.hub.layout import Place
from manifests.tokenizers import Tokenizer, read_tokenizer

FULL_SHA = re.compile(r"[0-9a-f]{40}")
SHORT_SHA = re.compile(r"[0-9a-f]{7,39}")
TOKENIZER_FILE = "tokenizer.json"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class StatedPin:
    """A pin as somebody wrote it. where: the place that names it; revision: any text, or nothing."""

    where: str
    kind: RepoKind
    repo: str
    revision: str


def check_pins(pins: Sequence[StatedPin]) -> tuple[Finding, ...]:
    """Findings of all pins; each repository is asked about once a revision. Raises where the Hub cannot be asked."""
    hub = Hub()
    answers: dict[tuple[RepoKind, str, str], Finding | None] = {}
    findings = []
    for pin in sorted(pins):
        key = (pin.kind, pin.repo, pin.revision)
        if key not in answers:
            answers[key] = _check(hub, pin)
        said = answers[key]
        if said is not None:
            findings.append(Finding(where=pin.where, what=said.what, mend=said.mend))
    return tuple(findings)


def fetch_tokenizer(place: Place, *, name: str) -> Tokenizer:
    """The `tokenizer.json` of a model at a full commit."""
    if not FULL_SHA.fullmatch(place.revision):
        raise BeforehandError(
            f"{place.revision!r} is not a full commit", where=name, mend="write owner/name@ and 40 hex digits"
        )
    Hub().fetch(place, [TOKENIZER_FILE], kind="model")
    return read_tokenizer(cached_path(place, TOKENIZER_FILE, kind="model"), name=name)


def _check(hub: Hub, pin: StatedPin) -> Finding | None:
    """What is wrong with the pin; each kind of wrong has its own words."""
    named = f"{pin.kind} {pin.repo}"
    try:
        head = hub.head(pin.repo, revision=pin.revision or None, kind=pin.kind)
        if head.gated:
            hub.may_read(pin.repo, kind=pin.kind)
    except UnreachableError:
        raise
    except GatedError as err:
        return _finding(f"{named} is gated, and this account was not let in", err.mend)
    except MissingRepoError as err:
        return _finding(f"{named} is not there, or it is private and this token may not see it", err.mend)
    except VanishedError:
        return _finding(
            f"{named} has no revision {pin.revision!r}",
            "take the sha from the repository's list of commits; after a rewritten history the old one is gone",
        )
    except BeforehandError as err:
        return _finding(f"{named}: {err.what}", err.mend)
    if not FULL_SHA.fullmatch(pin.revision):
        return _finding(_moves(pin, head), f'revision = "{head.sha}"')
    if head.repo != pin.repo:
        return _finding(f"{named} is called {head.repo} now", f'repo = "{head.repo}"')
    return None


def _moves(pin: StatedPin, head: Head) -> str:
    if not pin.revision:
        return f"{pin.kind} {pin.repo} has no revision; its main branch is {head.sha} now"
    if SHORT_SHA.fullmatch(pin.revision):
        return (
            f"{pin.revision!r} is a short sha, which another commit may come to share; it is {head.sha} now"
        )
    return f"{pin.revision!r} is a branch or a tag, which moves; it is {head.sha} now"


def _finding(what: str, mend: str) -> Finding:
    return Finding(where="", what=what, mend=mend)
