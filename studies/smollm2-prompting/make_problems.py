r"""`problems/` holds the problem sets of this study; the same files on every machine.

    python make_problems.py

words: 20 problems of each of six families. Five are the pilot's (add, sub, mul, div, two), the sixth is UNSHOWN, whose kind of
question none of the four worked examples shows. unshown: 30 further problems of that sixth family alone.
Fresh numbers: no problem of any set here, the probe's included, has the family and the numbers of another one or of a problem
of the pilot study, in whatever order the numbers stand (3 + 8 and 8 + 3 are one), and no text stands twice.
"""

import json
import random
import re
from pathlib import Path

HERE = Path(__file__).parent
PILOT = HERE.parent / "smollm2-raft-pilot/problems"
NAMES = ["Tom", "Mia", "Sam", "Ana", "Ben", "Lily", "Max", "Eva", "Leo", "Zoe", "Dan", "Amy"]
THINGS = [
    "apples", "books", "pens", "coins", "cards", "shells", "stamps", "marbles", "cookies", "stickers", "balloons", "pencils",
]  # fmt: skip
CANDIDATES = ("fewer", "times", "three", "daily")
"""Families that none of the four examples shows; the probe chose one of them by the rule in PREREGISTRATION.md."""
UNSHOWN = "daily"


# The order of the draws inside each function is part of the data: do not reorder.
def add(r: random.Random) -> tuple[str, int]:
    a, b = r.randint(2, 20), r.randint(2, 20)
    n, t = r.choice(NAMES), r.choice(THINGS)
    return f"{n} has {a} {t} and buys {b} more. How many {t} does {n} have now?", a + b


def sub(r: random.Random) -> tuple[str, int]:
    a = r.randint(8, 25)
    b = r.randint(2, a - 2)
    n, t = r.choice(NAMES), r.choice(THINGS)
    return f"{n} has {a} {t} and gives away {b}. How many {t} does {n} have left?", a - b


def mul(r: random.Random) -> tuple[str, int]:
    a, b = r.randint(2, 15), r.randint(2, 9)
    t = r.choice(THINGS)
    return f"There are {a} boxes with {b} {t} in each box. How many {t} are there in total?", a * b


def div(r: random.Random) -> tuple[str, int]:
    b, q = r.randint(2, 12), r.randint(2, 12)
    n, t = r.choice(NAMES), r.choice(THINGS)
    return f"{n} shares {b * q} {t} equally among {b} friends. How many {t} does each friend get?", q


def two(r: random.Random) -> tuple[str, int]:
    a, b = r.randint(5, 15), r.randint(2, 10)
    c = r.randint(2, a + b - 2)
    n, t = r.choice(NAMES), r.choice(THINGS)
    return f"{n} had {a} {t}. {n} found {b} more {t} and then lost {c}. How many {t} does {n} have now?", a + b - c


def fewer(r: random.Random) -> tuple[str, int]:
    a = r.randint(8, 25)
    b = r.randint(2, a - 2)
    (n, m), t = r.sample(NAMES, 2), r.choice(THINGS)
    return f"{n} has {a} {t}. {m} has {b} fewer {t} than {n}. How many {t} does {m} have?", a - b


def times(r: random.Random) -> tuple[str, int]:
    a, b = r.randint(2, 15), r.randint(2, 9)
    (n, m), t = r.sample(NAMES, 2), r.choice(THINGS)
    return f"{n} has {a} {t}. {m} has {b} times as many {t} as {n}. How many {t} does {m} have?", a * b


def three(r: random.Random) -> tuple[str, int]:
    a, b, c = r.randint(2, 12), r.randint(2, 12), r.randint(2, 12)
    n, t = r.choice(NAMES), r.choice(THINGS)
    return f"{n} has {a} red {t}, {b} blue {t} and {c} green {t}. How many {t} does {n} have in all?", a + b + c


def daily(r: random.Random) -> tuple[str, int]:
    a, b = r.randint(2, 15), r.randint(2, 9)
    n, t = r.choice(NAMES), r.choice(THINGS)
    return f"{n} makes {a} {t} every day. How many {t} does {n} make in {b} days?", a * b


FAMILIES = {function.__name__: function for function in (add, sub, mul, div, two, fewer, times, three, daily)}
SHOWN = ("add", "sub", "mul", "div", "two")


def key(family: str, question: str) -> tuple[str, ...]:
    """The family and the numbers of the question in one order; 12 / 4 and 12 / 3 are one."""
    numbers = sorted(int(text) for text in re.findall(r"\d+", question))
    if family == "div":
        small, total = numbers
        numbers = sorted((small, total // small))
    return (family, *map(str, numbers))


def draw(name: str, families: dict[str, int], used: set[tuple[str, ...]], texts: set[str]) -> list[dict[str, object]]:
    """A set of fresh problems; what it uses is added to `used` and `texts`."""
    problems = []
    for family, count in families.items():
        r = random.Random(f"smollm2-prompting {name} {family}")
        n = 0
        while n < count:
            question, gold = FAMILIES[family](r)
            if key(family, question) in used or question in texts:
                continue
            used.add(key(family, question))
            texts.add(question)
            problems.append({"problem_id": f"{name}-{family}-{n:03d}", "family": family, "question": question, "gold": gold})
            n += 1
    return problems


def pilot() -> tuple[set[tuple[str, ...]], set[str]]:
    """What the pilot's evaluation and pool problems used."""
    lines = [json.loads(line) for path in sorted(PILOT.glob("*.jsonl")) for line in path.read_text().splitlines()]
    return {key(line["family"], line["question"]) for line in lines}, {line["question"] for line in lines}


def all_sets() -> dict[str, list[dict[str, object]]]:
    """The probe first: it was drawn first, and the registered sets avoid it."""
    used, texts = pilot()
    probe = draw("probe2", dict.fromkeys((*SHOWN, *CANDIDATES), 6), used, texts)
    words = draw("words", dict.fromkeys((*SHOWN, UNSHOWN), 20), used, texts)
    return {"probe": probe, "words": words, "unshown": draw("unshown", {UNSHOWN: 30}, used, texts)}


def main() -> None:
    """Write the sets: the registered ones into problems/, the probe's into probe/."""
    for name, problems in all_sets().items():
        path = HERE / ("probe/problems.jsonl" if name == "probe" else f"problems/{name}.jsonl")
        path.parent.mkdir(exist_ok=True)
        lines = [json.dumps(problem, sort_keys=True) for problem in sorted(problems, key=lambda one: one["problem_id"])]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
        print(path.relative_to(HERE), len(problems))


if __name__ == "__main__":
    main()
