"""How evalscope/ was made: EvalScope 1.14.1 with its mock model on four puzzles of this project's own.

    python make_evalscope.py FOLDER

The run then lies in FOLDER/runs/<time>. Its configuration was cut down to the lines that are read, and the description
was taken out of the report, as they hold paths and long texts. The items are
invented, so the files of items are kept as shelves_default.jsonl; the test gives them EvalScope's name again.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
from evalscope import TaskConfig, run_task
from evalscope.api.model import ModelOutput

ANSWERS = ["\\boxed{7}", "\\boxed{7}", "\\boxed{15}", "\\boxed{1}", "", "\\boxed{14}", "\\boxed{9}", "\\boxed{9}"]

data = Path(sys.argv[1]) / "puzzles"
data.mkdir(parents=True)
pd.DataFrame(
    {
        "question": f"A shelf holds {a} red and {b} blue books.\nHow many books is that?",
        "answer": f"{a} + {b} = {a + b}. #### {a + b}",
    }
    for a, b in ((3, 4), (10, 5), (7, 7), (1, 8))
).to_parquet(data / "test-00000.parquet")
pd.DataFrame([{"question": "A box holds 2 pens. How many pens?", "answer": "Two. #### 2"}] * 3).to_parquet(
    data / "train-00000.parquet"
)
run_task(
    TaskConfig(
        model="tiny-model",
        eval_type="mock_llm",
        model_args={"custom_outputs": [ModelOutput.from_content("tiny-model", text) for text in ANSWERS]},
        datasets=["gsm8k"],
        dataset_args={"gsm8k": {"dataset_id": str(data), "subset_list": ["default"], "few_shot_num": 2}},
        work_dir=str(Path(sys.argv[1]) / "runs"),
        limit=4,
        eval_batch_size=1,
        repeats=2,
    )
)
