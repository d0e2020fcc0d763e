"""A toy verifier: the last number of the text is held against the gold. Some texts make it misbehave."""

import os
import re
import sys
import time

from pipeline.verify.contract import Judgement


class ToyVerifier:
    def __init__(self, config):
        self.config = config
        self.pins = {"toy": "1"}
        self.n_judged = 0

    def judge(self, submission):
        self.n_judged += 1
        for word, action in MISBEHAVIOUR.items():
            if word in submission.text:
                action(self)
        numbers = re.findall(r"-?\d+", submission.text)
        if not numbers:
            return Judgement(status="no_answer", reasons=("no_answer",), extractor="none")
        right = numbers[-1] == str(submission.problem["gold"])
        return Judgement(
            status="accepted" if right else "rejected", reasons=() if right else ("wrong_answer",),
            answer=numbers[-1], extractor="last_number",
        )  # fmt: skip


def hang(_):
    while True:
        time.sleep(60)


def die(_):
    os._exit(9)


def die_unless_fresh(verifier):
    if verifier.n_judged > 1:
        os._exit(9)


def flood(_):
    for _ in range(2000):
        os.write(1, b"noise " * 200 + b"\n")
        print("noise" * 200)
        print("noise" * 200, file=sys.stderr)


def eat(_):
    bytearray(8 * 2**30)


def fail(_):
    raise RuntimeError("no reason")


MISBEHAVIOUR = {
    "HANG": hang,
    "DIE": die,
    "FRESH": die_unless_fresh,
    "FLOOD": flood,
    "EAT": eat,
    "RAISE": fail,
}


def open_verifier(config):
    return ToyVerifier(config)
