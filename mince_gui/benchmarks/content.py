"""What of an item's doc is its content, so that public copies of one item hash alike."""

from __future__ import annotations

from mince_gui.base.canonical import content_sha256
from mince_gui.benchmarks.docs import Doc
from mince_gui.benchmarks.types import Benchmark


def content_of(benchmark: Benchmark, doc: Doc) -> Doc:
    """The fields of `doc` that make the item what it is; mirrors add or drop others.

    Raises KeyError where a known benchmark's field is absent.
    """
    return benchmark.data.content(doc)


def content_hash(benchmark: Benchmark, doc: Doc) -> str:
    """SHA-256 (hex) of an item's canonical content.

    Raises KeyError where the doc lacks a field of its content, TypeError or ValueError where a field
    cannot be content (a number in place of the list of arguments, NaN).
    """
    # The docs that come by the hundred thousand have their own quick ways, if every field is of the usual type.
    quick = benchmark.data.quick_hash
    known = quick(doc) if quick is not None else None
    return known or content_sha256(benchmark.data.content(doc))
