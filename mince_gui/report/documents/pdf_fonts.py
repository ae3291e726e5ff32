"""The fonts of a PDF: DejaVu Sans from `resources/fonts`, and fonts of the system for signs that it lacks."""

from __future__ import annotations

import os
import re
import struct
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from html import escape
from itertools import groupby
from pathlib import Path

from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFError, TTFont

from mince_gui.base.paths import resources
from mince_gui.report.documents.visible import flat, named, visible

REGULAR, BOLD = "MinceSans", "MinceSans-Bold"
_FILES = {REGULAR: "DejaVuSans.ttf", BOLD: "DejaVuSans-Bold.ttf"}
# By file name, best first. Fonts with PostScript outlines (most .otf) cannot be embedded, so none is listed.
_FALLBACKS = (
    # Windows
    "segoeui.ttf", "seguisym.ttf", "msyh.ttc", "malgun.ttf", "msgothic.ttc", "msjh.ttc", "simsun.ttc", "nirmala.ttf",
    "nirmala.ttc", "leelawui.ttf", "ebrima.ttf", "gadugi.ttf", "seguiemj.ttf",
    # Linux
    "droidsansfallbackfull.ttf", "droidsansfallback.ttf", "wqy-microhei.ttc", "wqy-zenhei.ttc", "nanumgothic.ttf",
    "unbatang.ttf", "ipag.ttf", "ipagp.ttf", "fonts-japanese-gothic.ttf", "notosans-regular.ttf",
    "notosansdevanagari-regular.ttf", "notosansbengali-regular.ttf", "notosansthai-regular.ttf",
    "notosanstamil-regular.ttf", "notosanssymbols-regular.ttf", "notosanssymbols2-regular.ttf",
    "notoemoji-regular.ttf", "freesans.ttf", "symbola.ttf", "symbola_hint.ttf", "unifont.ttf",
)  # fmt: skip
FONT_FAULTS = (TTFError, OSError, ValueError, LookupError, TypeError, AttributeError, struct.error)
"""What reportlab raises on a font that is broken or of a kind that it does not know."""
_BLANKS = frozenset("\n\t ")
_UNSEEN = frozenset("\u200b\u200c\u200d\u2060\ufeff\ufe0e\ufe0f")
"""Joiners and variation selectors: nothing is lost where they are left out."""
_TURNED = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
"""Scripts that are written from right to left."""


class Fonts:
    """Chooses a font for every sign. `missing` collects the signs for which this machine has none."""

    def __init__(self, folders: Sequence[Path] | None = None) -> None:
        _register()
        self._plain = frozenset(map(chr, _glyphs(REGULAR))) & frozenset(map(chr, _glyphs(BOLD)))
        self._others: list[str] = []
        self._left = _found_files(_system_folders() if folders is None else folders)
        self._chosen: dict[str, str | None] = {}
        self.missing: set[str] = set()
        self.turned = False
        """Whether any text is written from right to left."""

    @property
    def borrowed(self) -> bool:
        """Whether fonts of the system are in use."""
        return any(self._chosen.values())

    def runs(self, text: str, *, bold: bool = False) -> list[tuple[str, str]]:
        """(font name, text) one after the other; a sign without a font is written as its number."""
        usual = BOLD if bold else REGULAR
        shown = visible(text)
        self.turned = self.turned or _TURNED.search(shown) is not None
        if self._plain.issuperset(shown):
            return [(usual, shown)] if shown else []
        found: list[tuple[str, str]] = []
        for font, signs in groupby(shown, lambda sign: self._font_of(sign, usual)):
            if font is not None:
                found.append((font, "".join(signs)))
            else:
                kept = [sign for sign in signs if sign not in _UNSEEN]
                self.missing.update(kept)
                found.append((usual, "".join(map(named, kept))))
        return found

    def markup(self, text: str, *, bold: bool = False, lines: bool = False) -> str:
        """The text as a paragraph takes it: escaped, a font named wherever it is not the paragraph's own.

        Line breaks are kept where `lines` is set, else they are blanks.
        """
        usual = BOLD if bold else REGULAR
        told = (
            escape(part, quote=False) if font == usual else f'<font name="{font}">{escape(part, quote=False)}</font>'
            for font, part in self.runs(text if lines else flat(text), bold=bold)
        )  # fmt: skip
        whole = "".join(told).replace("\n", "<br/>").replace("\t", "    ")
        return f'<font name="{BOLD}">{whole}</font>' if bold and whole else whole

    def width(self, text: str, size: float, *, bold: bool = False) -> float:
        """How many points wide the text is on one line."""
        return sum(pdfmetrics.stringWidth(part, font, size) for font, part in self.runs(text, bold=bold))

    def _font_of(self, sign: str, usual: str) -> str | None:
        if sign in self._plain or sign in _BLANKS:
            return usual
        if sign not in self._chosen:
            self._chosen[sign] = self._search(ord(sign))
        return self._chosen[sign]

    def _search(self, code: int) -> str | None:
        for name in self._others:
            if code in _glyphs(name):
                return name
        for name in self._left:
            self._others.append(name)
            if code in _glyphs(name):
                return name
        return None


def _glyphs(name: str) -> Mapping[int, int]:
    """The signs of a registered font, by number."""
    font = pdfmetrics.getFont(name)
    assert isinstance(font, TTFont)
    found: Mapping[int, int] = font.face.charToGlyph
    return found


@cache
def _register() -> None:
    for name, file in _FILES.items():
        pdfmetrics.registerFont(TTFont(name, str(resources() / "fonts" / file)))
    pdfmetrics.registerFontFamily(REGULAR, normal=REGULAR, bold=BOLD, italic=REGULAR, boldItalic=BOLD)


def _found_files(folders: Sequence[Path]) -> Iterator[str]:
    """Names of the system's fonts, registered as they are asked for; those that cannot be read are left out."""
    paths: dict[str, Path] = {}
    for folder in folders:
        for inner, _, files in os.walk(folder):
            for file in files:
                paths.setdefault(file.lower(), Path(inner, file))
    for file in _FALLBACKS:
        if file in paths and (name := _registered(paths[file])) is not None:
            yield name


@cache
def _registered(path: Path) -> str | None:
    name = f"System-{path.name}"
    try:
        pdfmetrics.registerFont(TTFont(name, str(path)))
    except FONT_FAULTS:
        return None  # broken, or of a kind that cannot be embedded
    return name


def _system_folders() -> tuple[Path, ...]:
    if sys.platform == "win32":
        windows = Path(os.environ.get("WINDIR", r"C:\Windows"), "Fonts")
        own = Path(os.environ.get("LOCALAPPDATA", ""), "Microsoft", "Windows", "Fonts")
        return (windows, own)
    home = Path.home()
    return (Path("/usr/share/fonts"), Path("/usr/local/share/fonts"), home / ".local/share/fonts", home / ".fonts")
