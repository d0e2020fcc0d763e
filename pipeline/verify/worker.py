"""A worker: one process that opens a verifier and judges what it reads, one JSON line in, one JSON line out.

`python -m pipeline.verify.worker MODULE`; the first line in is the verifier's settings. Answers leave through a copy of stdout:
what a verifier prints itself goes to /dev/null, so that it can neither garble an answer nor fill a pipe.
Its memory is limited by RLIMIT_AS. It is no sandbox: a verifier that runs foreign code must bring its own.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import sys
from typing import TextIO

from pipeline.verify.contract import Submission, Verifier

OPEN = "open_verifier"


def main(module_name: str) -> None:
    """Answer until stdin ends."""
    answers = _own_stdout()
    settings = json.loads(sys.stdin.readline())
    if settings["memory_mb"] is not None:
        limit = settings["memory_mb"] * 2**20
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    try:
        verifier: Verifier = getattr(importlib.import_module(module_name), OPEN)(settings["config"])
    except Exception as err:  # noqa: BLE001 - whatever keeps it from opening is said to the pool, which decides
        missing = err.name if isinstance(err, ImportError) else None
        _say(answers, {"failed": f"{type(err).__name__}: {err}", "missing": missing})
        return
    _say(answers, {"pins": dict(verifier.pins)})
    for line in sys.stdin:
        _say(answers, _answer(verifier, json.loads(line)))


def _answer(verifier: Verifier, job: dict[str, object]) -> dict[str, object]:
    submission = Submission(
        text=str(job["text"]),
        truncated=bool(job["truncated"]),
        problem=job["problem"],  # type: ignore[arg-type] # as the pool wrote it
    )
    try:
        judgement = verifier.judge(submission)
    except MemoryError:
        return {"status": "infrastructure", "reasons": ["infra:memory"], "answer": None, "extractor": None}
    except Exception as err:  # noqa: BLE001 - a verifier's own error is infrastructure, never a wrong answer
        reason = f"infra:{type(err).__name__}"
        return {"status": "infrastructure", "reasons": [reason], "answer": None, "extractor": None}
    return {
        "status": judgement.status,
        "reasons": list(judgement.reasons),
        "answer": judgement.answer,
        "extractor": judgement.extractor,
    }


def _own_stdout() -> TextIO:
    """The pool's pipe under another number; 1 and 2 lead nowhere from here on."""
    kept = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.close(nowhere)
    return os.fdopen(kept, "w", encoding="utf-8")


def _say(answers: TextIO, value: dict[str, object]) -> None:
    answers.write(json.dumps(value) + "\n")
    answers.flush()


if __name__ == "__main__":
    main(sys.argv[1])
