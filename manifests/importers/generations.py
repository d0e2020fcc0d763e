"""Generations and verifications of a prover, as JSON lines: one file of samples, one of verdicts, joined by their key.

The fields are those of the contract in which such files were first described: a generation has problem_id, sample_idx, round,
cap_tokens, prompt_text, completion_text, completion_ids, finish_reason, lean_code and sampling; a verification has the same
key, accepted, reasons, verify_s and code_sha256, which pins the verdict to the code that it was given for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from manifests.digests import sha256_bytes
from manifests.errors import Finding, FindingsError
from manifests.importers.batches import RawRow, batches_of_raw_rows
from manifests.importers.jsonl import first_object, objects_of
from manifests.importers.logfiles import LogFile
from manifests.importers.mapping import RowMap
from manifests.importers.reading import Defaults, LogFacts, Part, Reading, Tally
from manifests.jsonlines import MOST_FINDINGS

NAME = "generations@1"
KEY = ("problem_id", "sample_idx", "round", "cap_tokens")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the verifier said of one sample."""

    accepted: object
    reasons: object
    code_sha256: str | None
    verify_s: object


class GenerationsImporter:
    """A file of generations and, beside it, the verifications; without those every verdict is null."""

    NAME = NAME

    def part(self, file: LogFile) -> Part | None:
        """Told apart by `completion_text` and `accepted`."""
        if not set(KEY) <= file.columns:
            return None
        if {"completion_text", "finish_reason"} <= file.columns:
            return "log"
        return "companion" if "accepted" in file.columns else None

    def read(
        self,
        log: LogFile,
        companions: Sequence[LogFile] = (),
        *,
        defaults: Defaults,
        row_map: RowMap | None = None,
    ) -> Reading:
        """Open both. Refused: a verdict for other code than the generation's, a verdict twice, one without generation."""
        del row_map
        path = log.path
        first = first_object(path).value
        sampling = first.get("sampling")
        settings = sampling if isinstance(sampling, dict) else {}
        tally = Tally()
        rows = _rows(path, [companion.path for companion in companions], defaults)
        return Reading(
            importer=NAME,
            files=(path, *(companion.path for companion in companions)),
            batches=batches_of_raw_rows(rows, path, tally, defaults),
            tally=tally,
            facts=LogFacts(
                system=first.get("model_path"),
                revision=first.get("model_rev"),
                temperature=settings.get("temperature"),
                top_p=settings.get("top_p"),
                cap_tokens=first.get("cap_tokens"),
                notes=() if companions else ("no verifications were named: every verdict is null",),
            ),
        )


def _rows(path: Path, verifications: Sequence[Path], defaults: Defaults) -> Iterator[RawRow]:
    findings: list[Finding] = []
    verdicts = _verdicts(verifications, findings)
    for line in objects_of(path):
        value = line.value
        place = f"{path.name}:{line.number}"
        verdict = verdicts.pop(_key(value), None)
        findings.extend(_contradictions(value, verdict, place))
        yield _row(value, verdict, place, line.size, defaults)
    findings.extend(
        Finding(where=" ".join(str(part) for part in key), what="has a verdict, and no generation")
        for key in list(verdicts)[:MOST_FINDINGS]
    )
    if findings:
        raise FindingsError(
            "generations and verdicts do not fit",
            tuple(findings[:MOST_FINDINGS]),
            where=str(path),
            mend="verify again what was generated again; nothing was written",
        )


def _row(
    value: Mapping[str, Any], verdict: Verdict | None, place: str, size: int, defaults: Defaults
) -> RawRow:
    sampling = value.get("sampling")
    settings = sampling if isinstance(sampling, dict) else {}
    first_round = value.get("round") == 0
    return RawRow(
        place=place,
        size=size,
        problem_id=value.get("problem_id"),
        sampling=defaults.sampling,
        sample_idx=value.get("sample_idx"),
        round=value.get("round"),
        cap_tokens=value.get("cap_tokens"),
        max_tokens=settings.get("max_tokens"),
        seed=settings.get("seed"),
        n_prompt_tokens=_length(value.get("prompt_ids")),
        n_completion_tokens=_length(value.get("completion_ids")),
        finish_reason=value.get("finish_reason"),
        completion=value.get("completion_text"),
        answer=value.get("lean_code"),
        correct=None if verdict is None else verdict.accepted,
        reasons=() if verdict is None else verdict.reasons or (),
        code_sha256=None if verdict is None else verdict.code_sha256,
        verify_s=None if verdict is None else verdict.verify_s,
        statement=value.get("prompt_text") if first_round else None,
    )


def _verdicts(paths: Sequence[Path], findings: list[Finding]) -> dict[tuple[Any, ...], Verdict]:
    found: dict[tuple[Any, ...], Verdict] = {}
    for path in paths:
        for line in objects_of(path):
            key = _key(line.value)
            if key in found:
                findings.append(
                    Finding(where=f"{path.name}:{line.number}", what="a second verdict on one sample")
                )
            code = line.value.get("code_sha256")
            found[key] = Verdict(
                line.value.get("accepted"), line.value.get("reasons"), code, line.value.get("verify_s")
            )
    return found


def _contradictions(value: Mapping[str, Any], verdict: Verdict | None, place: str) -> Iterator[Finding]:
    """The rules that every reader of these files enforces."""
    code = value.get("lean_code")
    if verdict is not None and verdict.code_sha256 and isinstance(code, str):
        digest = sha256_bytes(code.encode("utf-8", "surrogatepass"))
        if digest != verdict.code_sha256:
            what = f"its verdict is for code with sha256 {verdict.code_sha256[:12]}…, the code here has {digest[:12]}…"
            yield Finding(
                where=place, what=what, mend="it was generated again after it was verified: verify it again"
            )
    sampling = value.get("sampling")
    most = sampling.get("max_tokens") if isinstance(sampling, dict) else None
    cap = value.get("cap_tokens")
    if isinstance(most, int) and isinstance(cap, int) and most > cap:
        yield Finding(where=place, what=f"its max_tokens of {most} lies above its cap of {cap}")


def _key(value: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(value.get(name) for name in KEY)


def _length(tokens: object) -> int | None:
    return len(tokens) if isinstance(tokens, list) else None
