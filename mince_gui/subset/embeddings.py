"""Sentence embeddings from an ONNX folder, on the CPU. The one module of the parent that imports onnxruntime."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mince_gui.base.cancel import CancelToken
from mince_gui.base.canonical import sha256_file
from mince_gui.base.errors import InputError
from mince_gui.base.events import Emit, Progress, ignore
from mince_gui.subset.clustering import Vectors
from mince_gui.subset.onnx_file import external_files

_MODEL_NAMES = ("model.onnx", "onnx/model.onnx")
_TOKENIZERS = ("tokenizer.json", "vocab.txt")
_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
_BATCH = 16
_USUAL_TOKENS = 256
_MOST_TOKENS = 8_192
_LARGEST_JSON = 64 << 20
_REMEDY = "Choose the folder of an ONNX sentence-embedding model: model.onnx beside tokenizer.json or vocab.txt."

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class SentenceModel:
    """An ONNX folder whose files were looked at and hashed, and nothing of which was loaded yet.

    `source` says in a dict, fit for JSON, what makes its vectors what they are.
    """

    model: Path
    tokenizer: Path
    lower: bool
    pool: str
    most_tokens: int
    source: Mapping[str, Any]


def find_model(folder: Path) -> SentenceModel:
    """The sentence-embedding model of a folder: model.onnx (or onnx/model.onnx) and tokenizer.json or vocab.txt.

    1_Pooling/config.json and sentence_bert_config.json are followed where they are there. Raises InputError for a
    folder that is none, and for a model with data outside of its folder.
    """
    model = _model_file(folder)
    tokenizer = _tokenizer_file(model.parent, folder)
    pool, most = _pooling(folder), _most_tokens(folder)
    lower = _setting(folder / "tokenizer_config.json", "do_lower_case") is not False
    source = {
        "kind": "onnx",
        "model": folder.resolve().name,
        "sha256": sha256_file(model),
        "external": {name: sha256_file(model.parent / name) for name in external_files(model)},
        "tokenizer_sha256": sha256_file(tokenizer),
        "pooling": pool,
        "most_tokens": most,
    }
    return SentenceModel(model, tokenizer, lower, pool, most, source)


def embed(
    sentences: SentenceModel, texts: Sequence[str], *, emit: Emit = ignore, cancel: CancelToken | None = None
) -> Vectors:
    """The vectors of the texts (N, d), each of length 1: the mean over a text's tokens, or its first token's.

    Tokens beyond the model's own limit (256 where it says none) are cut off. The longest texts come first, in batches
    of 16. Emits Progress (texts). Raises InputError for what is no such model and for operators that onnxruntime does
    not have (no library of custom operators is ever loaded), CancelledError.
    """
    model = sentences.model
    tokenizer = _tokenizer(sentences)
    session = _session(model)
    inputs = [node.name for node in session.get_inputs()]
    unknown = [name for name in inputs if name not in _INPUTS]
    if unknown or "input_ids" not in inputs:
        raise InputError(
            f"{model} asks for the inputs {', '.join(inputs)}; that is no sentence-embedding model.", _REMEDY
        )
    # The tokenizer takes no lone surrogates, which a dataset may hold.
    whole = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
    ids = [np.array(encoding.ids, dtype=np.int64) for encoding in tokenizer.encode_batch(whole)]
    order = sorted(range(len(ids)), key=lambda i: (-len(ids[i]), i))
    vectors: Vectors | None = None
    for start in range(0, len(order), _BATCH):
        if cancel is not None:
            cancel.check()
        emit(Progress(start, len(order), "texts embedded"))
        batch = order[start : start + _BATCH]
        found = _run(session, model, inputs, [ids[i] for i in batch], sentences.pool)
        if vectors is None:
            vectors = np.empty((len(texts), found.shape[1]), dtype=np.float32)
        vectors[batch] = found
    emit(Progress(len(order), len(order), "texts embedded"))
    if vectors is None:
        raise InputError("There is no text to embed.", "Give a dataset with items.")
    return vectors


def _model_file(folder: Path) -> Path:
    """The model's file, its outside data checked."""
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder.", _REMEDY)
    model = next((folder / name for name in _MODEL_NAMES if (folder / name).is_file()), None)
    if model is None:
        raise InputError(f"{folder} holds no {' and no '.join(_MODEL_NAMES)}.", _REMEDY)
    home = model.parent.resolve()
    for name in external_files(model):
        file = (model.parent / name).resolve()
        if Path(name).is_absolute() or not file.is_relative_to(home):
            raise InputError(
                f"{model} keeps data outside of its folder ({name[:80]!r}).",
                "Such a model is not loaded: copy its files into one folder and export it again.",
            )
        if not file.is_file():
            raise InputError(f"{model} keeps data in {name[:80]!r}, which is not there.", "Copy the whole folder.")
    return model


