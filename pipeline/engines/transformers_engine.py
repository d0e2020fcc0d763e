"""The engine `transformers`: tokenizer, template and weights by transformers, decoding by `shared_prefix`."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from importlib.metadata import version

from transformers import (  # noqa: TID251 - its one adapter
    AutoConfig,
    AutoModelForCausalLM,
    AutoTokenizer,
    GenerationConfig,
)

from manifests.errors import BeforehandError, CapabilityMissingError
from pipeline.engines.contract import Completion, Draw, EngineIdentity, EngineSettings, Rendered, Request
from pipeline.engines.model_folder import ModelFolder, inspect_model
from pipeline.engines.shared_prefix import DTYPES, Architecture, Drawn, SharedPrefixDecoder
from pipeline.prompts import Turn


class TransformersEngine:
    """A Llama model from a folder of safetensors, on the GPU where there is one."""

    def __init__(self, settings: EngineSettings) -> None:
        if settings.dtype not in DTYPES:
            raise BeforehandError(
                f"knows no dtype {settings.dtype!r}",
                where="run.toml dtype",
                mend=f"write one of {', '.join(DTYPES)}",
            )
        folder = inspect_model(settings.model)
        self._settings = settings
        config = AutoConfig.from_pretrained(folder.path, local_files_only=True, trust_remote_code=False)
        self._tokenizer = AutoTokenizer.from_pretrained(
            folder.path, local_files_only=True, trust_remote_code=False
        )
        architecture = _architecture(folder, config)
        self.window_tokens = architecture.window
        self.identity = EngineIdentity(
            name="transformers",
            versions=(
                ("torch", version("torch")),
                ("transformers", version("transformers")),
                ("dtype", settings.dtype),
            ),
            tokenizer_sha256=folder.tokenizer_sha256,
            template_sha256=folder.template_sha256,
        )
        model = AutoModelForCausalLM.from_pretrained(
            folder.path,
            dtype=settings.dtype,
            local_files_only=True,
            trust_remote_code=False,
            use_safetensors=True,
        )
        self._decoder: SharedPrefixDecoder | None = SharedPrefixDecoder(
            architecture,
            model.state_dict(),
            dtype=settings.dtype,
            threads=settings.threads,
            stop_ids=_stop_ids(folder, self._tokenizer.eos_token_id),
        )

    def render(self, turns: Sequence[Turn]) -> Rendered:
        """The chat under the model's template. Its special tokens are in the text, so none is added again."""
        chat = [{"role": turn.role, "content": turn.content} for turn in turns]
        text = self._tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=False)
        return Rendered(text=text, token_ids=tuple(self._tokenizer(text, add_special_tokens=False).input_ids))

    def complete(self, requests: Sequence[Request], draw: Draw) -> Iterator[tuple[Completion, ...]]:
        """Batches of completions."""
        if self._decoder is None:
            raise RuntimeError("the engine is closed")
        for batch in self._decoder.decode(requests, draw, batch_rows=self._settings.batch_rows):
            yield tuple(self._completion(drawn, draw) for drawn in batch)

    def close(self) -> None:
        """Release the weights."""
        self._decoder = None
        gc.collect()

    def _completion(self, drawn: Drawn, draw: Draw) -> Completion:
        return Completion(
            problem_id=drawn.request.problem_id,
            sample_idx=drawn.request.sample_idx,
            token_ids=drawn.token_ids,
            text=self._tokenizer.decode(drawn.token_ids, skip_special_tokens=True),
            finish_reason="stop" if drawn.stopped else "length",
            seed=drawn.request.seed if draw.temperature > 0 else None,
        )


def open_engine(settings: EngineSettings) -> TransformersEngine:
    """The engine, with its weights loaded."""
    return TransformersEngine(settings)


def _architecture(folder: ModelFolder, config: AutoConfig) -> Architecture:
    rope = dict(getattr(config, "rope_parameters", None) or {})
    kind = rope.get("rope_type", "default")
    known = folder.model_type == "llama" and kind == "default" and config.hidden_act == "silu"
    if not known or config.attention_bias or config.mlp_bias:
        raise CapabilityMissingError(
            f"this engine decodes plain Llama models, and this one is {folder.model_type!r} with {kind} positions",
            where=str(folder.path),
            mend='write engine = "vllm", or an engine of your own',
        )
    head_size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    return Architecture(
        n_layers=config.num_hidden_layers,
        n_heads=config.num_attention_heads,
        n_kv_heads=config.num_key_value_heads,
        head_size=head_size,
        rope_theta=float(rope.get("rope_theta", 10000.0)),
        eps=config.rms_norm_eps,
        window=config.max_position_embeddings,
    )


def _stop_ids(folder: ModelFolder, end_of_sequence: int | None) -> frozenset[int]:
    """The tokenizer's end token and those of the generation configuration, which may list several."""
    ids = set() if end_of_sequence is None else {end_of_sequence}
    if (folder.path / "generation_config.json").is_file():
        listed = GenerationConfig.from_pretrained(folder.path, local_files_only=True).eos_token_id
        ids |= set(listed if isinstance(listed, list) else [] if listed is None else [listed])
    if not ids:
        raise BeforehandError(
            "names no end-of-sequence token",
            where=str(folder.path),
            mend="set eos_token in tokenizer_config.json",
        )
    return frozenset(ids)
