"""Colours, spacing and the style sheet: Fusion with our light and dark palettes, following the system's scheme."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from string import Template

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFont, QFontDatabase, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication

GRID = 8
"""Every distance in the window is a multiple of this many pixels (or half of it)."""


@dataclass(frozen=True)
class Theme:
    """The colours of one scheme, as #rrggbb. `series` are Okabe-Ito colours, readable on `surface`."""

    name: str
    window: str
    surface: str
    raised: str
    border: str
    text: str
    muted: str
    accent: str
    on_accent: str
    accent_soft: str
    good: str
    good_soft: str
    warn: str
    warn_soft: str
    bad: str
    bad_soft: str
    worst: str
    series: tuple[str, ...]

    def role(self, name: str) -> str:
        """The colour of a state: good, warn, bad, accent, muted or text."""
        return {
            "good": self.good, "warn": self.warn, "bad": self.bad,
            "accent": self.accent, "muted": self.muted, "text": self.text,
        }[name]  # fmt: skip

    def soft(self, name: str) -> str:
        """The pale ground behind a state's word."""
        return {"good": self.good_soft, "warn": self.warn_soft, "bad": self.bad_soft, "accent": self.accent_soft}.get(
            name, self.raised
        )


LIGHT = Theme(
    name="light", window="#f4f5f7", surface="#ffffff", raised="#eceff2", border="#d8dde3", text="#1b2229",
    muted="#5c6772", accent="#0072b2", on_accent="#ffffff", accent_soft="#e2f0f9", good="#00714f", good_soft="#e1f3ec",
    warn="#8a5800", warn_soft="#fcf1da", bad="#b34000", bad_soft="#fbe9df", worst="#000000",
    series=("#0072b2", "#009e73", "#d55e00", "#cc79a7", "#e69f00", "#56b4e9"),
)  # fmt: skip
DARK = Theme(
    name="dark", window="#171b20", surface="#1f252b", raised="#2a323a", border="#37414b", text="#e8ecf0",
    muted="#9aa6b2", accent="#56b4e9", on_accent="#0b151c", accent_soft="#203a4b", good="#3cc79a", good_soft="#1c3a32",
    warn="#efb13f", warn_soft="#40341c", bad="#f08a4b", bad_soft="#452c1f", worst="#ffffff",
    series=("#56b4e9", "#2cc295", "#ef8240", "#dd93bc", "#f0b436", "#4aa0e0"),
)  # fmt: skip

_FAMILIES = ("Segoe UI", "Inter", "Noto Sans", "Cantarell", "Ubuntu", "Liberation Sans")
_ASSETS = (Path(__file__).parent / "assets").as_posix()
_state = {"theme": LIGHT}