def _session(model: Path) -> Any:
    import onnxruntime

    onnxruntime.disable_telemetry_events()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    with _refusals_of(model, "loaded"):
        return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


@contextmanager
def _refusals_of(model: Path, what: str) -> Iterator[None]:
    """Whatever onnxruntime has against the model or its inputs, as an InputError. Its errors have no common class."""
    from onnxruntime.capi import onnxruntime_pybind11_state as states

    try:
        yield
    except (
        states.Fail,
        states.InvalidArgument,
        states.InvalidGraph,
        states.InvalidProtobuf,
        states.NoSuchFile,
        states.NotImplemented,
        states.RuntimeException,
    ) as error:
        raise InputError(f"{model} cannot be {what}: {str(error).splitlines()[0][:300]}", _REMEDY) from error


def _tokenizer_file(beside: Path, root: Path) -> Path:
    file = next((at / name for at in (beside, root) for name in _TOKENIZERS if (at / name).is_file()), None)
    if file is None:
        raise InputError(f"{root} holds neither {' nor '.join(_TOKENIZERS)}.", _REMEDY)
    if file.stat().st_size > _LARGEST_JSON:
        raise InputError(f"{file} is far too large for a tokenizer.", _REMEDY)
    return file


def _tokenizer(sentences: SentenceModel) -> Any:
    """The tokenizer, cutting at the model's limit and padding nothing."""
    import tokenizers

    file = sentences.tokenizer
    try:
        if file.name == "vocab.txt":
            tokenizer: Any = tokenizers.BertWordPieceTokenizer(str(file), lowercase=sentences.lower)
        else:
            tokenizer = tokenizers.Tokenizer.from_file(str(file))
        tokenizer.no_padding()
        tokenizer.enable_truncation(sentences.most_tokens)
    except Exception as error:  # the tokenizers library raises nothing finer
        raise InputError(f"{file} is no tokenizer that can be read: {error}.", _REMEDY) from error
    return tokenizer


def _most_tokens(root: Path) -> int:
    most = _setting(root / "sentence_bert_config.json", "max_seq_length")
    if most is None:
        return _USUAL_TOKENS
    if not isinstance(most, int) or isinstance(most, bool) or not 3 <= most <= _MOST_TOKENS:
        raise InputError(f"{root}: 'max_seq_length' of sentence_bert_config.json is no number of tokens.", _REMEDY)
    return most


def _pooling(root: Path) -> str:
    """ "mean" or "cls"."""
    config = root / "1_Pooling" / "config.json"
    if _setting(config, "pooling_mode_cls_token") is True:
        return "cls"
    if _setting(config, "pooling_mode_mean_tokens") is False:
        raise InputError(f"{config}: of the ways to pool only mean and cls are known here.", _REMEDY)
    return "mean"


def _setting(file: Path, name: str) -> object:
    """One entry of a JSON file; None where there is no such file or entry."""
    if not file.is_file():
        return None
    try:
        body = json.loads(file.read_text(encoding="utf-8-sig")) if file.stat().st_size <= _LARGEST_JSON else None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file} is not valid JSON: {error}.", _REMEDY) from error
    return body.get(name) if isinstance(body, Mapping) else None


def _run(session: Any, model: Path, inputs: Sequence[str], batch: Sequence[Ints], pool: str) -> Vectors:
    """The vectors (b, d) of one batch of token ids, padded on the right and masked."""
    width = max(1, *(len(ids) for ids in batch))
    padded = np.zeros((len(batch), width), dtype=np.int64)
    mask = np.zeros_like(padded)
    for row, ids in enumerate(batch):
        padded[row, : len(ids)] = ids
        mask[row, : len(ids)] = 1
    feeds = {"input_ids": padded, "attention_mask": mask, "token_type_ids": np.zeros_like(padded)}
    with _refusals_of(model, "run"):
        hidden = np.asarray(session.run(None, {name: feeds[name] for name in inputs})[0])
    if hidden.ndim != 3 or hidden.shape[:2] != padded.shape or hidden.dtype.kind != "f":
        raise InputError(f"{model} gives no vector for each token, so nothing can be pooled.", _REMEDY)
    if pool == "cls":
        pooled = hidden[:, 0, :].astype(np.float64)
    else:
        weights = mask[:, :, None].astype(np.float64)
        pooled = (hidden * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1.0)
    lengths = np.linalg.norm(pooled, axis=1, keepdims=True)
    return np.asarray(pooled / np.maximum(lengths, 1e-12), dtype=np.float32)
