"""Documents: JSON and TOML files with a model, each error wrapped with its place."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import NoReturn, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from manifests.errors import BeforehandError, Finding, FindingsError
from manifests.files import decode_utf8, read_bytes
from manifests.jsonfile import dump_json, parse_json

Model = TypeVar("Model", bound=BaseModel)


class Document(BaseModel):
    """Base of every on-disk format: frozen, strict, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


def read_document(model: type[Model], path: Path, *, mend: str = "") -> Model:
    """Load a JSON file as `model`; all problems are reported at once, each with its key."""
    data = read_bytes(path, mend=mend)
    parse_json(data, where=str(path))  # pydantic's own reader takes duplicate keys
    try:
        return model.model_validate_json(data)
    except ValidationError as err:
        raise FindingsError("does not have the expected shape", findings_of(err), where=str(path)) from err


def dump_document(document: BaseModel) -> bytes:
    """The file's bytes, as `dump_json` lays them out."""
    return dump_json(document.model_dump(mode="json"))


def parse_toml(data: bytes, *, where: str) -> dict[str, object]:
    """Parse TOML; the error names line and column."""
    try:
        return tomllib.loads(decode_utf8(data, where=where))
    except RecursionError as err:
        raise BeforehandError("is nested too deeply to be read", where=where) from err
    except ValueError as err:  # TOMLDecodeError, or a number of more digits than Python reads
        raise BeforehandError(f"is not TOML: {err}", where=where) from err


def read_toml_document(model: type[Model], path: Path, *, mend: str = "") -> Model:
    """Load a TOML file as `model`."""
    raw = parse_toml(read_bytes(path, mend=mend), where=str(path))
    return validate_mapping(model, raw, where=str(path))


def validate_mapping(model: type[Model], raw: dict[str, object], *, where: str) -> Model:
    """`raw`, as TOML gives it, as `model`; strict, and all problems are reported at once."""
    try:
        # Through JSON: pydantic's strict mode then takes arrays as tuples and still refuses "8" for 8.
        return model.model_validate_json(json.dumps(raw, default=_refuse_date))
    except ValidationError as err:
        raise FindingsError("does not have the expected shape", findings_of(err), where=where) from err
    except (RecursionError, ValueError) as err:
        raise BeforehandError(f"cannot be taken: {err}", where=where) from err
    except TypeError as err:
        raise BeforehandError(str(err), where=where, mend="write dates and times as quoted strings") from err


def _refuse_date(value: object) -> NoReturn:
    raise TypeError(f"the bare date {value} is not allowed")


def findings_of(error: ValidationError, *, prefix: str = "") -> tuple[Finding, ...]:
    """Pydantic's errors as findings: the place is the dotted key."""
    return tuple(
        Finding(
            where=prefix + ".".join(str(part) for part in detail["loc"]),
            what=_message(detail["type"], detail["msg"], detail.get("input")),
        )
        for detail in error.errors(include_url=False)
    )


def _message(kind: str, message: str, given: object) -> str:
    if kind == "extra_forbidden":
        return "is not a known key"
    if kind == "missing":
        return "is missing"
    shown = repr(given)
    shown = shown if len(shown) <= 80 else shown[:77] + "…"
    sentence = message.removeprefix("Value error, ")
    return f"{sentence[0].lower()}{sentence[1:]} (given: {shown})"
