"""Foreign text made safe to show. Standard library only."""

from __future__ import annotations

import re

CONTROL_CHARACTERS = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]"
)


def printable(text: str) -> str:
    """Foreign text for a terminal or a page: control and direction characters shown as ⟨ESC⟩, ⟨U+202E⟩."""
    names = {"\n": "⟨LF⟩", "\r": "⟨CR⟩", "\t": "⟨TAB⟩", "\x1b": "⟨ESC⟩", "\x00": "⟨NUL⟩"}
    shown = CONTROL_CHARACTERS.sub(lambda match: names.get(match[0], f"⟨U+{ord(match[0]):04X}⟩"), text)
    return shown.encode("utf-8", "replace").decode("utf-8")
