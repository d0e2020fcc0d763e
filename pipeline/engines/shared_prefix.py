"""A Llama decoder that runs the prefix shared by all prompts once, and each prompt's own part once for all its samples.

What makes it fast for few-shot prompts: the shared prefix's keys and values are stored once and read by all rows, the rest
of a prompt is run once for its k samples, the cache is allocated once, finished rows are dropped, prompts of equal length
are decoded together. A row's random numbers are its own (`uniforms`), so another batch changes it only by rounding.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch  # noqa: TID251 - the one module that computes with tensors
import torch.nn.functional as F  # noqa: N812, TID251 - torch's own customary name

from pipeline.engines.batching import batches, shared_prefix_length
from pipeline.engines.contract import Draw, Request
from pipeline.engines.uniforms import uniforms

DTYPES = {"bfloat16": torch.bfloat16, "float32": torch.float32, "float16": torch.float16}
COMPACT_BELOW = 0.85
"""Rows that have ended are dropped from the cache once fewer than this share is left: a copy costs about as much as a step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture:
    """The sizes of a Llama model. window: positions; rope_theta: base of the rotary embedding; eps: of the RMS norms."""

    n_layers: int
    n_heads: int
    n_kv_heads: int
    head_size: int
    rope_theta: float
    eps: float
    window: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """The token ids of one request, with the end-of-sequence token where it was drawn."""

    request: Request
    token_ids: tuple[int, ...]
    stopped: bool


@dataclass(frozen=True, slots=True)
class _Layer:
    norm_in: torch.Tensor
    qkv: torch.Tensor
    out: torch.Tensor
    norm_mlp: torch.Tensor
    gate_up: torch.Tensor
    down: torch.Tensor


@dataclass(frozen=True, slots=True)
class _Prefix:
    """Keys and values of the shared prefix, (layers, kv heads, length, head size)."""

    keys: torch.Tensor
    values: torch.Tensor
    length: int


@dataclass(slots=True)
class _Cache:
    """Keys and values of the rows' own tokens, (layers, rows, kv heads, time, head size)."""

    keys: torch.Tensor
    values: torch.Tensor

    def rows(self, kept: torch.Tensor) -> _Cache:
        return _Cache(self.keys[:, kept], self.values[:, kept])


