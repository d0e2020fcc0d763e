"""Before a build: the units that a Hub store has are at hand. A local store has nothing to fetch."""

from __future__ import annotations

from pathlib import Path

from manifests.stores import open_store
from manifests.study import Study


def bring_units(study_root: Path, *, offline: bool) -> None:
    """Planned units that lie in the study's repository are in the cache, verified, or an error says which are not."""
    study = Study.open(study_root)
    if study.hub_repo is None:
        return
    from prereg.planned import planned_units  # noqa: PLC0415 - a study with a local store starts without the design

    open_store(study, offline=offline, needed=planned_units(study_root))
