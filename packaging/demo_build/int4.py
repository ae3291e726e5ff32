"""From a checkpoint to the INT4 folder: safetensors, OGA's model builder, and the few edits it needs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer

from demo_build.network import TinyLlama
from demo_build.tokens import CONTEXT, end_id, save_tokenizer

KEPT = ("genai_config.json", "model.onnx", "model.onnx.data", "tokenizer.json", "tokenizer_config.json")


def save_hf(model: TinyLlama, tokenizer: Tokenizer, folder: Path) -> None:
    """Write the folder in transformers' format that the builder reads."""
    shutil.rmtree(folder, ignore_errors=True)
    save_tokenizer(tokenizer, folder)
    weights = {name: weight.detach().contiguous() for name, weight in model.state_dict().items()}
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    config = model.shape.hf_config(CONTEXT, end_id(tokenizer))
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")


def check_hf(model: TinyLlama, folder: Path) -> float:
    """Largest difference between our logits and transformers' on random tokens; raises if it is not tiny."""
    from transformers import LlamaForCausalLM

    other = LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32)
    ids = torch.randint(0, model.shape.vocab, (1, 120), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        own = model.logits(model.hidden(ids, torch.ones_like(ids, dtype=torch.bool))[0])
        difference = float((other(ids).logits - own).abs().max())
    if difference > 1e-3:
        raise ValueError(f"the saved model differs from the trained one by {difference}")
    return difference


def build_int4(hf: Path, out: Path, scratch: Path) -> None:
    """Quantise with OGA's builder and keep the five files that OGA loads.

    The builder writes transformers 5's ``TokenizersBackend``, which OGA 0.9.2 and 0.11.2 refuse, hence our
    own tokenizer files.
    """
    made = scratch / "oga"
    shutil.rmtree(made, ignore_errors=True)
    subprocess.run(
        [
            sys.executable,
            "-m",
            "onnxruntime_genai.models.builder",
            "-i",
            str(hf),
            "-o",
            str(made),
            "-p",
            "int4",
            "-e",
            "cpu",
            "-c",
            str(scratch / "cache"),
            "--extra_options",
            "hf_token=false",
            "int4_accuracy_level=4",
        ],
        check=True,
        env=os.environ | {"HF_HUB_OFFLINE": "1"},
    )
    config = json.loads((made / "genai_config.json").read_text())
    if config["search"]["do_sample"]:
        raise ValueError("the builder's search options sample")
    (made / "genai_config.json").write_text(json.dumps(config, indent=4) + "\n")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copyfile(hf / name, made / name)
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    for name in KEPT:
        shutil.copyfile(made / name, out / name)