_SHEET = Template("""
QToolTip { background: $surface; color: $text; border: 1px solid $border; padding: 4px; }
QMainWindow, QDialog, #page { background: $window; }
#scroll, #scrollBody { background: transparent; }
#sidebar { background: $surface; border-right: 1px solid $border; }
#brand { font-weight: 600; padding: 0 8px; }
#workspace { color: $muted; }
QToolButton#nav { border: none; border-radius: 6px; padding: 8px; text-align: left; color: $text; }
QToolButton#nav:hover { background: $raised; }
QToolButton#nav:checked { background: $accent_soft; color: $accent; font-weight: 600; }
QToolButton#nav:focus { border: 1px solid $accent; }
#activity { background: $surface; border-top: 1px solid $border; }
#card { background: $surface; border: 1px solid $border; border-radius: 8px; }
#title { font-weight: 600; }
#heading { font-weight: 600; }
#muted, #caption { color: $muted; }
#figure { font-weight: 600; }
QPushButton { background: $surface; color: $text; border: 1px solid $border; border-radius: 6px; padding: 5px 12px; }
QPushButton:hover { background: $raised; }
QPushButton:pressed { background: $border; }
QPushButton:disabled { color: $muted; background: $window; }
QPushButton:focus { border-color: $accent; }
QPushButton[primary="true"] { background: $accent; color: $on_accent; border-color: $accent; font-weight: 600; }
QPushButton[primary="true"]:hover { background: $accent; border-color: $text; }
QPushButton[primary="true"]:disabled { background: $raised; color: $muted; border-color: $border; font-weight: 400; }
QPushButton[flat="true"], QToolButton#flat { border: none; background: transparent; color: $accent; padding: 4px 6px; }
QPushButton[flat="true"]:hover, QToolButton#flat:hover { background: $raised; border-radius: 6px; }
QPushButton[flat="true"]:focus { border: 1px solid $accent; border-radius: 6px; }
QLineEdit, QComboBox, QSpinBox, QDoubleSpinBox {
  background: $surface; color: $text; border: 1px solid $border; border-radius: 6px; padding: 3px 8px; min-height: 22px;
  selection-background-color: $accent; selection-color: $on_accent;
}
QLineEdit:focus, QComboBox:focus, QSpinBox:focus, QDoubleSpinBox:focus { border-color: $accent; }
QComboBox::drop-down { border: none; width: 24px; }
QComboBox::down-arrow { image: url("$assets/down-$name.svg"); width: 12px; height: 12px; }
QSpinBox::up-button, QDoubleSpinBox::up-button {
  subcontrol-origin: border; subcontrol-position: top right; width: 20px; border: none; background: transparent;
}
QSpinBox::down-button, QDoubleSpinBox::down-button {
  subcontrol-origin: border; subcontrol-position: bottom right; width: 20px; border: none; background: transparent;
}
QSpinBox::up-button:hover, QDoubleSpinBox::up-button:hover, QSpinBox::down-button:hover,
QDoubleSpinBox::down-button:hover { background: $raised; }
QSpinBox::up-arrow, QDoubleSpinBox::up-arrow { image: url("$assets/up-$name.svg"); width: 10px; height: 10px; }
QSpinBox::down-arrow, QDoubleSpinBox::down-arrow { image: url("$assets/down-$name.svg"); width: 10px; height: 10px; }
QTableView::indicator, QCheckBox::indicator {
  width: 14px; height: 14px; border: 1px solid $muted; border-radius: 3px; background: $surface;
}
QTableView::indicator:checked, QCheckBox::indicator:checked {
  background: $accent; border-color: $accent; image: url("$assets/check-$name.svg");
}
QRadioButton::indicator {
  width: 14px; height: 14px; border: 1px solid $muted; border-radius: 8px; background: $surface;
}
QRadioButton::indicator:checked { background: $accent; border-color: $accent; image: url("$assets/dot-$name.svg"); }
QPushButton::menu-indicator { image: none; }
QComboBox QAbstractItemView { background: $surface; color: $text; border: 1px solid $border; outline: none; }
QTableView, QListView {
  background: $surface; color: $text; border: 1px solid $border; border-radius: 8px; gridline-color: $raised;
  alternate-background-color: $surface; selection-background-color: $accent_soft; selection-color: $text; outline: none;
}
QTableView::item { padding: 0 8px; border-bottom: 1px solid $raised; }
QTableView#dense::item { padding: 0 4px; }
QTableView#dense QHeaderView::section { padding: 6px 7px; }
QTableView::item:selected { background: $accent_soft; color: $text; }
QListView::item { border-bottom: 1px solid $raised; }
QHeaderView { background: transparent; border: none; }
#inner { border: none; border-radius: 0; }
QHeaderView::section {
  background: transparent; color: $muted; border: none; border-bottom: 1px solid $border; padding: 6px 11px;
}
QTableCornerButton::section { background: $surface; border: none; }
QProgressBar { background: $raised; border: none; border-radius: 4px; max-height: 8px; min-height: 8px; }
QProgressBar::chunk { background: $accent; border-radius: 4px; }
QScrollArea { border: none; background: transparent; }
QSplitter::handle { background: transparent; }
QTabBar::tab { background: transparent; color: $muted; padding: 6px 12px; border: none;
  border-bottom: 2px solid transparent; }
QTabBar::tab:selected { color: $text; border-bottom: 2px solid $accent; font-weight: 600; }
QTabWidget::pane { border: none; }
QTabBar { qproperty-drawBase: 0; }
QMenu { background: $surface; color: $text; border: 1px solid $border; padding: 4px; }
QMenu::item { padding: 6px 16px; border-radius: 4px; }
QMenu::item:selected { background: $accent_soft; color: $text; }
QScrollBar:vertical { background: transparent; width: 12px; margin: 0; }
QScrollBar:horizontal { background: transparent; height: 12px; margin: 0; }
QScrollBar::handle { background: $border; border-radius: 4px; min-height: 24px; min-width: 24px; margin: 2px; }
QScrollBar::handle:hover { background: $muted; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
#door { background: $surface; border: 1px solid $border; border-radius: 12px; text-align: left; }
#door:hover { border-color: $accent; }
#door:focus { border: 2px solid $accent; }
#drop { background: $accent_soft; border: 2px dashed $accent; border-radius: 12px; color: $accent; }
""")


