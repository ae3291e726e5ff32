"""A plain onnxruntime-genai loop: the device model's own full run, made without any code of the application.

Kept apart from the application's worker on purpose: the stored reference must not inherit its mistakes. Needs
numpy and onnxruntime-genai only, so that it can also be tried in an environment with an older release.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime_genai as og

from demo_build.prompts import MATH_STOP, MAX_NEW_TOKENS, cut_at_stop


class Device:
    """The INT4 model, its tokenizer and its end-of-text ids."""

    def __init__(self, folder: Path) -> None:
        self.model = og.Model(str(folder))
        self.tokenizer = og.Tokenizer(self.model)
        self.end = 0

    def encode(self, text: str) -> list[int]:
        """Token ids as plain integers."""
        return [int(token) for token in self.tokenizer.encode(text)]

    def _generator(self, ids: Sequence[int], extra: int) -> Any:
        params = og.GeneratorParams(self.model)
        params.set_search_options(do_sample=False, max_length=len(ids) + extra)
        generator = og.Generator(self.model, params)
        generator.append_tokens(list(ids))
        return generator

    def option_logprobs(self, prompt: str, options: Sequence[str]) -> list[float]:
        """Log-probability of each option, one token, after the prompt (one fresh generator)."""
        ids = self.encode(prompt)
        tokens = []
        for option in options:
            longer = self.encode(f"{prompt} {option}")
            if longer[:-1] != ids:
                raise ValueError(f"the prompt's ids are no prefix of those with {option}")
            tokens.append(longer[-1])
        logits = np.asarray(self._generator(ids, 1).get_logits(), dtype=np.float64).reshape(-1)
        peak = logits.max()
        total = peak + np.log(np.exp(logits - peak).sum())
        return [float(logits[token] - total) for token in tokens]

    def answer(self, prompt: str) -> str:
        """Greedy text after the prompt, up to end-of-text, the stop string or the limit of new tokens."""
        generator = self._generator(self.encode(prompt), MAX_NEW_TOKENS + 1)
        tokens: list[int] = []
        while len(tokens) < MAX_NEW_TOKENS:
            generator.generate_next_token()
            token = int(generator.get_next_tokens()[0])
            if token == self.end:
                break
            tokens.append(token)
            if MATH_STOP in self.tokenizer.decode(tokens):
                break
        return cut_at_stop(self.tokenizer.decode(tokens)) if tokens else ""
