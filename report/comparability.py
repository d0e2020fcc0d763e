"""Whether two sides may be compared: equal in all that the protocol fixes but for what the endpoint lets vary."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from manifests.records import Counts, UnitRecord
from prereg.endpoints import Varies

SAMPLING_FIELDS: Mapping[str, Varies] = {
    "temperature": "sampling",
    "top_p": "sampling",
    "top_k": "sampling",
    "prompt": "prompt",
}


def disagreements(
    baseline: UnitRecord, candidate: UnitRecord, *, samplings: tuple[str, str], varies: tuple[Varies, ...]
) -> tuple[str, ...]:
    """Every field in which the two records differ though it may not; each names both values."""
    pairs: list[tuple[str, Varies | None, JsonValue, JsonValue]] = [
        ("problem set", None, baseline.benchmark.sha256, candidate.benchmark.sha256),
        (
            "verifier",
            "verifier",
            baseline.verifier.model_dump(mode="json"),
            candidate.verifier.model_dump(mode="json"),
        ),
        (
            "verifier settings",
            "verifier",
            baseline.protocol.get("verifier"),
            candidate.protocol.get("verifier"),
        ),
        (
            "cap_tokens",
            "cap_tokens",
            baseline.protocol.get("cap_tokens"),
            candidate.protocol.get("cap_tokens"),
        ),
    ]
    first, second = _sampling(baseline, samplings[0]), _sampling(candidate, samplings[1])
    pairs.extend((name, kind, first.get(name), second.get(name)) for name, kind in SAMPLING_FIELDS.items())
    if "prompt" not in varies:
        pairs.append(("prompts_sha256", "prompt", baseline.prompts_sha256, candidate.prompts_sha256))
    return tuple(
        f"{name} differs: {left!r} for the baseline, {right!r} for the candidate"
        for name, kind, left, right in pairs
        if left != right and kind not in varies
    )


def shortfalls(record: UnitRecord, sampling: str) -> tuple[str, ...]:
    """What is missing of the planned rows and verdicts of one sampling."""
    counts = record.counts.get(sampling, Counts(planned=0, got=0, judged=0, correct=0))
    missing = []
    if counts.got < counts.planned:
        missing.append(
            f"{counts.planned - counts.got} of {counts.planned} planned rows of {record.unit} ({sampling}) are missing"
        )
    if counts.judged < counts.got:
        missing.append(
            f"{counts.got - counts.judged} of {counts.got} rows of {record.unit} ({sampling}) have no verdict"
        )
    return tuple(missing)


def _sampling(record: UnitRecord, name: str) -> dict[str, JsonValue]:
    samplings = record.protocol.get("sampling")
    chosen = samplings.get(name) if isinstance(samplings, dict) else None
    return chosen if isinstance(chosen, dict) else {}
