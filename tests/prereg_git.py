"""A git repository around a study, with dates that a test chooses."""

import os
import subprocess
from datetime import timedelta

from prereg_studies import NOON


def git(folder, *arguments, at=NOON, check=True):
    identity = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    for who in ("AUTHOR", "COMMITTER"):
        identity |= {
            f"GIT_{who}_NAME": "a",
            f"GIT_{who}_EMAIL": "a@b",
            f"GIT_{who}_DATE": at.strftime("%Y-%m-%dT%H:%M:%S+0000"),
        }
    kept = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    return subprocess.run(
        ["git", "-C", str(folder), *arguments], check=check, capture_output=True, env={**kept, **identity}
    )


def start(folder):
    git(folder, "init", "-q", "-b", "main")


def commit(folder, message="work", *, days=0.0):
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", message, at=NOON + timedelta(days=days))
    return git(folder, "rev-parse", "HEAD").stdout.decode().strip()
