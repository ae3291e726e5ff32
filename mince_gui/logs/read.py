"""Reads one found run through the reader of its format."""

from __future__ import annotations

import dataclasses

from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import InputError, UsageError
from mince_gui.base.events import Emit, ignore
from mince_gui.logs import formats
from mince_gui.logs.types import Found, PerItemLog


def read(found: Found, *, emit: Emit = ignore, cancel: CancelToken | None = None, salvage: bool = False) -> PerItemLog:
    """Read and check one run; memory grows with the number of items, not with the size of the files.

    Emits Progress in bytes of the files. With `salvage` what was whole in front of a broken place counts, and a
    check "salvaged" names the place. Paths inside archives are named as archive.zip/inner/path.

    Raises InputError that names file and line (a cut or foreign row, a value of the wrong type, contradicting
    duplicates), CancelledError, UsageError for a format that is not known.
    """
    form = next((form for form in formats.FORMATS if found.format == form.FORMAT), None)
    if form is None:
        known = ", ".join(form.FORMAT for form in formats.FORMATS)
        raise UsageError(f"There is no reader for '{found.format}'.", f"Known: {known}.")
    try:
        log = form.read(found, emit=emit, cancel=cancel, salvage=salvage)
    except InputError as exc:
        raise InputError(found.shown(exc.message), found.shown(exc.remedy)) from exc
    if found.scratch is None:
        return log
    checks = tuple(dataclasses.replace(check, message=found.shown(check.message)) for check in log.checks)
    return dataclasses.replace(log, source=found.shown(log.source), checks=checks)
