"""Where a unit is worked on: `runs/UNIT/`, one file a stage, and the plan that the stages share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from manifests.errors import NotInOrderError
from manifests.files import inside, read_bytes
from manifests.jsonlines import parse_json_lines
from manifests.names import UnitId
from manifests.study import Study
from pipeline.prompts import PROMPTS_FILE, Prompts, read_prompts
from pipeline.run_settings import RUN_FILE, RunSettings, read_run_settings
from prereg.design import Design
from prereg.plan import UnitPlan, plan_problems, plan_unit
from prereg.planned import design_in_force, held_registration
from prereg.registration import FILE_NAME, read_registration

RUNS = "runs"
Problem = Mapping[str, JsonValue]
"""One problem as its file has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitFolder:
    """The files of a unit's stages."""

    path: Path

    @property
    def preflight(self) -> Path:
        """What was checked before anything was generated."""
        return self.path / "preflight.json"

    @property
    def estimate(self) -> Path:
        """The same in the words of `ledger estimate`."""
        return self.path / "estimate.toml"

    @property
    def prompts(self) -> Path:
        """Every prompt, as text and as token ids."""
        return self.path / "prompts.jsonl"

    @property
    def generations(self) -> Path:
        """One line a sample."""
        return self.path / "generations.jsonl"

    @property
    def verdicts(self) -> Path:
        """One line a judged sample."""
        return self.path / "verdicts.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitWork:
    """A unit that may be worked on: the registration holds, and every file that moves a number is pinned by it."""

    study: Study
    design: Design
    plan: UnitPlan
    problems: Mapping[str, Problem]
    """By id, in order; the protocol's subset only."""
    prompts: Prompts
    settings: RunSettings
    registration_sha256: str

    @property
    def folder(self) -> UnitFolder:
        """Where its stages write."""
        return UnitFolder(path=self.study.root / RUNS / str(self.plan.unit))


def open_unit(root: Path, unit: UnitId) -> UnitWork:
    """The unit with everything that its stages read. Raises NotInOrderError (exit 1) without a valid freeze."""
    study, design, digest = open_frozen(root)
    plan = plan_unit(design, unit)
    return UnitWork(
        study=study,
        design=design,
        plan=plan,
        problems=_problems(design, plan, root),
        prompts=read_prompts(root),
        settings=read_run_settings(root),
        registration_sha256=digest,
    )


def open_frozen(root: Path) -> tuple[Study, Design, str]:
    """The study, the design in force, and the digest of the frozen block; refused unless verify finds nothing and nobody withdrew it."""
    study = Study.open(root)
    result = held_registration(root)
    if result.expected is None:
        raise NotInOrderError(
            "the registration is not frozen, so nothing may be generated",
            where=str(study.registration_path),
            mend="beforehand prereg freeze, commit, then run",
        )
    registration = read_registration(study.freeze_record_path)
    pinned = {file.path for file in registration.pinned}
    missing = sorted({RUN_FILE, PROMPTS_FILE} - pinned)
    if missing:
        raise NotInOrderError(
            f"the registration does not pin {' and '.join(missing)}, which can move every number",
            where=FILE_NAME,
            mend=f'a design for `run` has pinned = ["{RUN_FILE}", "{PROMPTS_FILE}"]',
        )
    return study, design_in_force(root), result.expected


def _problems(design: Design, plan: UnitPlan, root: Path) -> dict[str, Problem]:
    checked = plan_problems(design, plan.unit.benchmark, root, protocol=plan.protocol)
    path = inside(root, design.benchmarks[plan.unit.benchmark].problems, where="design")
    lines = parse_json_lines(read_bytes(path), where=path.name).records
    by_id: dict[str, Problem] = {str(line.value["problem_id"]): line.value for line in lines}
    return {problem_id: by_id[problem_id] for problem_id in checked.ids}
