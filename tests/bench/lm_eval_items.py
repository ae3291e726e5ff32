"""lm-eval's backend `onnxruntime-genai`, item by item; run by a Python that has lm-eval 0.4.13 (see mmlu_fast.py).

    python lm_eval_items.py MODEL_DIR

Reads one JSON object a line: {"prompt", "choices"} or {"prompt", "until", "budget"}; answers each with {"seconds",
"logprobs"} or {"seconds", "text"}, after a first line {"ready": true}. The seconds are those of the backend's own
`loglikelihood` or `generate_until`. Imports nothing of the project.
"""

from __future__ import annotations

import json
import os
import sys
import time

from lm_eval.api.instance import Instance  # type: ignore[import-not-found]
from lm_eval.models.onnxruntime_genai import ONNXRuntimeGenAILM  # type: ignore[import-not-found]


def main() -> None:
    """Answer until the end of stdin."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what else is printed is no answer
    lm = ONNXRuntimeGenAILM(pretrained=sys.argv[1])
    out.write('{"ready": true}\n')
    out.flush()
    for line in sys.stdin:
        item = json.loads(line)
        prompt = item["prompt"]
        answer: dict[str, object] = {}
        begin = time.perf_counter()
        if "choices" in item:
            asked = [Instance("loglikelihood", {}, (prompt, choice), i) for i, choice in enumerate(item["choices"])]
            answer["logprobs"] = [float(value) for value, _ in lm.loglikelihood(asked, disable_tqdm=True)]
        else:
            options = {"until": item["until"], "max_gen_toks": item["budget"], "do_sample": False}
            asked = [Instance("generate_until", {}, (prompt, options), 0)]
            (answer["text"],) = lm.generate_until(asked, disable_tqdm=True)
        answer["seconds"] = time.perf_counter() - begin
        out.write(json.dumps(answer) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
