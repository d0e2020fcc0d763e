"""Preflight: what can be known before anything is spent. Prompts, windows, digests, and how long it may take."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from huggingface_hub import snapshot_download
from huggingface_hub.errors import LocalEntryNotFoundError

from manifests.digests import sha256_bytes, sha256_document
from manifests.documents import Document, dump_document
from manifests.errors import BeforehandError, CapabilityMissingError, Finding, FindingsError, NotInOrderError
from manifests.files import inside, write_atomically
from pipeline.engines.contract import Engine, EngineSettings, Rendered
from pipeline.engines.model_folder import tree_sha256
from pipeline.engines.opening import open_engine
from pipeline.unit_work import UnitWork
from prereg.protocols import ResolvedSampling
from prereg.systems import HubModel, LocalModel

MOST_LISTED = 20


class Preflight(Document):
    """`runs/UNIT/preflight.json`. rows that are planned; tokens of the longest prompt; seconds if every row runs to its cap."""

    format: Literal["preflight/1"]
    unit: str
    registration_sha256: str
    model_tree_sha256: str | None
    tokenizer_sha256: str
    template_sha256: str
    prompts_sha256: str
    engine: str
    versions: dict[str, str]
    window_tokens: int
    longest_prompt_tokens: int
    n_rows: int
    n_clipped: int
    """Rows whose max_tokens the window lowers."""
    n_unfit: int
    """Rows whose prompt leaves no room at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """An engine that is open, and every prompt as it reads them: (prompt name, problem id) -> rendered."""

    engine: Engine
    prompts: Mapping[tuple[str, str], Rendered]
    document: Preflight

    def room(self, prompt: Rendered, cap_tokens: int) -> int:
        """max_tokens of a row: the cap, or what the window leaves; 0 where nothing is left."""
        return max(0, min(cap_tokens, self.engine.window_tokens - len(prompt.token_ids)))


def preflight(work: UnitWork) -> Ready:
    """The engine is open and everything that can be checked without drawing a token holds; prompts and findings are on disk.

    Raises FindingsError where prompts are over the limit and run.toml does not say that they are clipped. The caller closes the engine.
    """
    model, digest = model_folder(work)
    settings = work.settings
    engine = open_engine(
        settings.engine,
        EngineSettings(
            model=model, dtype=settings.dtype, batch_rows=settings.batch_rows, threads=settings.threads
        ),
    )
    try:
        return _checked(work, engine, digest)
    except BaseException:
        engine.close()
        raise


def model_folder(work: UnitWork) -> tuple[Path, str | None]:
    """The folder of the unit's system, and its digest where the design pins one; other content is refused."""
    system = work.design.systems_expanded[work.plan.unit.system]
    model = system.model
    if isinstance(model, LocalModel):
        folder = inside(work.study.root, model.path, where=f"systems.{system.name}.model.path")
        digest = tree_sha256(folder) if folder.is_dir() else None
        if digest != model.tree_sha256:
            raise NotInOrderError(
                f"has the tree digest {digest}, the design says {model.tree_sha256}"
                if digest
                else "is not there",
                where=str(folder),
                mend=f"it comes from: {model.source}",
            )
        return folder, digest
    if isinstance(model, HubModel):
        try:
            return Path(snapshot_download(model.repo, revision=model.revision, local_files_only=True)), None
        except LocalEntryNotFoundError as err:
            raise CapabilityMissingError(
                "is not in the local cache, and a run downloads nothing",
                where=f"{model.repo}@{model.revision}",
                mend=f"hf download {model.repo} --revision {model.revision}",
            ) from err
    raise BeforehandError(
        "has no model that could be opened: it is still to be trained, or was never recorded",
        where=f"systems.{system.name}",
        mend="name a folder of weights or a pinned repository in the design",
    )


def _checked(work: UnitWork, engine: Engine, model_digest: str | None) -> Ready:
    names = sorted({sampling.prompt or "" for sampling in work.plan.protocol.samplings})
    prompts = {
        (name, problem_id): engine.render(
            work.prompts.handler(name, where=str(work.plan.unit)).turns(problem, where=problem_id)
        )
        for name in names
        for problem_id, problem in work.problems.items()
    }
    cap = work.plan.protocol.cap_tokens
    room = {key: engine.window_tokens - len(prompt.token_ids) for key, prompt in prompts.items()}
    rows = {
        key: sum(s.samples for s in work.plan.protocol.samplings if s.prompt == key[0]) for key in prompts
    }
    over = [key for key in sorted(prompts) if room[key] < cap]
    if over and work.settings.over_long_prompts == "refuse":
        raise FindingsError(
            f"{len(over)} prompts and the cap of {cap} tokens do not fit the window of {engine.window_tokens}",
            tuple(
                Finding(
                    where=f"{name} {problem_id}",
                    what=f"has {len(prompts[name, problem_id].token_ids)} tokens",
                )
                for name, problem_id in over[:MOST_LISTED]
            ),
            where=str(work.plan.unit),
            mend='lower the cap, or declare clipping in run.toml: over_long_prompts = "clip"',
        )
    identity = engine.identity
    document = Preflight(
        format="preflight/1",
        unit=str(work.plan.unit),
        registration_sha256=work.registration_sha256,
        model_tree_sha256=model_digest,
        tokenizer_sha256=identity.tokenizer_sha256,
        template_sha256=identity.template_sha256,
        prompts_sha256=prompts_sha256(work.plan.protocol.samplings, prompts),
        engine=identity.name,
        versions=dict(identity.versions),
        window_tokens=engine.window_tokens,
        longest_prompt_tokens=max(len(prompt.token_ids) for prompt in prompts.values()),
        n_rows=sum(rows.values()),
        n_clipped=sum(rows[key] for key in over),
        n_unfit=sum(rows[key] for key in over if room[key] < 1),
    )
    _write(work, prompts, document)
    return Ready(engine=engine, prompts=prompts, document=document)


def prompts_sha256(samplings: Sequence[ResolvedSampling], prompts: Mapping[tuple[str, str], Rendered]) -> str:
    """Digest over what every sampling reads of every problem, as token ids: equal digests mean equal prompts."""
    rendered: dict[str, dict[str, object]] = {
        sampling.name: {
            problem_id: list(prompt.token_ids)
            for (name, problem_id), prompt in prompts.items()
            if name == sampling.prompt
        }
        for sampling in samplings
    }
    return sha256_document(rendered)


def _write(work: UnitWork, prompts: Mapping[tuple[str, str], Rendered], document: Preflight) -> None:
    """The stage's files; a unit whose samples were drawn under another preflight is refused before anything changes."""
    folder = work.folder
    data = dump_document(document)
    if folder.generations.exists() and folder.preflight.exists() and folder.preflight.read_bytes() != data:
        raise NotInOrderError(
            "says how the samples that are here were drawn, and now they would be drawn otherwise",
            where=str(folder.preflight),
            mend="run with the model, the engine and the libraries of the first start, or move the unit's folder away and start again",
        )
    lines = (
        _prompt_line(name=name, problem_id=problem_id, prompt=prompt)
        for (name, problem_id), prompt in sorted(prompts.items())
    )
    write_atomically(folder.prompts, b"".join(lines))
    write_atomically(folder.preflight, data)


def _prompt_line(*, name: str, problem_id: str, prompt: Rendered) -> bytes:
    value = {
        "prompt": name, "problem_id": problem_id, "sha256": sha256_bytes(prompt.text.encode()),
        "text": prompt.text, "token_ids": list(prompt.token_ids),
    }  # fmt: skip
    return json.dumps(value, sort_keys=True).encode() + b"\n"
