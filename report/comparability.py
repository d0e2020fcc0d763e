"""Whether two sides may be compared: equal in all that the protocol fixes but for what the endpoint lets vary."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from manifests.records import UnitRecord
from prereg.design import ResolvedSide
from prereg.endpoints import Varies
from report.samples import Samples

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


def shortfalls(side: ResolvedSide, samples: Samples, *, n_problems: int) -> tuple[str, ...]:
    """What is missing of a side's planned rows and verdicts, in the round that its metric reads.

    A record counts all rounds together, so a row of a later round could stand in for a missing one: `samples` are counted.
    """
    planned, judged = n_problems * side.sampling.samples, len(samples.correct)
    got = judged + samples.n_unjudged
    missing = []
    if got < planned:
        missing.append(
            f"{planned - got} of {planned} planned rows of {side.unit} ({side.sampling.name}) are missing"
        )
    if judged < got:
        missing.append(f"{got - judged} of {got} rows of {side.unit} ({side.sampling.name}) have no verdict")
    return tuple(missing)


def _sampling(record: UnitRecord, name: str) -> dict[str, JsonValue]:
    samplings = record.protocol.get("sampling")
    chosen = samplings.get(name) if isinstance(samplings, dict) else None
    return chosen if isinstance(chosen, dict) else {}
