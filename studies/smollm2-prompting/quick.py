"""The whole way with the real model, small: a copy of this study with 8 problems and 2 samples, frozen, run and reported.

    python quick.py FOLDER

The copy is no result: it checks that everything works on this machine. The study itself is not touched.
"""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
COPIED = ("PREREGISTRATION.md", "study.toml", "prompts.toml", "run.toml", "make_problems.py", "make_model.py", "code.sha256", "configs")
N, SAMPLES, CAP = 8, 2, 64


def main(folder: Path) -> None:
    """Build the copy, run it, build its report."""
    folder.mkdir(parents=True)
    for name in COPIED:
        copy = shutil.copytree if (HERE / name).is_dir() else shutil.copy
        copy(HERE / name, folder / name)
    shutil.copytree(HERE / "model", folder / "model")
    (folder / "DECISIONS.md").write_text("# Decisions\n", encoding="utf-8")
    text = (HERE / "PREREGISTRATION.md").read_text(encoding="utf-8")
    text = re.sub(r"PREREG_SHA256: .*\n", "", text)
    for benchmark in ("words", "unshown"):
        text = cut(benchmark, folder, text)
    text = text.replace("samples = 8", f"samples = {SAMPLES}").replace('"0-7"', f'"0-{SAMPLES - 1}"').replace("k = 8", f"k = {SAMPLES}")
    (folder / "PREREGISTRATION.md").write_text(text.replace("cap_tokens = 160", f"cap_tokens = {CAP}"), encoding="utf-8")
    header = (HERE / "ledger.csv").read_text(encoding="utf-8").splitlines(keepends=True)[0]
    (folder / "ledger.csv").write_text(header, encoding="utf-8")
    beforehand("ledger", "cap", str(folder), "--amount", "0", "--by", "the quick check")
    # In a repository that holds the study itself, its rows are data of the same problems; the copy says so.
    beforehand("prereg", "freeze", str(folder), "--acknowledge", "a copy that checks the machine; the study's own rows exist")
    beforehand("run", "all", str(folder))
    beforehand("units", "check", str(folder))
    beforehand("report", "build", str(folder))


def cut(benchmark: str, folder: Path, text: str) -> str:
    """Every k-th problem of the set, written by `run problems`; the registration says so."""
    source = HERE / f"problems/{benchmark}.jsonl"
    lines = source.read_text(encoding="utf-8").splitlines(keepends=True)
    target = folder / f"problems/{benchmark}.jsonl"
    target.parent.mkdir(exist_ok=True)
    target.write_text("".join(lines[index * len(lines) // N] for index in range(N)), encoding="utf-8", newline="\n")
    beforehand("run", "problems", str(target), str(target))
    manifest = json.loads(target.with_suffix(".manifest.json").read_text(encoding="utf-8"))
    there = json.loads((HERE / f"problems/{benchmark}.manifest.json").read_text(encoding="utf-8"))
    return text.replace(f'sha256 = "{there["sha256"]}"\nn = {there["n"]}', f'sha256 = "{manifest["sha256"]}"\nn = {manifest["n"]}')


def beforehand(*arguments: str) -> None:
    """The command, stopped by its first failure."""
    print("beforehand", *arguments, flush=True)
    subprocess.run([sys.executable, str(ROOT / "beforehand.py"), *arguments], check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
