"""GSM8K: 1,319 word problems with a number as the answer, by the four prompts of lm-eval 0.4.13."""

from __future__ import annotations

import hashlib
import re

from mince_gui.base.canonical import plain_json
from mince_gui.benchmarks.docs import Doc, only, template
from mince_gui.benchmarks.numbers import AFTER_MARK, METRICS, cleaned, filters, gold
from mince_gui.benchmarks.types import Benchmark, Data, Reading, TextPrompt

_ENDS = ("</s>", "<|im_end|>")
_ANSWER_IS = filters(Reading(re.compile(r"The answer is (-?[0-9.,]+).")))
_ANSWER = template("{answer}")

# The eight worked examples of chain-of-thought prompting (Wei et al., 2022) in the wording of lm-eval's task files (MIT
# licence): question, reasoning, answer. They are prompt text and no items of the benchmark.
_WORKED = (
    (
        "There are 15 trees in the grove. Grove workers will plant trees in the grove today. After they are done,"
        " there will be 21 trees. How many trees did the grove workers plant today?",
        "There are 15 trees originally. Then there were 21 trees after some more were planted. So there must have"
        " been 21 - 15 = 6.",
        "6",
    ),
    (
        "If there are 3 cars in the parking lot and 2 more cars arrive, how many cars are in the parking lot?",
        "There are originally 3 cars. 2 more cars arrive. 3 + 2 = 5.",
        "5",
    ),
    (
        "Leah had 32 chocolates and her sister had 42. If they ate 35, how many pieces do they have left in total?",
        "Originally, Leah had 32 chocolates. Her sister had 42. So in total they had 32 + 42 = 74. After eating "
        "35, they had 74 - 35 = 39.",
        "39",
    ),
    (
        "Jason had 20 lollipops. He gave Denny some lollipops. Now Jason has 12 lollipops. How many lollipops did"
        " Jason give to Denny?",
        "Jason started with 20 lollipops. Then he had 12 after giving some to Denny. So he gave Denny 20 - 12 = 8.",
        "8",
    ),
    (
        "Shawn has five toys. For Christmas, he got two toys each from his mom and dad. How many toys does he "
        "have now?",
        "Shawn started with 5 toys. If he got 2 toys each from his mom and dad, then that is 4 more toys. 5 + 4 = 9.",
        "9",
    ),
    (
        "There were nine computers in the server room. Five more computers were installed each day, from monday "
        "to thursday. How many computers are now in the server room?",
        "There were originally 9 computers. For each of 4 days, 5 more computers were added. So 5 * 4 = 20 "
        "computers were added. 9 + 20 is 29.",
        "29",
    ),
    (
        "Michael had 58 golf balls. On tuesday, he lost 23 golf balls. On wednesday, he lost 2 more. How many "
        "golf balls did he have at the end of wednesday?",
        "Michael started with 58 golf balls. After losing 23 on tuesday, he had 58 - 23 = 35. After losing 2 "
        "more, he had 35 - 2 = 33 golf balls.",
        "33",
    ),
    (
        "Olivia has $23. She bought five bagels for $3 each. How much money does she have left?",
        "Olivia had 23 dollars. 5 bagels for 3 dollars each will be 5 x 3 = 15 dollars. So she has 23 - 15 "
        "dollars left. 23 - 15 is 8.",
        "8",
    ),
)


def _examples(closing: str) -> tuple[Doc, ...]:
    """The worked examples, each ending in `closing` with its answer."""
    return tuple(
        {"question": question, "answer": f"{reasoning} {closing.format(answer)}"}
        for question, reasoning, answer in _WORKED
    )


def _gold_alone(doc: Doc) -> str:
    """The gold of the tasks with examples of their own: blanks around it do not count there. Raises as `gold`."""
    gold(doc)
    return cleaned(str(doc["answer"]).split("####")[-1].strip())


def _quick_hash(doc: Doc) -> str | None:
    question, answer = doc["question"], doc["answer"]
    if type(question) is not str or type(answer) is not str:
        return None
    plain = plain_json({"answer": answer.strip(), "question": question.strip()})
    return hashlib.sha256(plain).hexdigest() if plain is not None else None


_PROMPTS = (
    TextPrompt(
        task="gsm8k_cot_zeroshot",
        question=template("Q: {question}\nA: Let's think step by step."),
        target=_ANSWER,
        gold=gold,
        filters=_ANSWER_IS,
        cleaned=cleaned,
        until=("Q:", *_ENDS),
    ),
    TextPrompt(
        task="gsm8k",
        question=template("Question: {question}\nAnswer:"),
        target=_ANSWER,
        gold=gold,
        filters=filters(AFTER_MARK),
        cleaned=cleaned,
        until=("Question:", *_ENDS),
        shots=5,
    ),
    TextPrompt(
        task="gsm8k_cot",
        question=template("Q: {question}\nA:"),
        target=_ANSWER,
        gold=_gold_alone,
        filters=_ANSWER_IS,
        cleaned=cleaned,
        until=("Q:", *_ENDS),
        examples=_examples("The answer is {}."),
    ),
    TextPrompt(
        task="gsm8k_cot_llama",
        question=template(
            "Given the following problem, reason and give a final answer to the problem.\n"
            "Problem: {question}\n"
            'Your response should end with "The final answer is [answer]" where [answer] is the response '
            "to the problem.\n"
        ),
        target=_ANSWER,
        gold=_gold_alone,
        filters=filters(Reading(re.compile(r"The final answer is ((?:-?[$0-9.,]{2,})|(?:-?[0-9]+))"), last=True)),
        cleaned=cleaned,
        until=("<|eot_id|>", "<|start_header_id|>user<|end_header_id|>", "Q:", *_ENDS),
        answer_gap="",
        examples=_examples("The final answer is {}"),
    ),
)

BENCHMARK = Benchmark(
    name="gsm8k",
    title="GSM8K",
    total_items=1_319,
    metrics=METRICS,
    key_field="doc_id",
    tasks=("gsm8k", "gsm8k_cot", "gsm8k_cot_zeroshot", "gsm8k_cot_llama"),
    default_task="gsm8k_cot_zeroshot",
    default_step=100,
    dataset="openai/gsm8k",
    licence="MIT",
    data=Data(
        fields={"question": str, "answer": str},
        content=only("question", "answer"),
        quick_hash=_quick_hash,
        folders=("", "main/", "data/", "grade_school_math/data/"),
        drawn=5,
    ),
    prompts=_PROMPTS,
)
