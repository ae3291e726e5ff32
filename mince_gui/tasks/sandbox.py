"""The sandbox that chat templates are rendered in: they come from elsewhere and may ask for the world.

jinja's immutable sandbox keeps a template from reaching anything but its values. This one also bounds the work and the
memory of one rendering: steps of loops, macros and calls, and the size of every text, list and number that is made,
are counted beforehand. What is counted depends on the template and its values alone, never on the machine's speed.
"""

from __future__ import annotations

import inspect
import re
import string
from collections.abc import Callable, Iterable, Iterator, Mapping
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
_ENTRY = 1_000
"""What a step costs, and a look at an entry of a list; a sign that is made costs 1. So a rendering has at most 200,000
steps, a second or two; a prompt takes some thousands."""
_BIT = 64
"""What a bit of a product costs: long numbers take far longer than texts of their length."""
_PERCENT_FIELD = re.compile(r"%(\((?:[^()]|\([^()]*+\))*+\))?[#0\- +]*+(\*|\d++)?(?:\.(\*|\d++))?[hlL]?.?", re.DOTALL)
"""A field of a `%` format: key, width, precision."""
_DIGITS = re.compile(r"\d+")
_WIDEST = 99_999
_LONG = re.compile(r"\d{6,}")
"""A width above the widest, wherever it stands."""
_NUMBER = 330
"""Signs of the longest number that a field without a width writes out (1e308 in full)."""
_PADDING = frozenset({"center", "ljust", "rjust", "zfill", "to_bytes"})
"""What adds signs up to a given number."""
_GROUPING = frozenset({"batch", "slice"})
"""What adds entries up to a given number."""
_SPREADING = frozenset({"expandtabs", "indent", "tojson"})
"""What may put a given number of signs, or a given text, at each of its signs."""
_INSERTING = frozenset({"translate", "urlize", "wordwrap", "xmlattr"})
"""What may put a given text at each of its signs; its numbers only bound it."""
_COMPARING = frozenset(
    "eq == equalto ne != lt < lessthan le <= gt > greaterthan ge >= in".split()  # noqa: SIM905 - one glance
)


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

    def visit_Compare(self, node: nodes.Compare) -> nodes.Compare:  # noqa: N802
        self.generic_visit(node)
        node.expr = self._of_environment("measured", [node.expr], node.lineno)
        for operand in node.ops:
            operand.expr = self._of_environment("measured", [operand.expr], node.lineno)
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
        tests: dict[str, Any] = {**self.tests}
        self.tests = {name: self._comparing(test) if name in _COMPARING else test for name, test in tests.items()}
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

    def measured(self, value: Any) -> Any:
        """The value, which is about to be compared, its entries counted."""
        self.size(value)
        return value

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
        if operator == "%" and isinstance(left, str | bytes):
            self._percent(left if isinstance(left, str) else left.decode("latin-1"), right)
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
        owner = getattr(inspect.unwrap(__obj), "__self__", None) if callable(__obj) else None
        if owner is self:
            return __obj(*args)  # what the template was made to do: it counts itself
        self.step()
        if isinstance(owner, str | bytes | int | list | tuple | dict):
            name = str(getattr(__obj, "__name__", ""))
            # jinja hands on its own variables too, which are no arguments.
            named = {key: value for key, value in kwargs.items() if key not in ("_loop_vars", "_block_vars")}
            if name in ("format", "format_map"):
                self._braces(str(owner), [*args, *named.values()])
            elif name == "join" and args:
                args = (self._entries(args[0]), *args[1:])
                self._joining(args[0], [owner])
            else:
                self._predict(name, (owner, *args), named)
        return super().call(__context, __obj, *args, **kwargs)

    def _percent(self, pattern: str, values: Any) -> None:
        """Count what `pattern % values` gives."""
        widths = fields = 0
        for found in _PERCENT_FIELD.finditer(pattern):
            key, *numbers = found.groups()
            if key is None and pattern.startswith("(", found.start() + 1):
                raise SecurityError("the template formats a text with a key that no prompt needs")
            self.step()
            fields += 1
            widths += sum(self._width(number, values) for number in numbers if number)
        times = fields if isinstance(values, Mapping) else 1
        self.making(len(pattern) + widths + fields * _NUMBER + times * self.size(values))

    def _braces(self, pattern: str, values: list[Any]) -> None:
        """Count what `pattern.format(*values)` gives. Raises ValueError for a pattern that is none."""
        widths = fields = 0
        for _, name, spec, _ in string.Formatter().parse(pattern):
            if name is not None:
                self.step()
                fields += 1
                numbers = ["*"] if spec and "{" in spec else _DIGITS.findall(spec or "")
                widths += sum(self._width(number, values) for number in numbers)
        self.making(len(pattern) + widths + fields * max(_NUMBER, self.size(values)))

    def _width(self, number: str, values: Any) -> int:
        """The signs that a field's width or precision asks for; "*": it is one of the values."""
        if number != "*" and not _LONG.search(number):
            return int(number)
        self.making(self.size(values))
        if number != "*" or _LONG.search(str(values)):
            raise SecurityError("the template formats a text with a width that no prompt needs")
        return _WIDEST

    def _joining(self, values: Any, between: list[Any]) -> None:
        """Count what joining the values gives."""
        entries = len(values) if isinstance(values, str | list | tuple | Mapping) else 1
        self.making(self.size(values) + entries * self.size(between))

    def _replacing(self, text: Any, old: Any, new: Any) -> None:
        """Count what replacing gives."""
        if not isinstance(text, str) or not isinstance(old, str):
            text, old = " " * self.size(text), ""
        self.making(len(text) + text.count(old) * self.size(new))

    def _quadratic(self, name: str, text: str) -> None:
        """Count the work of what copies the rest of a text again and again."""
        if name == "striptags":
            self.spend(len(text) * text.count("<"))
        else:
            self.spend(max(map(len, text.split()), default=0) ** 2)

    def _predict(self, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Count the outcome of a method or filter before it is made: never too low for those that make text."""
        first = args[0] if args else ""
        others = [*args[1:], *kwargs.values()]
        if name == "join":
            self._joining(first, others)
            return
        if name == "replace" and len(args) > 2:
            self._replacing(first, args[1], args[2])
            return
        if name in ("wordwrap", "striptags"):
            self._quadratic(name, str(first))
        size = self.size(first)
        texts = sum(self.size(value) for value in others if not isinstance(value, int))
        numbers = sum(abs(value) for value in others if isinstance(value, int))
        if name in _SPREADING:
            size *= 1 + texts + numbers
        elif name in _INSERTING or name == "replace":
            size *= 1 + texts
        else:
            size += texts
        if name in _PADDING:
            size += numbers
        elif name in _GROUPING:
            self.spend(_ENTRY * numbers)
        self.making(size)

    def _guarded(self, name: str, made: Callable[..., Any]) -> Callable[..., Any]:
        """The filter `made`, its outcome counted beforehand."""
        skip = 1 if hasattr(made, "jinja_pass_arg") else 0

        @wraps(made)
        def counted(*args: Any, **kwargs: Any) -> Any:
            self.step()
            given = args[skip:]
            if given and name == "join":
                given = (self._entries(given[0]), *given[1:])
            elif given and inspect.isgenerator(given[0]):
                given = (self._one_by_one(given[0]), *given[1:])
            if name == "format" and given:
                self._percent(str(given[0]), kwargs or given[1:])
            else:
                self._predict(name, given, kwargs)
            return made(*args[:skip], *given, **kwargs)

        return counted

    def _comparing(self, test: Callable[..., Any]) -> Callable[..., Any]:
        """The test, what it compares counted beforehand."""

        @wraps(test)
        def counted(*args: Any) -> Any:
            self.size(args)
            return test(*args)

        return counted

    def _entries(self, values: Any) -> Any:
        """What is to be joined, so that it can be measured: a list of what is made lazily."""
        if isinstance(values, str | bytes | list | tuple | Mapping) or not isinstance(values, Iterable):
            return values
        return list(self._one_by_one(values))

    def _one_by_one(self, values: Iterable[Any]) -> Iterator[Any]:
        """What a lazy filter gives, as lazily, each counted."""
        for value in values:
            self.spend(_ENTRY)
            self.size(value)
            yield value


@pass_context
def _finalize(context: Context, value: Any) -> Any:
    """Count what is about to be written out."""
    environment = context.environment
    assert isinstance(environment, Sandbox)
    if not isinstance(value, Undefined):
        environment.making(environment.size(value))
    return value
