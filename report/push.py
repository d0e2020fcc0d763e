"""Push of a bundle: it lies beside the units in the study's repository, in one commit, under a dataset card."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from pydantic import ValidationError

from manifests.digests import sha256_bytes
from manifests.errors import BeforehandError, Finding, FindingsError, NotInOrderError
from manifests.hub.client import Addition, Hub
from manifests.hub.commit import Landed, land
from manifests.hub.layout import report_folder
from manifests.names import is_slug
from manifests.study import Study
from report.bundle import CHECKSUMS, parse_checksums, read_bundle
from report.manifest import BundleManifest

CARD = "README.md"
CARD_MARK = "<!-- This card is written by `beforehand report push`. Remove this line to keep your own. -->"


def push_report(study: Study) -> Landed:
    """The bundle, as it was built, is in the repository; files of an older one are gone from its folder."""
    repo = study.require_hub_repo()
    bundle = read_bundle(study.report_path)
    _refuse_damage(study, bundle)
    folder = report_folder(study.config.name)
    additions = [_addition(f"{folder}/{name}", data) for name, data in sorted(bundle.items())]
    hub = Hub()
    card = _card(hub, repo, study)
    if card is not None:
        additions.append(card)
    return land(hub, repo, additions, message=f"Report of {study.config.name}", replaces=folder)


def _refuse_damage(study: Study, bundle: Mapping[str, bytes]) -> None:
    """A bundle goes out whole, as its own checksums and its manifest say, or not at all."""
    if "MANIFEST.json" not in bundle or CHECKSUMS not in bundle:
        raise BeforehandError(
            "holds no bundle",
            where=str(study.report_path),
            mend=f"build one: beforehand report build {study.root}",
        )
    listed = parse_checksums(bundle[CHECKSUMS])
    wrong = [
        Finding(where=name, what="is not what CHECKSUMS.sha256 says")
        for name in sorted({*listed, *bundle} - {CHECKSUMS})
        if name not in bundle or listed.get(name) != sha256_bytes(bundle[name])
    ]
    try:
        manifest = BundleManifest.model_validate_json(bundle["MANIFEST.json"])
        if manifest.study != study.config.name:
            wrong.append(Finding(where="MANIFEST.json", what=f"is the manifest of {manifest.study}"))
    except ValidationError:
        wrong.append(Finding(where="MANIFEST.json", what="is no bundle manifest"))
    if wrong:
        raise DamagedBundleError(
            "the bundle was changed after it was built; it was not pushed",
            tuple(wrong),
            where=str(study.report_path),
            mend=f"build it again: beforehand report build {study.root}",
        )


def _card(hub: Hub, repo: str, study: Study) -> Addition | None:
    """The card for every report in the repository; None where its owner wrote a card of their own."""
    head = hub.head(repo)
    if CARD in head.files:
        present = hub.read(repo, CARD, revision=head.sha)
        if CARD_MARK.encode() not in present:
            return None
    reports = {
        path.split("/")[1] for path in head.files if path.startswith("reports/") and path.count("/") >= 2
    }
    names = sorted({study.config.name, *(name for name in reports if is_slug(name))})
    return _addition(CARD, dataset_card(study.config.title, names))


def dataset_card(title: str, reports: Sequence[str]) -> bytes:
    """The card: metadata that the Hub reads, then where things lie. JSON strings are YAML strings."""
    links = "".join(f"- [{name}]({report_folder(name)}/README.md)\n" for name in reports)
    return f"""---
pretty_name: {json.dumps(title, ensure_ascii=True)}
tags:
- beforehand
- evaluation
- pre-registration
configs:
- config_name: rows
  data_files: "evals/*/*/*/rows.parquet"
---

{CARD_MARK}

# Evaluation units and reports

One row is one sample of one model. `evals/system/benchmark/protocol/` holds the rows of one unit and its record, which
names the model's revision, the problem set, the protocol and the digest of every file. Records and rows never change:
a study pins them by commit.

Reports, each rebuilt from these rows byte for byte by `beforehand report build`:

{links}""".encode()


def _addition(path: str, data: bytes) -> Addition:
    return Addition(path=path, content=data, sha256=sha256_bytes(data))


class DamagedBundleError(NotInOrderError, FindingsError):
    """A bundle that a hand has changed: exit code 1."""
