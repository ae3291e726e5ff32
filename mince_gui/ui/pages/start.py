"""The first start: three doors."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtWidgets import QLabel, QPushButton, QWidget

from mince_gui.ui import icons, theme
from mince_gui.ui.hub import Hub
from mince_gui.ui.states import ErrorBar
from mince_gui.ui.theme import GRID
from mince_gui.ui.widgets import column, label, paragraph, row

_TITLE = "How far can you trust a small part of a benchmark?"
_TEXT = (
    "mince-gui finds how many items of a benchmark are enough, runs just those on this device, and says how far the "
    "score may lie from the full one. Everything stays on this machine."
)
_STEPS = "1  Import logs      2  Size      3  Freeze a subset      4  Run      5  Report"


class Door(QPushButton):
    """A large button: icon, title and what happens behind it."""

    def __init__(self, icon: str, title: str, text: str, act: Callable[[], object]) -> None:
        super().__init__()
        self.setObjectName("door")
        self.setAccessibleName(title)
        self.setAccessibleDescription(text)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFixedSize(272, 200)
        self._icon = icon
        self._sign = QLabel()
        words = label(text, "muted", wrap=True)
        head = label(title, "heading")
        head.setFont(theme.tabular(head.font(), scale=1.15, bold=True))
        box = column(self._sign, 4, head, words, None, gap=GRID, margin=3 * GRID)
        self.setLayout(box)
        for part in (self._sign, head, words):
            part.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.clicked.connect(lambda: act())
        self._dress()

    def changeEvent(self, event: QEvent) -> None:  # noqa: D102, N802 - Qt's name
        super().changeEvent(event)
        if event.type() == QEvent.Type.StyleChange and hasattr(self, "_sign"):
            self._dress()

    def _dress(self) -> None:
        self._sign.setPixmap(icons.pixmap(self._icon, theme.current().accent, 36))


class StartPage(QWidget):
    """Three doors: the demo, logs, a model and a pack."""

    demo_wanted = Signal()

    def __init__(self, hub: Hub) -> None:
        super().__init__()
        self.setObjectName("page")
        self.error = ErrorBar()
        self.doors = (
            Door(
                "demo", "Try the demo",
                "A small benchmark and a small model, both part of the program, run here, live, in about a minute and "
                "a half. Ends with a report.",
                self.demo_wanted.emit,
            ),
            Door(
                "logs", "I have evaluation logs",
                "Per-item results of lm-eval for models like yours. They show how many items are enough.",
                lambda: hub.show("logs", "import"),
            ),
            Door(
                "run", "I have a model and a pack",
                "Run an ONNX Runtime GenAI model folder on a pack that somebody gave you.",
                lambda: hub.show("run", "new"),
            ),
        )  # fmt: skip
        head = label(_TITLE, "title")
        head.setFont(theme.tabular(head.font(), scale=1.25, bold=True))
        text = paragraph(_TEXT, 640)
        doors = row(None, *self.doors, None, gap=2 * GRID)
        box = column(self.error, None, gap=GRID, margin=3 * GRID)
        for part in (head, text):
            box.addWidget(part, 0, Qt.AlignmentFlag.AlignHCenter)
        box.addSpacing(4 * GRID)
        box.addLayout(doors)
        box.addSpacing(4 * GRID)
        box.addWidget(label(_STEPS, "muted"), 0, Qt.AlignmentFlag.AlignHCenter)
        box.addStretch(2)
        self.setLayout(box)

    def enter(self) -> None:
        """The page comes to the front."""
        self.doors[0].setFocus()