class SharedPrefixDecoder:
    """Decodes batches of requests, on the GPU where there is one. weights: a Llama state dict; stop_ids: tokens that end a completion."""

    def __init__(
        self,
        architecture: Architecture,
        weights: Mapping[str, torch.Tensor],
        *,
        dtype: str,
        threads: int | None,
        stop_ids: frozenset[int],
    ) -> None:
        if threads is not None:
            torch.set_num_threads(threads)
        self.architecture = architecture
        self._dtype = DTYPES[dtype]
        self._device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self._stop_ids = stop_ids
        self._layers = [self._layer(weights, n) for n in range(architecture.n_layers)]
        self._embedding = self._take(weights["model.embed_tokens.weight"])
        self._norm_out = self._take(weights["model.norm.weight"])
        head = weights.get("lm_head.weight")
        self._head = self._embedding if head is None else self._take(head)
        size = architecture.head_size
        inverse = 1.0 / architecture.rope_theta ** (torch.arange(0, size, 2).float() / size)
        angles = torch.arange(architecture.window).float()[:, None] * inverse
        angles = torch.cat([angles, angles], -1)
        self._cos, self._sin = self._take(angles.cos()), self._take(angles.sin())

    def decode(
        self, requests: Sequence[Request], draw: Draw, *, batch_rows: int
    ) -> Iterator[tuple[Drawn, ...]]:
        """Every request once, in batches; the samples of a problem are kept together as far as a batch holds them."""
        length = shared_prefix_length([request.prompt_ids for request in requests])
        # Inside a generator the mode would stay on for the caller between two batches.
        with torch.inference_mode():
            prefix = self._run_prefix(requests[0].prompt_ids[:length]) if length else None
        for batch in batches(requests, batch_rows=batch_rows):
            with torch.inference_mode():
                drawn = self._decode_batch(batch, draw, prefix)
            yield drawn

    def _layer(self, weights: Mapping[str, torch.Tensor], number: int) -> _Layer:
        def joined(*names: str) -> torch.Tensor:
            return self._take(torch.cat([weights[f"model.layers.{number}.{name}.weight"] for name in names]))

        return _Layer(
            joined("input_layernorm"),
            joined("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
            joined("self_attn.o_proj"),
            joined("post_attention_layernorm"),
            joined("mlp.gate_proj", "mlp.up_proj"),
            joined("mlp.down_proj"),
        )

    def _take(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor.detach().to(device=self._device, dtype=self._dtype).contiguous()

    def _empty(self, rows: int, time: int) -> _Cache:
        sizes = self.architecture
        shape = (sizes.n_layers, rows, sizes.n_kv_heads, time, sizes.head_size)
        return _Cache(
            torch.zeros(shape, dtype=self._dtype, device=self._device),
            torch.zeros(shape, dtype=self._dtype, device=self._device),
        )

    def _run_prefix(self, ids: Sequence[int]) -> _Prefix:
        length = len(ids)
        cache = self._empty(1, length)
        mask = torch.ones(1, 1, length, length, dtype=torch.bool, device=self._device).tril()
        positions = torch.arange(length, device=self._device)[None]
        self._forward(torch.tensor([list(ids)], device=self._device), positions, 0, cache, mask, None)
        return _Prefix(cache.keys[:, 0].contiguous(), cache.values[:, 0].contiguous(), length)

    def _decode_batch(
        self, batch: Sequence[Sequence[Request]], draw: Draw, prefix: _Prefix | None
    ) -> tuple[Drawn, ...]:
        """batch: requests by prompt; those of one prompt share its own part."""
        rows = [request for group in batch for request in group]
        repeats = torch.tensor([len(group) for group in batch], device=self._device)
        skipped = prefix.length if prefix else 0
        own = [group[0].prompt_ids[skipped:] for group in batch]
        width, most = max(len(ids) for ids in own), max(request.max_tokens for request in rows)
        # Left padding: the last column of every row is its last token, so that all rows take the same next step.
        ids = torch.zeros(len(own), width, dtype=torch.long, device=self._device)
        there = torch.zeros(len(own), width, dtype=torch.bool, device=self._device)
        for row, tokens in enumerate(own):
            ids[row, width - len(tokens) :] = torch.tensor(tokens, device=self._device)
            there[row, width - len(tokens) :] = True
        positions = (there.long().cumsum(-1) - 1).clamp(min=0) + skipped
        prompt_cache = self._empty(len(own), width)
        logits = self._forward(ids, positions, 0, prompt_cache, self._prompt_mask(there, skipped), prefix)
        cache = self._empty(len(rows), width + most)
        cache.keys[:, :, :, :width] = prompt_cache.keys.repeat_interleave(repeats, 1)
        cache.values[:, :, :, :width] = prompt_cache.values.repeat_interleave(repeats, 1)
        bias = torch.zeros(len(rows), width + most, device=self._device)
        bias[:, :width].masked_fill_(~there.repeat_interleave(repeats, 0), float("-inf"))
        position = there.sum(1).repeat_interleave(repeats) + skipped
        return self._steps(
            rows, draw, prefix, logits.repeat_interleave(repeats, 0), cache, bias, position, width
        )

    def _prompt_mask(self, there: torch.Tensor, skipped: int) -> torch.Tensor:
        rows, width = there.shape
        causal = torch.ones(width, width, dtype=torch.bool, device=self._device).tril()[None, None]
        # A padded place sees itself: a softmax over nothing would be NaN, and NaN outlives a mask.
        itself = torch.eye(width, dtype=torch.bool, device=self._device)[None, None]
        mask = (causal & there[:, None, None, :]) | itself
        prefix = torch.ones(rows, 1, width, skipped, dtype=torch.bool, device=self._device)
        return torch.cat([prefix, mask.expand(rows, 1, width, width)], -1)

    def _steps(
        self,
        rows: Sequence[Request],
        draw: Draw,
        prefix: _Prefix | None,
        logits: torch.Tensor,
        cache: _Cache,
        bias: torch.Tensor,
        position: torch.Tensor,
        width: int,
    ) -> tuple[Drawn, ...]:
        """Token after token until every row has ended. logits: (rows, vocabulary), of the first token."""
        most = max(request.max_tokens for request in rows)
        numbers = _numbers(rows, most) if draw.temperature > 0 else None
        drawn: list[list[int]] = [[] for _ in rows]
        stopped = [False] * len(rows)
        held = list(range(len(rows)))  # the row that each line of the cache belongs to
        ended: set[int] = set()
        for step in range(most):
            chosen = _choose(logits, draw, None if numbers is None else numbers[held, step])
            for row, token in zip(held, chosen.tolist(), strict=True):
                if row in ended:
                    continue
                drawn[row].append(token)
                stopped[row] = token in self._stop_ids
                if stopped[row] or len(drawn[row]) >= rows[row].max_tokens:
                    ended.add(row)
            left = len(rows) - len(ended)
            if not left:
                break
            if left < COMPACT_BELOW * len(held):
                kept = torch.tensor(
                    [line for line, row in enumerate(held) if row not in ended], device=self._device
                )
                chosen, position, bias, cache = chosen[kept], position[kept], bias[kept], cache.rows(kept)
                held = [row for row in held if row not in ended]
            logits = self._forward(chosen[:, None], position[:, None], width + step, cache, bias, prefix)
            position = position + 1
        return tuple(
            Drawn(request=request, token_ids=tuple(ids), stopped=stop)
            for request, ids, stop in zip(rows, drawn, stopped, strict=True)
        )

    def _forward(
        self,
        ids: torch.Tensor,
        positions: torch.Tensor,
        at: int,
        cache: _Cache,
        mask: torch.Tensor,
        prefix: _Prefix | None,
    ) -> torch.Tensor:
        """Logits (rows, vocabulary) after the last token of `ids` (rows, time); their keys and values lie in the cache from `at`.

        mask: for a prompt, bool (rows, 1, time, prefix + time); for one token, float (rows, time of the cache).
        """
        sizes = self.architecture
        rows, time = ids.shape
        x = F.embedding(ids, self._embedding)
        cos, sin = self._cos[positions][:, None], self._sin[positions][:, None]
        heads = sizes.n_heads + 2 * sizes.n_kv_heads
        for number, layer in enumerate(self._layers):
            y = (
                F.linear(self._norm(x, layer.norm_in), layer.qkv)
                .view(rows, time, heads, sizes.head_size)
                .transpose(1, 2)
            )
            queries = _rotated(y[:, : sizes.n_heads], cos, sin)
            keys, values = cache.keys[number], cache.values[number]
            keys[:, :, at : at + time] = _rotated(
                y[:, sizes.n_heads : sizes.n_heads + sizes.n_kv_heads], cos, sin
            )
            values[:, :, at : at + time] = y[:, sizes.n_heads + sizes.n_kv_heads :]
            keys, values = keys[:, :, : at + time], values[:, :, : at + time]
            shared = None if prefix is None else (prefix.keys[number], prefix.values[number])
            if mask.dtype == torch.bool:
                mixed = self._attend_prompt(queries, keys, values, mask, shared)
            else:
                mixed = self._attend_one(queries, keys, values, mask[:, : at + 1], shared)
            x = x + F.linear(mixed, layer.out)
            gate, up = F.linear(self._norm(x, layer.norm_mlp), layer.gate_up).chunk(2, -1)
            x = x + F.linear(F.silu(gate) * up, layer.down)
        return F.linear(self._norm(x[:, -1], self._norm_out), self._head).float()

    def _norm(self, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        wide = x.float()
        return weight * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.architecture.eps)).to(
            self._dtype
        )

    def _attend_prompt(
        self,
        queries: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
        mask: torch.Tensor,
        shared: tuple[torch.Tensor, torch.Tensor] | None,
    ) -> torch.Tensor:
        rows, _, time, _ = queries.shape
        if shared is not None:
            keys = torch.cat([shared[0][None].expand(rows, -1, -1, -1), keys], 2)
            values = torch.cat([shared[1][None].expand(rows, -1, -1, -1), values], 2)
        mixed = F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask, enable_gqa=True)
        return mixed.transpose(1, 2).reshape(rows, time, -1)

    def _attend_one(
        self,
        queries: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
        bias: torch.Tensor,
        shared: tuple[torch.Tensor, torch.Tensor] | None,
    ) -> torch.Tensor:
        """One new token a row: scores against the shared prefix are one product for all rows, those of a row's own part are its own."""
        sizes = self.architecture
        rows, group = queries.shape[0], sizes.n_heads // sizes.n_kv_heads
        scale = sizes.head_size**-0.5
        grouped = queries.view(rows, sizes.n_kv_heads, group, sizes.head_size)
        own = torch.matmul(grouped, keys.transpose(-1, -2)).float() * scale + bias[:, None, None, :]
        if shared is None:
            return torch.matmul(own.softmax(-1).to(self._dtype), values).reshape(rows, 1, -1)
        together = grouped.transpose(0, 1).reshape(sizes.n_kv_heads, rows * group, sizes.head_size)
        length = shared[0].shape[1]
        first = torch.bmm(together, shared[0].transpose(-1, -2)).view(sizes.n_kv_heads, rows, group, length)
        scores = torch.cat([first.transpose(0, 1).float() * scale, own], -1).softmax(-1).to(self._dtype)
        before = scores[..., :length].transpose(0, 1).reshape(sizes.n_kv_heads, rows * group, length)
        mixed = (
            torch.bmm(before, shared[1]).view(sizes.n_kv_heads, rows, group, sizes.head_size).transpose(0, 1)
        )
        return (mixed + torch.matmul(scores[..., length:], values)).reshape(rows, 1, -1)


