"""How long the commands take to start, as multiples of `python -c pass`.

    python benchmarks/startup.py [STUDY]

Each command is started as its installed script starts it. Best of many runs, each a fresh process: what other processes do can only make a run slower, never faster. To hold:
`verify-prereg` and `beforehand --help` at most 5 times the bare interpreter.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
RUNS = 25
LIMIT = 5.0
HELD = ("verify-prereg STUDY", "beforehand --help")

STUDY_DESIGN = """# Start\n\n<!-- PREREG:BEGIN -->\nprose\n<!-- PREREG:END -->\n"""


def best_s(commands: dict[str, tuple[str, ...]]) -> dict[str, float]:
    """Seconds of the quickest of RUNS fresh processes each, in turns, so that all meet the same load."""
    fastest = dict.fromkeys(commands, float("inf"))
    for _ in range(RUNS):
        for name, arguments in commands.items():
            start = time.perf_counter()
            subprocess.run([sys.executable, *arguments], capture_output=True, check=False, cwd=REPOSITORY)
            fastest[name] = min(fastest[name], time.perf_counter() - start)
    return fastest


def a_study(folder: Path) -> Path:
    """A frozen study without pinned files."""
    sys.path.insert(0, str(REPOSITORY))
    from prereg.block import find_block, with_hash_line  # noqa: PLC0415 - the path is set the line above
    from prereg.registration import Registration  # noqa: PLC0415

    data = STUDY_DESIGN.encode()
    block = find_block(data, where="")
    record = Registration(
        study="start",
        block_sha256=block.sha256,
        frozen_text=block.raw.decode(),
        frozen_at="2026-01-01T00:00:00Z",
        tool="benchmark",
        pinned=(),
    )
    (folder / "PREREGISTRATION.md").write_bytes(with_hash_line(data, block))
    (folder / "registration.json").write_bytes(record.dump())
    return folder


def main() -> int:
    """Print the table; 1 when a command takes longer than it may."""
    with tempfile.TemporaryDirectory() as folder:
        study = sys.argv[1] if len(sys.argv) > 1 else str(a_study(Path(folder)))
        times = best_s(
            {
                "python -c pass": ("-c", "pass"),
                "import click": ("-c", "import click"),
                "verify-prereg STUDY": (
                    "-c",
                    "import sys; from prereg.verify import main; sys.exit(main())",
                    study,
                ),
                "beforehand --help": ("-c", "from beforehand import main; main()", "--help"),
            }
        )
    bare = times["python -c pass"]
    for name, seconds in times.items():
        limit = f" of at most {LIMIT:.0f}" if name in HELD else ""
        print(f"{name:28} {seconds * 1000:7.1f} ms {seconds / bare:6.2f}{limit}")
    return int(any(times[name] > LIMIT * bare for name in HELD))


if __name__ == "__main__":
    sys.exit(main())
