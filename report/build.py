"""The builder: a function from the bytes of a study to the bytes of its bundle."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from manifests.documents import dump_document
from manifests.errors import Finding
from manifests.study import Study
from report.aggregate import Aggregate, RegistrationNode
from report.bundle import write_bundle
from report.endpoints import compute_endpoints, compute_exploratory
from report.evidence import Evidence, load_evidence
from report.figures import GainRow, encode, gains_figure
from report.manifest import make_manifest
from report.sentences import conclusion_word, sides_phrase
from report.summaries import summarise_money, summarise_units
from report.view import View, make_view

NO_WITNESS = "no witness recorded: the freeze does not say where data were looked for"


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """A bundle in memory. findings: what a reader must know is wrong; the bundle is whole all the same."""

    files: dict[str, bytes]
    aggregate: Aggregate
    findings: tuple[Finding, ...]


def build(study_root: Path) -> Build:
    """The bundle of the study as it lies on disk; nothing is written."""
    evidence = load_evidence(Study.open(study_root))
    aggregate = make_aggregate(evidence)
    view = make_view(evidence, aggregate)
    figure = gains_figure(_gain_rows(aggregate))
    files = {
        "README.md": render("README.md.j2", view),
        "summary.md": render("summary.md.j2", view),
        "aggregate.json": dump_document(aggregate),
        "figures/gains.png": encode(figure, "png"),
        "figures/gains.svg": encode(figure, "svg"),
    }
    files["MANIFEST.json"] = make_manifest(evidence, files)
    return Build(files=files, aggregate=aggregate, findings=_findings(evidence))


def build_and_write(study_root: Path) -> tuple[Build, tuple[str, ...]]:
    """The bundle on disk, and which of its files changed."""
    built = build(study_root)
    return built, write_bundle(study_root / "report", built.files)


def make_aggregate(evidence: Evidence) -> Aggregate:
    """Every number of the report."""
    verification = evidence.verification
    return Aggregate(
        format="aggregate/1",
        study=evidence.study.config.name,
        registration=RegistrationNode(
            status=verification.status,
            block_sha256=verification.expected,
            frozen_at=verification.frozen_at,
            witness=evidence.witness.sentence if evidence.witness else NO_WITNESS,
        ),
        endpoints=compute_endpoints(evidence),
        exploratory=compute_exploratory(evidence),
        units=summarise_units(evidence),
        money=summarise_money(evidence),
        warnings=tuple(f"{finding.where}: {finding.what}" for finding in evidence.findings),
    )


def render(template: str, view: View) -> bytes:
    """A template of ours, filled; a name that the view lacks is a bug."""
    environment = Environment(
        loader=PackageLoader("report"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - Markdown; `report.markdown` escapes foreign text
    )
    return environment.get_template(template).render(view=view).encode()


def _gain_rows(aggregate: Aggregate) -> list[GainRow]:
    return [
        GainRow(
            name=f"{name}  {node.estimate.name}" if node.estimate else name,
            sides=sides_phrase(node),
            gain=node.estimate.value if node.estimate else None,
            low=node.estimate.ci.low if node.estimate and node.estimate.ci else None,
            high=node.estimate.ci.high if node.estimate and node.estimate.ci else None,
            planned=node.label != "exploratory",
            primary=node.role == "primary",
            note=conclusion_word(node),
        )
        for name, node in {**aggregate.endpoints, **aggregate.exploratory}.items()
    ]


def _findings(evidence: Evidence) -> tuple[Finding, ...]:
    status = evidence.verification.status
    if status == "unchanged":
        return evidence.findings
    broken = Finding(
        where="PREREGISTRATION.md",
        what=f"the registration is {status.replace('_', ' ')}; the bundle carries a banner",
        mend="beforehand prereg freeze STUDY" if status == "not_frozen" else "beforehand prereg verify STUDY",
    )
    return (broken, *evidence.findings)
