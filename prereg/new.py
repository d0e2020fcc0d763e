"""A new study: a folder with a commented registration, an empty log and an empty ledger."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from ledger.layout import empty_ledger
from manifests.errors import BeforehandError
from manifests.files import write_atomically
from manifests.names import is_slug

if TYPE_CHECKING:  # pyarrow: only a draft pays for it
    from manifests.importers.drafting import Draft

TEMPLATE = Path(__file__).parent / "template"
FILES = {
    "study.toml": "study.toml",
    "PREREGISTRATION.md": "PREREGISTRATION.md",
    "DECISIONS.md": "DECISIONS.md",
    ".gitattributes": "gitattributes",
}
"""File of the study -> file of the template."""


FENCE = re.compile(r"(?<=^```toml design\n).*?(?=^```$)", re.DOTALL | re.MULTILINE)


def new_study(folder: Path, draft: Draft | None = None) -> tuple[Path, ...]:
    """The folder holds a study named after it. Refuses a folder with anything in it, and a name that is no slug.

    draft: stands in place of the template's design, with its files.
    """
    name = folder.name
    if not is_slug(name):
        raise BeforehandError(
            f"{name!r} is no name for a study",
            where=str(folder),
            mend="use a letter or digit, then lower-case letters, digits, _ or -, at most 48 in all",
        )
    if any(parent.exists() and not parent.is_dir() for parent in folder.parents):
        raise BeforehandError("lies below a file", where=str(folder), mend="name another folder")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BeforehandError("exists and is not empty", where=str(folder), mend="name a new folder")
    title = name.replace("-", " ").replace("_", " ").capitalize()
    for file, template in FILES.items():
        text = (TEMPLATE / template).read_text(encoding="utf-8")
        filled = text.replace("{name}", name).replace("{title}", title)
        if draft is not None:
            filled = FENCE.sub(lambda _: draft.fence, filled)
        write_atomically(folder / file, filled.encode("utf-8"))
    drafted = () if draft is None else draft.files
    for file, data in (("ledger.csv", empty_ledger()), *drafted):
        write_atomically(folder / file, data)
    return tuple(folder / file for file in (*FILES, "ledger.csv", *(file for file, _ in drafted)))
