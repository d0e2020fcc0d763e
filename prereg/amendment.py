"""An amendment as its author writes it, and the entry that it becomes below the block."""

from typing import Literal

from pydantic import model_validator

from manifests.documents import Document, parse_toml
from prereg.endpoints import EndpointId
from prereg.systems import Sentence

FENCE_INFO = "toml amendment"
Kind = Literal["disclosure", "clarification", "change", "deviation", "proposal", "withdrawal"]
CHANGING = ("change", "deviation", "proposal")

TEMPLATE = '''# One amendment. Fill in, then: beforehand prereg amend STUDY THIS_FILE
id = "A1"
kind = "disclosure"           # disclosure, clarification, change, deviation, proposal (not in force) or withdrawal
registered = "what the block says"
now = "what is the case, or what shall hold from now on"
reason = "why"
seen = "in words: what anybody had seen of the results when this was decided"
touches = []                  # endpoints; those whose tables change are added by themselves
# level = "results"           # nothing, generations, verdicts, results: may be raised above what the data show, never lowered
# result_before = "the result under the registered plan, if there is one"
# confirms = "A1"             # puts a proposal in force
# design = """                # whole tables that replace those of the design
# [endpoints.P1]
# """
'''


class Amendment(Document):
    """What the author gives. design: TOML of whole tables that replace those of the design of the same name."""

    id: EndpointId
    kind: Kind
    registered: Sentence
    now: Sentence
    reason: Sentence
    seen: Sentence
    touches: tuple[EndpointId, ...] = ()
    level: Literal["nothing", "generations", "verdicts", "results"] | None = None
    result_before: Sentence | None = None
    confirms: EndpointId | None = None
    design: Sentence | None = None

    @model_validator(mode="after")
    def _kind_fits(self) -> "Amendment":
        if self.design is not None and self.kind not in CHANGING:
            raise ValueError(f"a {self.kind} changes no table: make it a {', a '.join(CHANGING)}")
        if self.confirms is not None and self.kind != "change":
            raise ValueError("only a change confirms a proposal")
        if self.confirms is not None and self.design is not None:
            raise ValueError("a confirmation takes the proposal's tables: give no `design`")
        return self

    def tables(self) -> dict[str, object]:
        """The tables of `design`; raises BeforehandError when they are not TOML."""
        return {} if self.design is None else parse_toml(self.design.encode(), where=f"{self.id} design")


def render(
    amendment: Amendment, *, day: str, touches: tuple[str, ...], seen: str, stated: str, why: str
) -> str:
    """The entry's text. seen: the level that the data show; stated: the author's; why: what the first rests on."""
    level = stated if stated == seen else f"{stated}, raised by the author above {seen}"
    paragraphs = [
        f"### {amendment.id} · {day} · {amendment.kind}",
        f"Touches: {', '.join(touches) or 'no endpoint'}. Seen: {level}" + (f" ({why})." if why else "."),
        f"**Registered.** {amendment.registered.strip()}",
        f"**Now.** {amendment.now.strip()}",
        f"**Reason.** {amendment.reason.strip()}",
        f"**What had been seen.** {amendment.seen.strip()}",
    ]
    if amendment.kind == "proposal":
        paragraphs.insert(1, "**Proposed, not in force.**")
    if amendment.confirms is not None:
        paragraphs.append(f"**Puts in force** the proposal {amendment.confirms}.")
    if amendment.result_before is not None:
        paragraphs.append(f"**Result before.** {amendment.result_before.strip()}")
    if amendment.design is not None:
        paragraphs.append(f"```{FENCE_INFO}\n{amendment.design.strip()}\n```")
    return "\n" + "\n\n".join(paragraphs) + "\n\n"
