"""The pins of a study, as they are written: in the design, in the unit records, in `pins.json`. Before any of them is believed.

The design is read as TOML, not as a Design: one that says `revision = "main"` is no Design, and must still get an answer.
"""

from __future__ import annotations

from collections.abc import Iterator

from manifests.documents import parse_toml
from manifests.errors import BeforehandError
from manifests.files import read_bytes
from manifests.hub.cache import RepoKind
from manifests.hub.layout import Place
from manifests.hub.stated_pins import StatedPin, check_pins, fetch_tokenizer
from manifests.jsonfile import read_json
from manifests.pins import FILE_NAME
from manifests.records import read_record
from manifests.stores import LocalStore
from manifests.study import Study
from manifests.tokenizers import TokenizerComparison, compare_tokenizers
from prereg.block import find_block

__all__ = ["check_pins", "compare_pinned_tokenizers", "stated_pins"]


def stated_pins(study: Study) -> tuple[StatedPin, ...]:
    """Every table that names a repository, each with its place."""
    pins = list(_in_tables(_design(study), "design", kind="model"))
    if (study.root / FILE_NAME).exists():
        pins += _in_tables(read_json(study.root / FILE_NAME), FILE_NAME, kind="dataset")
    store = LocalStore(study.root)
    for unit in store.unit_ids():
        system = read_record(store.record_path(unit)).system
        if system.repo is not None:
            where = f"manifests/{unit}.json system"
            pins.append(
                StatedPin(where=where, kind="model", repo=system.repo, revision=system.revision or "")
            )
    return tuple(pins)


def compare_pinned_tokenizers(study: Study, first: str, second: str) -> TokenizerComparison:
    """The tokenizers of two models. first, second: a system of the design with a Hub model, or owner/name@revision."""
    one, other = (fetch_tokenizer(_model(study, name), name=name) for name in (first, second))
    return compare_tokenizers(one, other)


def _model(study: Study, name: str) -> Place:
    repo, separator, revision = name.partition("@")
    if separator:
        return Place(repo, revision)
    known = {
        pin.where.removeprefix("design systems.").removesuffix(".model"): pin
        for pin in _in_tables(_design(study), "design", kind="model")
    }
    if name not in known:
        raise BeforehandError(
            f"the design has no system {name!r} with a model on the Hub",
            where="--tokenizers",
            mend=f"name one of {', '.join(sorted(known)) or 'none'}, or owner/name@revision",
        )
    return Place(known[name].repo, known[name].revision)


def _design(study: Study) -> object:
    path = study.registration_path
    fence = find_block(read_bytes(path), where=path.name).design
    return parse_toml(fence.content, where=path.name)


def _in_tables(value: object, file: str, *keys: str, kind: RepoKind) -> Iterator[StatedPin]:
    """Tables with a `repo`, at any depth; `kind = "dataset"` beside it says that it is none of a model."""
    if not isinstance(value, dict):
        return
    repo = value.get("repo")
    if isinstance(repo, str):
        stated: RepoKind = "dataset" if value.get("kind", kind) == "dataset" else "model"
        where = f"{file} {'.'.join(keys)}"
        yield StatedPin(where=where, kind=stated, repo=repo, revision=str(value.get("revision", "")))
    for key, inner in value.items():
        yield from _in_tables(inner, file, *keys, key, kind=kind)
