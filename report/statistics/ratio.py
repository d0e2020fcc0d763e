"""A ratio of two gains, reported only where both are there to be divided."""

from dataclasses import dataclass

REGISTERED_GUARDS = (
    "abs_teacher_gain_ge_min",
    "teacher_gain_gt_0",
    "teacher_ci_excludes_0",
    "student_gain_gt_0",
)
"""The four guards of seed 002's registration."""

ALL_GUARDS = (*REGISTERED_GUARDS, "student_ci_excludes_0")
"""With the fifth that its report asks for: a null student gain over a real teacher gain is no ratio."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardedRatio:
    """The ratio, or None with the guards that failed; `guards` tells all five, required or not."""

    ratio: float | None
    guards: tuple[tuple[str, bool], ...]
    required: tuple[str, ...]
    reason: str | None


def excludes_zero(low: float | None, high: float | None) -> bool:
    """Whether an interval lies on one side of 0. Strict: a bound of exactly 0 does not exclude it.

    An interval that is not estimable excludes nothing.
    """
    return low is not None and high is not None and (low > 0.0 or high < 0.0)


def transfer_ratio(
    *,
    student_gain: float | None,
    student_interval: tuple[float, float] | None,
    teacher_gain: float | None,
    teacher_interval: tuple[float, float] | None,
    min_teacher_gain: float,
    required: tuple[str, ...] = ALL_GUARDS,
) -> GuardedRatio:
    """The student's gain is divided by the teacher's if every required guard holds.

    All gains and bounds in one unit (fractions or percentage points); the ratio has none. A gain or interval
    that is not estimable fails its guards. The guards say the two gains are there, not that one comes from the
    other. Errors: ValueError for min_teacher_gain <= 0, an unknown guard, bounds in the wrong order.
    Source: seed 002 section 7.3.
    """
    if not min_teacher_gain > 0.0:
        raise ValueError(
            f"min_teacher_gain is {min_teacher_gain}: it must be above 0, or the ratio can explode"
        )
    unknown = sorted(set(required) - set(ALL_GUARDS))
    if unknown:
        raise ValueError(f"unknown guards {unknown}: choose from {', '.join(ALL_GUARDS)}")
    for name, interval in (("student", student_interval), ("teacher", teacher_interval)):
        if interval is not None and not interval[0] <= interval[1]:
            raise ValueError(f"{name}_interval is {interval}: the lower bound comes first")
    held = {
        "abs_teacher_gain_ge_min": teacher_gain is not None and abs(teacher_gain) >= min_teacher_gain,
        "teacher_gain_gt_0": teacher_gain is not None and teacher_gain > 0.0,
        "teacher_ci_excludes_0": excludes_zero(*(teacher_interval or (None, None))),
        "student_gain_gt_0": student_gain is not None and student_gain > 0.0,
        "student_ci_excludes_0": excludes_zero(*(student_interval or (None, None))),
    }
    failed = [name for name in ALL_GUARDS if name in required and not held[name]]
    ratio = None
    if not failed and student_gain is not None and teacher_gain:
        ratio = student_gain / teacher_gain
    return GuardedRatio(
        ratio=ratio,
        guards=tuple(held.items()),
        required=required,
        reason=None if ratio is not None else "not reported: " + (", ".join(failed) or "a gain is missing"),
    )
