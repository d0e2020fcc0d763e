"""Where a study keeps its ledger, and the name that starts its chain."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from manifests.errors import BeforehandError
from manifests.files import read_text


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerPlace:
    """The file and the study's name."""

    path: Path
    study_name: str


def find_ledger(study: Path) -> LedgerPlace:
    """The ledger of the study folder; its name is the key `name` of study.toml."""
    settings = study / "study.toml"
    text = read_text(settings, mend="give the folder of a study; `beforehand new` makes one")
    try:
        name = tomllib.loads(text).get("name")
    except tomllib.TOMLDecodeError as err:
        raise BeforehandError(f"is not TOML: {err}", where=str(settings)) from err
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        raise BeforehandError("names no study", where=str(settings), mend='write name = "the-study"')
    return LedgerPlace(path=study / "ledger.csv", study_name=name)
