"""`beforehand run problems|preflight|generate|verify|rows|all`."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from manifests.console import Outcome, note, reporting
from manifests.console import run as run_command
from manifests.names import UnitId

STUDY = click.argument("study", type=click.Path(path_type=Path))
UNIT = click.option(
    "--unit",
    "unit_text",
    required=True,
    metavar="ID",
    help="system.benchmark.protocol, as the design plans it.",
)
WAIT = click.option(
    "--wait", "wait_s", type=click.FloatRange(min=0), default=0.0, show_default=True, metavar="S",
    help="How long to wait for the machine's heavy-job lock.",
)  # fmt: skip


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def run() -> None:
    """Generate, verify, and make rows: each stage can be stopped at any moment and started again."""


@run.command("problems")
@click.argument("source", type=click.Path(path_type=Path))
@click.argument("target", type=click.Path(path_type=Path))
@click.option(
    "--id", "id_field", default="problem_id", show_default=True, help="The source's field with the id."
)
@click.option(
    "--text", "text_field", default="question", show_default=True, help="The field with the problem's text."
)
@click.option(
    "--reference", "reference_field", help="The field to judge by; default: gold, answer or formal_statement."
)
@reporting
def problems_command(
    source: Path, target: Path, id_field: str, text_field: str, reference_field: str | None
) -> Outcome:
    """Write SOURCE (JSONL or Parquet) as the canonical problem set TARGET, with its manifest."""
    from pipeline.problem_sets import ProblemFields, write_problem_set  # noqa: PLC0415 - each command imports what it needs

    fields = ProblemFields(id=id_field, text=text_field, reference=reference_field)
    manifest = write_problem_set(source, target, fields=fields)
    text = f"{target}: {manifest.n} problems\nsha256 {manifest.sha256}"
    return Outcome(text=text, document=manifest.model_dump(mode="json"))


@run.command("preflight")
@STUDY
@UNIT
@reporting
def preflight_command(study: Path, unit_text: str) -> Outcome:
    """Check prompts, windows and digests, before anything is drawn."""
    from pipeline.preflight import preflight  # noqa: PLC0415
    from pipeline.unit_work import open_unit  # noqa: PLC0415

    ready = preflight(open_unit(study, UnitId.parse(unit_text, where="--unit")))
    ready.engine.close()
    document = ready.document
    text = "\n".join(
        [
            f"{document.unit}: {document.n_rows} rows",
            f"longest prompt {document.longest_prompt_tokens} tokens, window {document.window_tokens}",
            f"clipped by the window: {document.n_clipped} rows, {document.n_unfit} of them without any room",
            f"prompts sha256 {document.prompts_sha256}",
        ]
    )
    return Outcome(text=text, document=document.model_dump(mode="json"))


@run.command("generate")
@STUDY
@UNIT
@WAIT
@reporting
def generate_command(study: Path, unit_text: str, wait_s: float) -> Outcome:
    """Draw every planned sample of a unit that is not there yet."""
    from pipeline.stages import run_generate  # noqa: PLC0415

    done = run_generate(study, UnitId.parse(unit_text, where="--unit"), wait_s=wait_s)
    if done.dropped_bytes:
        note(f"dropped a torn last line of {done.dropped_bytes} bytes that a killed process had left")
    text = f"{unit_text}: {done.drawn} samples drawn, {done.resumed} were there, {done.planned} planned"
    return Outcome(
        text=text,
        document={
            "unit": unit_text,
            "planned": done.planned,
            "resumed": done.resumed,
            "drawn": done.drawn,
            "dropped_bytes": done.dropped_bytes,
        },
    )


@run.command("verify")
@STUDY
@UNIT
@WAIT
@reporting
def verify_command(study: Path, unit_text: str, wait_s: float) -> Outcome:
    """Judge every sample of a unit that has no verdict yet."""
    from pipeline.stages import run_verify  # noqa: PLC0415

    done = run_verify(study, UnitId.parse(unit_text, where="--unit"), wait_s=wait_s)
    if done.dropped_bytes:
        note(f"dropped a torn last line of {done.dropped_bytes} bytes that a killed process had left")
    counts = ", ".join(f"{count} {status.replace('_', ' ')}" for status, count in done.by_status.items())
    lines = [f"{unit_text}: {done.judged} samples judged, {done.resumed} were judged", f"  {counts}"]
    lines += [f"  {done.restarts} workers were replaced"] if done.restarts else []
    return Outcome(
        text="\n".join(lines),
        document={
            "unit": unit_text,
            "judged": done.judged,
            "resumed": done.resumed,
            "restarts": done.restarts,
            "dropped_bytes": done.dropped_bytes,
            "by_status": dict(done.by_status),
        },
    )


@run.command("rows")
@STUDY
@UNIT
@reporting
def rows_command(study: Path, unit_text: str) -> Outcome:
    """Join generations and verdicts into the unit's rows, and write its record."""
    from pipeline.stages import run_rows  # noqa: PLC0415

    done = run_rows(study, UnitId.parse(unit_text, where="--unit"))
    lines = [f"{done.record.unit}: {'written' if done.written else 'was there already, unchanged'}"]
    lines += [
        f"  {name}: {counts.got} of {counts.planned} planned rows, {counts.judged} judged, {counts.correct} correct"
        for name, counts in done.record.counts.items()
    ]
    return Outcome(
        text="\n".join(lines),
        document={"unit": unit_text, "written": done.written, "record": done.record.model_dump(mode="json")},
    )


@run.command("all")
@STUDY
@click.option("--unit", "unit_texts", multiple=True, metavar="ID", help="Only this unit; may be given twice.")
@WAIT
@click.option("--print", "only_print", is_flag=True, help="List what would run, and run nothing.")
@reporting
def all_command(study: Path, unit_texts: tuple[str, ...], wait_s: float, *, only_print: bool) -> Outcome:
    """Run every stage that is left of every unit whose model exists.

    Exits 3 when a stage stands still, 143 on SIGTERM; the same command continues.
    """
    from pipeline.supervisor import Supervisor, plan_steps  # noqa: PLC0415

    units = [UnitId.parse(text, where="--unit") for text in unit_texts]
    if only_print:
        steps = plan_steps(study, units, wait_s=wait_s)
        lines = [shlex.join(step.command) for step in steps]
        return Outcome(
            text="\n".join(lines) or "nothing is left to run",
            document={"commands": [list(s.command) for s in steps]},
        )
    steps = Supervisor(study, wait_s=wait_s).run(units)
    done = [f"{step.unit} {step.stage}" for step in steps]
    return Outcome(text="\n".join(done) or "nothing was left to run", document={"ran": done})


if __name__ == "__main__":
    run_command(run, name="beforehand run")
