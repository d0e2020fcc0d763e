"""What tests hold in their hands: a study beside a loopback Hub, and commands run by the real client."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from minihub import MiniHub

ROOT = Path(__file__).resolve().parent.parent
CANARY = "hf_canaryCanaryCanaryCanaryCanary12"
REPO = "tester/units"


@dataclass(frozen=True, kw_only=True)
class Done:
    """A command that has ended."""

    code: int
    out: str
    err: str
    seconds: float

    @property
    def said(self) -> str:
        return self.out + self.err

    @property
    def document(self) -> dict:
        return json.loads(self.out)


@dataclass
class Client:
    """Runs commands. Everything that they print is kept in `heard`, for the search for tokens."""

    hub: MiniHub
    worker: subprocess.Popen
    folder: Path
    cache: Path
    heard: list[str] = field(default_factory=list)
    pids: list[int] = field(default_factory=list)
    running: tuple[dict[str, object], ...] = ()
    orders: int = 0

    def run(self, *arguments: object, **options: object) -> Done:
        """The command to its end. Options: see `order`."""
        self.start(self.order(*arguments, **options))
        return self.wait()[0]

    def order(
        self,
        *arguments: object,
        token: str | None = CANARY,
        cache: Path | None = None,
        obeys_permissions: bool = False,
        no_sockets: bool = False,
    ) -> dict[str, object]:
        """What the worker shall do. obeys_permissions: even as root; no_sockets: any socket is an error."""
        self.orders += 1
        return {
            "arguments": [str(argument) for argument in arguments],
            "cwd": str(self.folder),
            "environment": {} if token is None else {"HF_TOKEN": token},
            "cache": str(cache or self.cache),
            "obeys_permissions": obeys_permissions,
            "no_sockets": no_sockets,
            "stdout": str(self.folder / f"{self.orders}.out"),
            "stderr": str(self.folder / f"{self.orders}.err"),
        }

    def start(self, *orders: dict[str, object]) -> None:
        """All of them at once; `pids` are their processes, `wait` gives the rest."""
        self.running = orders
        self.worker.stdin.write(json.dumps(orders) + "\n")
        self.worker.stdin.flush()
        self.pids = json.loads(self.worker.stdout.readline())

    def wait(self) -> list[Done]:
        """What became of the orders."""
        codes, seconds = json.loads(self.worker.stdout.readline())
        done = [
            Done(
                code=code,
                seconds=seconds,
                out=Path(order["stdout"]).read_text(),
                err=Path(order["stderr"]).read_text(),
            )
            for code, order in zip(codes, self.running, strict=True)
        ]
        self.heard += [one.said for one in done]
        return done

    def ok(self, *arguments, **options) -> Done:
        """The command, which must end with 0."""
        done = self.run(*arguments, **options)
        assert done.code == 0, done.said
        return done


@contextmanager
def hub_worker(hub: MiniHub) -> Iterator[subprocess.Popen]:
    """The process that runs commands against this Hub."""
    with tempfile.TemporaryDirectory() as home:
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("HF_", "HUGGING"))},
            "HF_ENDPOINT": hub.url,
            "HF_HUB_DISABLE_XET": "1",
            "HF_HOME": home,
            "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}",
        }
        worker = subprocess.Popen(
            [sys.executable, str(ROOT / "tests/minihub_worker.py")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
        )  # fmt: skip
        try:
            yield worker
        finally:
            worker.stdin.close()
            worker.wait(timeout=30)
            worker.stdout.close()


def files_below(folder: Path) -> dict[str, bytes]:
    """Every file but locks, by POSIX path."""
    found = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix != ".lock"]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def on_hub(study: Path, repo: str = REPO) -> Path:
    """The study with a Hub store."""
    config = study / "study.toml"
    lines = [line for line in config.read_text().splitlines() if not line.startswith("store")]
    title = next(number for number, line in enumerate(lines) if line.startswith("title"))
    config.write_text(
        "\n".join([*lines[: title + 1], f'store = {{ hub = "{repo}" }}', *lines[title + 1 :], ""])
    )
    return study
