"""A small Llama in plain torch, with the parameter names of transformers' ``LlamaForCausalLM``.

Own code instead of transformers' because of one trick: the few-shot prefix is the same for all items of a
category, so training runs it once per step and lets all items of the category attend to its keys and
values. The result is the same as running every full prompt, at about a third of the cost.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

Cache = list[tuple[Tensor, Tensor]]


@dataclass(frozen=True)
class Shape:
    """Size of a model; hidden and intermediate are multiples of the INT4 block of 32."""

    vocab: int
    hidden: int = 128
    layers: int = 4
    heads: int = 4
    intermediate: int = 352

    def hf_config(self, context: int, eos: int) -> dict[str, Any]:
        """The ``config.json`` that OGA's model builder reads."""
        return {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "vocab_size": self.vocab,
            "hidden_size": self.hidden,
            "num_hidden_layers": self.layers,
            "num_attention_heads": self.heads,
            "num_key_value_heads": self.heads,
            "head_dim": self.hidden // self.heads,
            "intermediate_size": self.intermediate,
            "hidden_act": "silu",
            "rms_norm_eps": 1e-5,
            "rope_theta": 10000.0,
            "max_position_embeddings": context,
            "tie_word_embeddings": True,
            "attention_bias": False,
            "mlp_bias": False,
            "bos_token_id": eos,
            "eos_token_id": eos,
            "pad_token_id": eos,
            "torch_dtype": "float32",
            "use_cache": True,
        }


class _Norm(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x: Tensor) -> Tensor:
        return functional.rms_norm(x, (x.shape[-1],), self.weight, 1e-5)


class _Attention(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.q_proj = nn.Linear(shape.hidden, shape.hidden, bias=False)
        self.k_proj = nn.Linear(shape.hidden, shape.hidden, bias=False)
        self.v_proj = nn.Linear(shape.hidden, shape.hidden, bias=False)
        self.o_proj = nn.Linear(shape.hidden, shape.hidden, bias=False)

    def forward(
        self, x: Tensor, cos: Tensor, sin: Tensor, mask: Tensor, past: tuple[Tensor, Tensor] | None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        batch, length, hidden = x.shape

        def split(y: Tensor) -> Tensor:
            return y.view(batch, length, self.heads, hidden // self.heads).transpose(1, 2)

        def turn(y: Tensor) -> Tensor:
            first, second = y.chunk(2, dim=-1)
            return y * cos + torch.cat((-second, first), dim=-1) * sin

        q, k, v = turn(split(self.q_proj(x))), turn(split(self.k_proj(x))), split(self.v_proj(x))
        if past is not None:
            k, v = torch.cat((past[0], k), dim=2), torch.cat((past[1], v), dim=2)
        out = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.o_proj(out.transpose(1, 2).reshape(batch, length, hidden)), (k, v)


class _Mlp(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(shape.hidden, shape.intermediate, bias=False)
        self.up_proj = nn.Linear(shape.hidden, shape.intermediate, bias=False)
        self.down_proj = nn.Linear(shape.intermediate, shape.hidden, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(functional.silu(self.gate_proj(x)) * self.up_proj(x))


class _Layer(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.input_layernorm = _Norm(shape.hidden)
        self.self_attn = _Attention(shape)
        self.post_attention_layernorm = _Norm(shape.hidden)
        self.mlp = _Mlp(shape)

    def forward(
        self, x: Tensor, cos: Tensor, sin: Tensor, mask: Tensor, past: tuple[Tensor, Tensor] | None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        attended, kept = self.self_attn(self.input_layernorm(x), cos, sin, mask, past)
        x = x + attended
        return x + self.mlp(self.post_attention_layernorm(x)), kept


class _Body(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(shape.vocab, shape.hidden)
        self.layers = nn.ModuleList(_Layer(shape) for _ in range(shape.layers))
        self.norm = _Norm(shape.hidden)


class TinyLlama(nn.Module):
    """The demo model; embeddings and output weights are tied."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.model = _Body(shape)
        for name, weight in self.named_parameters():
            if weight.dim() == 2:
                scale = 0.05 if "embed" in name else 0.7 / math.sqrt(weight.shape[1])
                if "o_proj" in name or "down_proj" in name:
                    scale /= math.sqrt(2 * shape.layers)
                nn.init.normal_(weight, std=scale)

    def hidden(
        self,
        ids: Tensor,
        valid: Tensor,
        start: Tensor | None = None,
        past: Cache | None = None,
        past_valid: Tensor | None = None,
    ) -> tuple[Tensor, Cache]:
        """States after the last norm, and keys and values.

        ``valid`` marks real tokens (right padding). ``start`` is the first position of each row when ``past``
        (and its own ``past_valid``) holds a prefix.
        """
        length = ids.shape[1]
        positions = torch.arange(length)[None] + (0 if start is None else start[:, None])
        head = self.shape.hidden // self.shape.heads
        inverse = 10000.0 ** (-torch.arange(0, head, 2, dtype=torch.float32) / head)
        angles = positions[..., None].float() * inverse
        angles = torch.cat((angles, angles), dim=-1)[:, None]
        cos, sin = angles.cos(), angles.sin()
        own = torch.ones(length, length, dtype=torch.bool).tril()[None] & valid[:, None, :]
        own = own | torch.eye(length, dtype=torch.bool)[None]
        if past_valid is not None:
            own = torch.cat((past_valid[:, None, :].expand(-1, length, -1), own), dim=2)
        mask = torch.zeros(own.shape).masked_fill(~own, -1e9)[:, None]
        x = self.model.embed_tokens(ids)
        cache: Cache = []
        for index, layer in enumerate(self.model.layers):
            x, kept = layer(x, cos, sin, mask, None if past is None else past[index])
            cache.append(kept)
        return self.model.norm(x), cache

    def logits(self, states: Tensor) -> Tensor:
        """Scores of the next token."""
        scores: Tensor = functional.linear(states, self.model.embed_tokens.weight)
        return scores