def _rotated(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    half = x.shape[-1] // 2
    return x * cos + torch.cat([-x[..., half:], x[..., :half]], -1) * sin


def _numbers(rows: Sequence[Request], most: int) -> torch.Tensor:
    drawn = [
        uniforms(seed=request.seed or 0, problem_id=request.problem_id, sample_idx=request.sample_idx, n=most)
        for request in rows
    ]
    return torch.stack([torch.from_numpy(numbers) for numbers in drawn])


def _choose(logits: torch.Tensor, draw: Draw, numbers: torch.Tensor | None) -> torch.Tensor:
    """(rows,) the next token of each row. numbers: (rows,) in [0, 1), None for greedy. Inverse of the cumulative distribution."""
    if numbers is None:
        return logits.argmax(-1)
    logits = logits / draw.temperature
    if draw.top_k:
        least = logits.topk(min(draw.top_k, logits.shape[-1]), -1).values[:, -1:]
        logits = logits.masked_fill(logits < least, float("-inf"))
    shares = logits.softmax(-1)
    if draw.top_p < 1:
        ordered, places = shares.sort(-1, descending=True)
        beyond = ordered.cumsum(-1) - ordered >= draw.top_p  # the token that passes top_p is still in
        shares = shares.scatter(-1, places, ordered.masked_fill(beyond, 0.0))
    cumulative = shares.cumsum(-1)
    total = cumulative[:, -1:]
    wanted = (numbers.to(cumulative.device)[:, None] * total.double()).to(cumulative.dtype)
    # A number that rounds up to the total would fall behind the last token that has a share at all.
    below = torch.minimum(wanted, torch.nextafter(total, torch.zeros_like(total)))
    return torch.searchsorted(cumulative, below, right=True)[:, 0]
