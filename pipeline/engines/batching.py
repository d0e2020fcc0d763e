"""Which requests are decoded together, and what their prompts share. No tensor is needed for either."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pipeline.engines.contract import Request


def shared_prefix_length(prompts: Sequence[tuple[int, ...]]) -> int:
    """Tokens at the start of every prompt that are the same in all; at least one token of each prompt is left over."""
    first, last = min(prompts), max(prompts)  # what these two share in their order, all share
    most = min(len(prompt) for prompt in prompts) - 1
    return next((n for n in range(most) if first[n] != last[n]), most)


def batches(requests: Sequence[Request], *, batch_rows: int) -> Iterator[list[list[Request]]]:
    """Requests by prompt, longest first, at most `batch_rows` together; one prompt's samples are split only if they alone are more."""
    groups: dict[tuple[int, ...], list[Request]] = {}
    for request in requests:
        groups.setdefault(request.prompt_ids, []).append(request)
    batch: list[list[Request]] = []
    n_rows = 0
    for prompt in sorted(groups, key=lambda ids: (-len(ids), ids)):
        group = sorted(groups[prompt], key=lambda request: (request.problem_id, request.sample_idx))
        for start in range(0, len(group), batch_rows):
            part = group[start : start + batch_rows]
            if batch and n_rows + len(part) > batch_rows:
                yield batch
                batch, n_rows = [], 0
            batch.append(part)
            n_rows += len(part)
    if batch:
        yield batch
