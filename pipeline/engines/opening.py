"""Engines by name. Only opening one imports its library."""

from __future__ import annotations

import importlib
from types import MappingProxyType

from manifests.errors import BeforehandError, CapabilityMissingError
from pipeline.engines.contract import Engine, EngineSettings

MODULES = MappingProxyType(
    {"transformers": "pipeline.engines.transformers_engine", "vllm": "pipeline.engines.vllm_engine"}
)
EXTRAS = MappingProxyType({"transformers": "hf", "vllm": "vllm"})
OPEN = "open_engine"


def open_engine(name: str, settings: EngineSettings) -> Engine:
    """The engine, open. name: a known one, or the import path of a module of your own that has `open_engine`.

    Raises CapabilityMissingError, with the command that installs it, where its library is not there.
    """
    module_name = MODULES.get(name, name)
    try:
        module = importlib.import_module(module_name)
    except ImportError as err:
        if name in EXTRAS:
            raise CapabilityMissingError(
                f"the engine {name} needs {err.name or 'a library'}, which is not installed",
                where=name,
                mend=f"python -m pip install 'beforehand[{EXTRAS[name]}]'",
            ) from err
        raise BeforehandError(
            f"no engine has the name {name!r}: {err}",
            where="run.toml engine",
            mend=f"write {' or '.join(MODULES)}, or the import path of a module with {OPEN}",
        ) from err
    if not callable(getattr(module, OPEN, None)):
        raise BeforehandError(f"the module {module_name!r} has no {OPEN}", where="run.toml engine")
    engine: Engine = getattr(module, OPEN)(settings)
    return engine
