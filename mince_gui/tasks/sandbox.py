"""The sandbox that chat templates are rendered in: they come from elsewhere and may ask for the world.

jinja's immutable sandbox keeps a template from reaching anything but its values. This one also bounds the work and the
memory of one rendering: steps of loops, macros and calls, and the size of every text, list and number that is made,
are counted beforehand. What is counted depends on the template and its values alone, never on the machine's speed.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any

from jinja2 import Template, nodes, pass_context
from jinja2.exceptions import SecurityError
from jinja2.ext import Extension
from jinja2.runtime import Context, Undefined
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

_LARGEST = 1 << 24
"""Signs of a text, or entries of a list, that no single value and no prompt may exceed."""
_BUDGET = 1_000_000_000
_STEP = 5_000
_ENTRY = 500
"""What a step costs, and a look at an entry of a list; a sign that is made costs 1. So a rendering has at most 200,000
steps, a second or two; a prompt takes some thousands."""
_BIT = 64
"""What a bit of a product costs: long numbers take far longer than texts of their length."""
_LONG_FIELD = re.compile(r"\d{6,}|\*")
"""In a format: a width that no prompt needs, or one that is taken from a value."""


class _Counted(NodeTransformer):
    """Puts a counted step into every loop and macro, and lets the environment join what `~` joins."""

    def __init__(self, environment: Sandbox) -> None:
        self._environment = environment

    def _of_environment(self, name: str, arguments: list[nodes.Expr], line: int) -> nodes.Call:
        called = nodes.Call(nodes.EnvironmentAttribute(name), arguments, [], None, None)
        called.set_lineno(line)
        called.set_environment(self._environment)
        return called

    def _step(self, line: int) -> nodes.ExprStmt:
        step = nodes.ExprStmt(self._of_environment("step", [], line))
        step.set_lineno(line)
        step.set_environment(self._environment)
        return step

    # The visitor finds its methods by the names of the nodes.
    def visit_For(self, node: nodes.For) -> nodes.For:  # noqa: N802
        self.generic_visit(node)
        node.body.insert(0, self._step(node.lineno))
        if node.test is not None:
            node.test = nodes.And(self._of_environment("step", [], node.lineno), node.test)
            node.test.set_environment(self._environment)
        return node

    def visit_Macro(self, node: nodes.Macro) -> nodes.Macro:  # noqa: N802
        self.generic_visit(node)
        node.body.insert(0, self._step(node.lineno))
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Call:  # noqa: N802
        self.generic_visit(node)
        return self._of_environment("join", node.nodes, node.lineno)


class Sandbox(ImmutableSandboxedEnvironment):
    """An environment with a budget of work. One rendering at a time: `begin` fills the budget again.

    Too much raises jinja's SecurityError, which is a TemplateError.
    """

    intercepted_binops = frozenset({"+", "*", "**", "%"})

    def __init__(self, extensions: Iterable[type[Extension]], filters: Mapping[str, Callable[..., Any]]) -> None:
        # Nothing of a template is computed while it is compiled: a finalizer with a context cannot be folded.
        super().__init__(
            trim_blocks=True, lstrip_blocks=True, extensions=list(extensions), optimized=False, finalize=_finalize
        )
        self._left = _BUDGET
        self.filters = {name: self._guarded(name, made) for name, made in {**self.filters, **filters}.items()}
        del self.globals["lipsum"]  # makes any amount of text out of a small number

    def compiled(self, source: str) -> Template:
        """The template of `source`. Raises TemplateError, RecursionError."""
        tree = self.parse(source)
        return self.from_string(_Counted(self).visit(tree))

    def begin(self) -> None:
        """Fill the budget."""
        self._left = _BUDGET

    def spend(self, cost: int) -> None:
        """Take `cost` from the budget."""
        self._left -= cost
        if self._left < 0:
            raise SecurityError("the template does far more work than a prompt needs")

    def step(self) -> bool:
        """Count one step; True, so that it can stand in a condition."""
        self.spend(_STEP)
        return True

    def making(self, size: int) -> None:
        """Count what is about to be made: `size` signs or entries."""
        if size > _LARGEST:
            raise SecurityError(f"the template makes a value of more than {_LARGEST:,} signs or entries")
        self.spend(max(size, 0))

    def join(self, *parts: Any) -> str:
        """What `~` gives."""
        self.making(self.size(parts))
        return "".join(map(str, parts))

    def concat(self, parts: Iterable[str]) -> str:
        """All that is written out, of the whole template or of a block, in one text."""
        found = list(parts)
        self.making(sum(map(len, found)))
        return "".join(found)

    def size(self, value: Any) -> int:
        """How long the value is as text, roughly; what stands in it twice counts twice."""
        if isinstance(value, str | bytes):
            return len(value)
        if isinstance(value, Mapping):
            value = [*value, *value.values()]
        if not isinstance(value, list | tuple | set | frozenset):
            return value.bit_length() // 3 + 1 if isinstance(value, int) else 1
        total = 0
        for inner in value:
            self.spend(_ENTRY)  # lists that hold one another many times over end here
            total += 1 + self.size(inner)
        return total

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """`left operator right`, if the outcome is of a size that a prompt may need."""
        if operator == "%" and isinstance(left, str):
            self._format(left, right)
        elif operator == "**" and isinstance(left, int) and isinstance(right, int):
            self.making(_BIT * left.bit_length() * max(right, 0))
        elif operator == "*" and isinstance(left, int) and isinstance(right, int):
            self.making(_BIT * (left.bit_length() + right.bit_length()))
        elif operator == "*" and (isinstance(left, int) or isinstance(right, int)):
            times, value = (left, right) if isinstance(left, int) else (right, left)
            self.making(self.size(value) * max(times, 0))
        elif operator == "+" and not isinstance(left, int):
            self.making(self.size(left) + self.size(right))
        return super().call_binop(context, operator, left, right)

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805
        """Call what a template calls; a text's or list's own methods only for outcomes of a fitting size."""
        self = __self
        self.step()
        owner = getattr(inspect.unwrap(__obj), "__self__", None) if callable(__obj) else None
        if isinstance(owner, str | bytes | list | tuple | dict):
            name = str(getattr(__obj, "__name__", ""))
            if name in ("format", "format_map"):
                self._format(str(owner), [*args, *kwargs.values()])
            elif name == "join" and args and not isinstance(args[0], str | list | tuple | Mapping):
                args = (list(args[0]), *args[1:])
            self._predict(name, (owner, *args), kwargs)
        return super().call(__context, __obj, *args, **kwargs)

    def _format(self, pattern: str, values: Any) -> None:
        if _LONG_FIELD.search(pattern):
            raise SecurityError("the template formats a text with a width that no prompt needs")
        self._predict("format", (pattern, values), {})

    def _predict(self, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Count the outcome of a method or filter before it is made: never too low for those that make text."""
        first = args[0] if args else ""
        others = [*args[1:], *kwargs.values()]
        size = self.size(first)
        texts = [self.size(value) for value in others if not isinstance(value, int)]
        numbers = [abs(value) for value in others if isinstance(value, int)]
        if name in ("replace", "join", "translate", "wordwrap", "indent"):
            size *= max([1, *texts])
        else:
            size += sum(texts)
        for number in numbers:
            # A count, a width, an indentation; none makes more than this many times the text.
            size *= max(number, 1)
        self.making(size)

    def _guarded(self, name: str, made: Callable[..., Any]) -> Callable[..., Any]:
        """The filter `made`, its outcome counted beforehand."""
        skip = 1 if hasattr(made, "jinja_pass_arg") else 0

        @wraps(made)
        def counted(*args: Any, **kwargs: Any) -> Any:
            self.step()
            given = args[skip:]
            if given and inspect.isgenerator(given[0]):
                given = (self._listed(given[0]), *given[1:])
            if name == "format" and given:
                self._format(str(given[0]), [*given[1:], *kwargs.values()])
            self._predict(name, given, kwargs)
            return made(*args[:skip], *given, **kwargs)

        return counted

    def _listed(self, values: Iterable[Any]) -> list[Any]:
        """What a lazy filter gives, so that it can be measured."""
        found = []
        for value in values:
            self.spend(_ENTRY)
            found.append(value)
        return found


@pass_context
def _finalize(context: Context, value: Any) -> Any:
    """Count what is about to be written out."""
    environment = context.environment
    assert isinstance(environment, Sandbox)
    if not isinstance(value, Undefined):
        environment.making(environment.size(value))
    return value
