"""ifeval: the 25 instruction checks of google/IFEval, strict and loose, and the task around them.

Comes in: a doc with `instruction_id_list` and `kwargs`, and a response. Goes out: `Checked`, one verdict per
instruction both ways, equal to lm-eval 0.4.13's. `instructions` holds the checks, one entry of its registry per
type; `verdict` puts them together; `words` and `language` split and name text offline, from data in packages.

Counting ends where the number asked for is reached, and what nltk makes of the words around a stop is kept, so that a
response of a megabyte takes seconds, not minutes.

Known differences from lm-eval, all deliberate:
- letter_frequency of a character outside a-z counts that character; lm-eval draws a random letter, anew each time. Two
  items of the 541 ask for such: 1122 ("#" at least 4 times) and 1129 ("!" at least 6 times). Of the 28,356 verdicts on
  17 models' responses these are 68; the other 28,288 are all equal to lm-eval's.
- Language detection is seeded on every call; in lm-eval it is not, and short or mixed texts may change their verdict.
- Arguments that are missing or odd, and keywords that are regular expressions, are refused; lm-eval draws random
  ones, stops, or runs them. No item of google/IFEval has any.
- JSON nested deeper than Python reads is not followed; lm-eval stops with an error.
"""

from mince_gui.tasks.ifeval.instructions import INSTRUCTIONS
from mince_gui.tasks.ifeval.task import Ifeval
from mince_gui.tasks.ifeval.verdict import Checked, check

__all__ = ["INSTRUCTIONS", "Checked", "Ifeval", "check"]
