"""How opencompass/ was made: OpenCompass 0.5.4's own evaluator on four puzzles of this project's own.

    python make_opencompass.py WHEEL_FOLDER OUT

WHEEL_FOLDER is the unpacked wheel. Only two of its files are run, with empty stand-ins for what they import, as the
whole package needs torch; their result is written as OpenICLEvalTask writes it (JSON, indent=4).
"""

from __future__ import annotations

import json
import logging
import re
import sys
import types
from pathlib import Path
from typing import Any

from datasets import Dataset

PUZZLES = [(f"A shelf holds {a} red and {b} blue books.\nHow many books is that?", a + b) for a, b in
           ((3, 4), (10, 5), (7, 7), (1, 8))]  # fmt: skip
ANSWERS = ["7", "14", "14", "9", "7", "15", "12", "9"]


def stand_in(name: str, **members: object) -> None:
    module = types.ModuleType(name)
    module.__dict__.update(members)
    sys.modules[name] = module


package, out = Path(sys.argv[1]) / "opencompass", Path(sys.argv[2]) / "20261130_014500"
stand_in("opencompass")
stand_in("opencompass.registry", TEXT_POSTPROCESSORS={})
stand_in("opencompass.utils")
stand_in("opencompass.utils.logging", get_logger=logging.getLogger)
base: dict[str, object] = {}
exec((package / "openicl/icl_evaluator/icl_base_evaluator.py").read_text(encoding="utf-8"), base)
source = (package / "datasets/gsm8k.py").read_text(encoding="utf-8")
evaluator = re.search(r"^class Gsm8kEvaluator\(.*?(?=^class )", source, re.S | re.M)
assert evaluator
exec(evaluator[0], base)


def evaluate(name: str, k: object, n: int) -> dict[str, object]:
    rows = Dataset.from_list([{"subdivision": f"{name}_test", "idx": i} for _ in range(n) for i in range(4)])
    golds = [str(gold) for _, gold in PUZZLES] * n
    made: Any = base["Gsm8kEvaluator"]
    result: dict[str, object] = made().evaluate(k, n, rows, predictions=ANSWERS[: 4 * n], references=golds)
    return result


def write(part: str, name: str, body: object) -> None:
    path = out / part / "tiny-model" / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(body, ensure_ascii=False, indent=4), encoding="utf-8")


write("results", "puzzles", evaluate("puzzles", 1, 1))
write("results", "repeated", evaluate("repeated", [1, 2], 2))
write("results", "bare", {"accuracy": 75.0})
predictions = {
    str(i): {
        "origin_prompt": [{"role": "HUMAN", "prompt": f"Question: {question}\nLet's think step by step\nAnswer:"}],
        "prediction": f"so {ANSWERS[i]}",
        "gold": str(gold),
    }
    for i, (question, gold) in enumerate(PUZZLES)
}
write("predictions", "puzzles", predictions)