def current() -> Theme:
    """The theme in use."""
    return _state["theme"]


def wanted() -> Theme:
    """The theme that the system's colour scheme asks for."""
    dark = QGuiApplication.styleHints().colorScheme() == Qt.ColorScheme.Dark
    return DARK if dark else LIGHT


def apply(app: QApplication, theme: Theme | None = None) -> None:
    """Dress the application; `theme` None follows the system."""
    chosen = theme or wanted()
    _state["theme"] = chosen
    app.setStyle("Fusion")
    app.setFont(_font())
    app.setPalette(_palette(chosen))
    colours = {name: value for name, value in vars(chosen).items() if isinstance(value, str)}
    app.setStyleSheet(_SHEET.substitute(colours, assets=_ASSETS))


def _font() -> QFont:
    """The system's font; where there is none to speak of (no desktop), a plain sans."""
    font = QFontDatabase.systemFont(QFontDatabase.SystemFont.GeneralFont)
    if font.family() in ("", "DejaVu Sans", "Sans", "Sans Serif", "sans-serif", "Helvetica"):
        there = set(QFontDatabase.families())
        font.setFamily(next((name for name in _FAMILIES if name in there), font.family()))
    if font.pointSizeF() < 10:
        font.setPointSizeF(10)
    return font


def tabular(font: QFont, *, scale: float = 1.0, bold: bool = False) -> QFont:
    """`font` with figures of equal width, so that columns of numbers line up."""
    figures = QFont(font)
    figures.setFeature(QFont.Tag("tnum"), 1)
    figures.setPointSizeF(font.pointSizeF() * scale)
    if bold:
        figures.setWeight(QFont.Weight.DemiBold)
    return figures


def _palette(theme: Theme) -> QPalette:
    role = QPalette.ColorRole
    palette = QPalette()
    for place, colour in (
        (role.Window, theme.window), (role.WindowText, theme.text), (role.Base, theme.surface),
        (role.AlternateBase, theme.raised), (role.Text, theme.text), (role.Button, theme.surface),
        (role.ButtonText, theme.text), (role.ToolTipBase, theme.surface), (role.ToolTipText, theme.text),
        (role.Highlight, theme.accent), (role.HighlightedText, theme.on_accent), (role.Link, theme.accent),
        (role.PlaceholderText, theme.muted), (role.Mid, theme.border), (role.Dark, theme.muted),
        (role.Light, theme.raised), (role.Midlight, theme.raised), (role.Accent, theme.accent),
    ):  # fmt: skip
        palette.setColor(place, QColor(colour))
    for place in (role.Text, role.WindowText, role.ButtonText):
        palette.setColor(QPalette.ColorGroup.Disabled, place, QColor(theme.muted))
    return palette
