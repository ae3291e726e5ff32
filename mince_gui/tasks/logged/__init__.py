"""tasks.logged: any multiple_choice or generate_until task of lm-eval from its log, without dataset or lm-eval.

Comes in: what `logs.lm_eval.requests` reads of a run's log. Goes out: `definition_of` makes a definition (JSON)
and each item's request (JSON), which a pack keeps as `logged` and `asked`; `task_of` makes the task of a definition.
May import: base, logs, and of tasks what every task uses.

Definition, version 1: kind, version, name, benchmark, chat_template_sha ("" where prompts hold no template),
source {model, log, lm_eval_version}, tasks {lm-eval task: output_type, task_version, shots, chat (plain | rendered |
messages), delimiter, filters [{name, steps [{function, options}]}], metrics [{metric, options}],
scored [[metric, filter]], left_out [why]}. A request is described in `asked`.

What is reproduced: the filters take_first, regex, multi_choice_regex, map, remove_whitespace, lowercase, uppercase; of
choices acc, acc_norm, acc_bytes and exact_match; of text exact_match with its options. Whatever else a task has is left
out by name; where nothing is left, the log is refused. Whether what is reproduced is what lm-eval did, the log shows:
see `proof`.
"""

from mince_gui.tasks.logged.making import Made, definition_of
from mince_gui.tasks.logged.task import LoggedTask, task_of

__all__ = ["LoggedTask", "Made", "definition_of", "task_of"]
