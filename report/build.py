"""The builder: a function from the bytes of a study to the bytes of its bundle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from manifests.documents import dump_document
from manifests.errors import Finding, FindingsError, NotInOrderError
from manifests.study import Study
from prereg.shown import BUNDLE_FILES
from prereg.verify import verify
from report.aggregate import Aggregate, Node, UnitNode
from report.bundle import write_bundle
from report.endpoints import Comparison, compute_endpoints, compute_exploratory, rows_compared
from report.evidence import NO_CLOCK, Evidence, load_evidence
from report.manifest import make_manifest
from report.money import summarise_money
from report.page import make_page, pictures
from report.page_html import write_html
from report.page_markdown import write_readme, write_summary
from report.pictures import draw
from report.provenance import make_provenance
from report.registration import summarise_registration
from report.reuse import NOTHING, Reusable, find_reusable
from report.unit_summaries import summarise_units, with_compared

BLOCK = "block.md"
"""The frozen block, byte for byte: a bundle shows what its digest is the digest of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """A bundle in memory. findings: what a reader must know is wrong; the bundle is whole all the same."""

    files: dict[str, bytes]
    aggregate: Aggregate
    findings: tuple[Finding, ...]


def build(study_root: Path, *, allow_unequal: bool = False, reusable: Reusable = NOTHING) -> Build:
    """The bundle of the study as it lies on disk; nothing is written.

    allow_unequal: compare sides that were not made alike, which the bundle records. reusable: what the last bundle holds of
    units and figures whose bytes are the same; a verification never reuses anything.
    """
    evidence = load_evidence(Study.open(study_root))
    comparisons = {
        **compute_endpoints(evidence, allow_unequal=allow_unequal),
        **compute_exploratory(evidence, allow_unequal=allow_unequal),
    }
    aggregate = make_aggregate(evidence, comparisons, allow_unequal=allow_unequal, known=reusable.units)
    page, numbers, narrative = make_page(evidence, aggregate, comparisons)
    readme, summary = write_readme(page), write_summary(page)
    digests = {str(unit): there.record_sha256 for unit, there in evidence.units.items()}
    figures = draw(pictures(page), reusable)
    files = {
        "README.md": readme.text.encode(),
        "summary.md": summary.text.encode(),
        BLOCK: evidence.block_text.encode(),
        "aggregate.json": dump_document(aggregate),
        "provenance.json": make_provenance(
            evidence, numbers, {"README.md": readme.lines, "summary.md": summary.lines}
        ),
        "report.html": write_html(page, numbers, digests),
        **figures.files,
    }
    findings = (*_findings(evidence), *narrative.findings)
    files["MANIFEST.json"] = make_manifest(
        evidence, files, drawings=figures.drawings, allow_unequal=allow_unequal, findings=findings
    )
    return Build(files=files, aggregate=aggregate, findings=findings)


def build_and_write(
    study_root: Path, *, allow_unequal: bool = False, fresh: bool = False
) -> tuple[Build, tuple[str, ...]]:
    """The bundle on disk, and which of its files changed. fresh: compute everything anew.

    Raises BundleWouldBeLostError where the bundle that is there shows another registration than the study holds.
    """
    folder = study_root / "report"
    _refuse_to_lose(study_root)
    reusable = NOTHING if fresh else find_reusable(folder)
    built = build(study_root, allow_unequal=allow_unequal, reusable=reusable)
    return built, write_bundle(folder, built.files)


def bundle_findings(study_root: Path) -> tuple[Finding, ...]:
    """Where the bundle that is there shows a registration or a seal that the study does not hold any more."""
    return tuple(one for one in verify(study_root, now=NO_CLOCK).findings if one.where in BUNDLE_FILES)


def _refuse_to_lose(study_root: Path) -> None:
    findings = bundle_findings(study_root)
    if findings:
        raise BundleWouldBeLostError(
            "shows another registration than the study holds; a build would erase what shows it",
            findings,
            where=str(study_root / "report"),
            mend="restore the registration and its amendments from version control, or move the folder elsewhere and say why",
        )


def make_aggregate(
    evidence: Evidence,
    comparisons: Mapping[str, Comparison],
    *,
    allow_unequal: bool = False,
    known: Mapping[str, UnitNode] | None = None,
) -> Aggregate:
    """Every number of the report."""
    nodes = {name: one.node for name, one in comparisons.items()}
    replaced = tuple(name for name in evidence.registered_design.endpoints if evidence.amended_by(name))
    as_registered = (
        compute_endpoints(
            evidence, design=evidence.registered_design, allow_unequal=allow_unequal, names=replaced
        )
        if replaced
        else {}
    )
    units = with_compared(summarise_units(evidence, known), rows_compared(comparisons))
    return Aggregate(
        format="aggregate/1",
        study=evidence.study.config.name,
        registration=summarise_registration(evidence),
        endpoints={name: nodes[name] for name in evidence.design.endpoints},
        as_registered={name: _replaced(one.node) for name, one in as_registered.items()},
        exploratory={name: nodes[name] for name in evidence.study.config.exploratory},
        units=units,
        money=summarise_money(evidence, tuple(nodes.values())),
        log=dict(sorted(Counter(entry.kind for entry in evidence.decisions.entries).items())),
        warnings=tuple(f"{finding.where}: {finding.what}" for finding in evidence.findings),
    )


def _replaced(node: Node) -> Node:
    """The node of an endpoint that is not in force any more: it never is PRIMARY."""
    if node.role != "primary":
        return node
    because = ("an amendment replaced the endpoint", *node.not_primary_because)
    return node.model_copy(update={"primary": False, "not_primary_because": because})


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


class BundleWouldBeLostError(NotInOrderError, FindingsError):
    """The bundle is evidence against the study as it is now: exit code 1, and the bundle stays."""
