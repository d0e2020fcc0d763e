"""The engine `vllm`: batching, paging and sampling by vLLM. Its GPU path has not been run by this project's tests.

Seeds: vLLM takes one a request, and does so on GPUs. Its CPU build of 0.32 crashed with per-request seeds under chunked
prefill; there the engine is opened without, and the rows' seed is null.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from importlib.metadata import version

from vllm import LLM, SamplingParams, __version__  # noqa: TID251 - its one adapter
from vllm.inputs import TokensPrompt  # noqa: TID251 - same
from vllm.platforms import current_platform  # noqa: TID251 - same

from pipeline.engines.contract import (
    Completion,
    Draw,
    EngineIdentity,
    EngineSettings,
    FinishReason,
    Rendered,
    Request,
)
from pipeline.engines.model_folder import inspect_model
from pipeline.prompts import Turn


class VllmEngine:
    """A model opened by vLLM. Prompts go in as token ids, so that it templates and tokenises nothing itself."""

    def __init__(self, settings: EngineSettings) -> None:
        folder = inspect_model(settings.model)
        self._seeds = not current_platform.is_cpu()
        self._batch_rows = settings.batch_rows
        self._model: LLM | None = LLM(
            model=str(folder.path), dtype=settings.dtype, trust_remote_code=False, max_num_seqs=settings.batch_rows,
            enable_prefix_caching=True, load_format="safetensors", seed=0,
        )  # fmt: skip
        self._tokenizer = self._model.get_tokenizer()
        self.window_tokens = int(self._model.llm_engine.model_config.max_model_len)
        self.identity = EngineIdentity(
            name="vllm",
            versions=(
                ("vllm", __version__),
                ("torch", version("torch")),
                ("dtype", settings.dtype),
                ("device", current_platform.device_name),
                ("seeds", "per request" if self._seeds else "none"),
            ),
            tokenizer_sha256=folder.tokenizer_sha256,
            template_sha256=folder.template_sha256,
        )

    def render(self, turns: Sequence[Turn]) -> Rendered:
        """The chat under the model's template."""
        chat = [{"role": turn.role, "content": turn.content} for turn in turns]
        text = self._tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=False)
        return Rendered(text=text, token_ids=tuple(self._tokenizer(text, add_special_tokens=False).input_ids))

    def complete(self, requests: Sequence[Request], draw: Draw) -> Iterator[tuple[Completion, ...]]:
        """Completions, four batches at a time: vLLM fills its own batches, and what is done reaches the disk."""
        if self._model is None:
            raise RuntimeError("the engine is closed")
        at_once = 4 * self._batch_rows
        for start in range(0, len(requests), at_once):
            part = requests[start : start + at_once]
            outputs = self._model.generate(
                [TokensPrompt(prompt_token_ids=list(request.prompt_ids)) for request in part],
                [self._parameters(request, draw) for request in part],
                use_tqdm=False,
            )
            yield tuple(
                self._completion(request, output.outputs[0], draw)
                for request, output in zip(part, outputs, strict=True)
            )

    def close(self) -> None:
        """Release the model; vLLM's own worker processes end with it."""
        self._model = None
        gc.collect()

    def _parameters(self, request: Request, draw: Draw) -> SamplingParams:
        return SamplingParams(
            temperature=draw.temperature, top_p=draw.top_p, top_k=draw.top_k, max_tokens=request.max_tokens,
            seed=request.seed if self._seeds else None,
        )  # fmt: skip

    def _completion(self, request: Request, output: object, draw: Draw) -> Completion:
        """One sample as vLLM gives it. The stop token is in its token ids, as in ours."""
        finish: FinishReason = "length" if getattr(output, "finish_reason", None) == "length" else "stop"
        token_ids = tuple(getattr(output, "token_ids", ()))
        return Completion(
            problem_id=request.problem_id,
            sample_idx=request.sample_idx,
            token_ids=token_ids,
            text=self._tokenizer.decode(token_ids, skip_special_tokens=True),
            finish_reason=finish,
            seed=request.seed if self._seeds and draw.temperature > 0 else None,
        )


def open_engine(settings: EngineSettings) -> VllmEngine:
    """The engine, with its weights loaded."""
    return VllmEngine(settings)
