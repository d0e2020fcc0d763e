"""A model as a folder on disk: what it must hold before anything is opened, and the digests that name it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import cast

from manifests.digests import sha256_bytes, sha256_file, sha256_tree
from manifests.errors import BeforehandError, Finding, FindingsError
from manifests.jsonfile import read_json

PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")
TOKENIZER_FILES = ("tokenizer.json", "tokenizer.model")
TEMPLATE_FILE = "chat_template.jinja"
SAFETENSORS = "write the weights as safetensors: a pickle runs code when it is loaded"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFolder:
    """A folder that may be opened. tokenizer_sha256: over the tokenizer's own file; template_sha256: over the template's text."""

    path: Path
    model_type: str
    tokenizer_sha256: str
    template_sha256: str


def tree_sha256(folder: Path) -> str:
    """Digest of every file below the folder, by path and content; hidden files, and links that lead out, are refused."""
    files: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if path.is_symlink() and not path.resolve().is_relative_to(folder.resolve()):
            raise BeforehandError(
                "is a link that leads out of the model's folder", where=str(path), mend="copy the file"
            )
        if any(part.startswith(".") for part in relative.parts):
            raise BeforehandError("is a hidden file in a model's folder", where=str(path), mend="remove it")
        if path.is_file():
            files[relative.as_posix()] = sha256_file(path)
    if not files:
        raise BeforehandError(
            "holds no model",
            where=str(folder),
            mend="put the model's files there; the study says where they come from",
        )
    return sha256_tree(files)


def inspect_model(folder: Path) -> ModelFolder:
    """The folder, if it may be opened: safetensors, no code of its own, a tokenizer, a chat template, a padding token.

    Raises FindingsError with everything that is missing.
    """
    if not folder.is_dir():
        raise BeforehandError(
            "is no folder of a model", where=str(folder), mend="the study says where the model comes from"
        )
    config, tokenizer = _mapping(folder / "config.json"), _mapping(folder / "tokenizer_config.json")
    template = _template(folder, tokenizer)
    tokenizer_file = next((folder / name for name in TOKENIZER_FILES if (folder / name).is_file()), None)
    findings = [*_weights(folder), *_code(folder, config, tokenizer)]
    if tokenizer_file is None:
        findings.append(Finding(where=str(folder), what=f"has none of {', '.join(TOKENIZER_FILES)}"))
    if template is None:
        findings.append(
            Finding(
                where=str(folder),
                what="has no chat template, so a chat cannot be written as the model expects it",
                mend=f"add the model's own {TEMPLATE_FILE}; a base model needs a prompt of its own kind",
            )
        )
    if not tokenizer.get("pad_token"):
        findings.append(
            Finding(
                where=str(folder / "tokenizer_config.json"),
                what="names no pad_token",
                mend="set it; most models pad with their end token",
            )
        )
    if findings or template is None or tokenizer_file is None:
        raise FindingsError("cannot be opened as a model", tuple(findings), where=str(folder))
    return ModelFolder(
        path=folder,
        model_type=str(config.get("model_type")),
        tokenizer_sha256=sha256_file(tokenizer_file),
        template_sha256=sha256_bytes(template.encode()),
    )


def _mapping(path: Path) -> dict[str, object]:
    value = read_json(path, mend="the folder lacks a file that every model has")
    if not isinstance(value, dict):
        raise BeforehandError("is no JSON object", where=str(path))
    return cast("dict[str, object]", value)


def _template(folder: Path, tokenizer: dict[str, object]) -> str | None:
    file = folder / TEMPLATE_FILE
    if file.is_file():
        return file.read_text(encoding="utf-8")
    inline = tokenizer.get("chat_template")
    return inline if isinstance(inline, str) and inline else None


def _weights(folder: Path) -> list[Finding]:
    pickles = sorted(path.name for path in folder.rglob("*") if path.suffix in PICKLES)
    found = [
        Finding(
            where=str(folder / name), what="is a pickle, which runs code when it is loaded", mend=SAFETENSORS
        )
        for name in pickles
    ]
    if not any(folder.glob("*.safetensors")):
        found.append(Finding(where=str(folder), what="holds no *.safetensors", mend=SAFETENSORS))
    return found


def _code(folder: Path, *configs: dict[str, object]) -> list[Finding]:
    """A model that brings code of its own would need trust_remote_code, which stays off."""
    mend = "code of a model is not run: use a model whose architecture the library knows"
    found = [
        Finding(where=str(path), what="is code that a model brings along", mend=mend)
        for path in sorted(folder.rglob("*.py"))
    ]
    if any("auto_map" in config for config in configs):
        found.append(
            Finding(
                where=str(folder),
                what="asks for trust_remote_code (auto_map in its configuration)",
                mend=mend,
            )
        )
    return found
