"""Line icons, drawn in the colour asked for: crisp at every scale, no files."""

from __future__ import annotations

from functools import lru_cache

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

_SHAPES = {
    "logs": '<path d="M5 4h14v16H5z"/><path d="M8.5 9h7M8.5 12.5h7M8.5 16h4"/>',
    "sizing": '<path d="M4 4v16h16"/><path d="M7 6c2 8 5 10 12 10.5"/>',
    "subsets": '<path d="M5 5h5v5H5zM14 5h5v5h-5zM5 14h5v5H5z"/><path d="M14.5 16.5l2 2 3.5-4"/>',
    "run": '<path d="M7 4.5v15l12-7.5z"/>',
    "reports": '<path d="M5 20V10M10 20V4M15 20v-7M20 20V8"/>',
    "good": '<path d="M5 12.5l4.5 4.5L19 7.5"/>',
    "warn": '<path d="M12 4L2.8 20h18.4z"/><path d="M12 10v4.5M12 17v.6"/>',
    "bad": '<circle cx="12" cy="12" r="8.5"/><path d="M8.8 8.8l6.4 6.4M15.2 8.8l-6.4 6.4"/>',
    "info": '<circle cx="12" cy="12" r="8.5"/><path d="M12 11v5.5M12 7.5v.6"/>',
    "none": '<path d="M6 12h12"/>',
    "pause": '<path d="M8 5v14M16 5v14"/>',
    "play": '<path d="M7 4.5v15l12-7.5z"/>',
    "skip": '<path d="M5 5v14l10-7zM18 5v14"/>',
    "stop": '<path d="M6 6h12v12H6z"/>',
    "close": '<path d="M6.5 6.5l11 11M17.5 6.5l-11 11"/>',
    "import": '<path d="M12 4v11M7.5 11l4.5 4.5 4.5-4.5M4.5 20h15"/>',
    "export": '<path d="M12 16V5M7.5 9L12 4.5 16.5 9M4.5 20h15"/>',
    "folder": '<path d="M3.5 6.5h6l2 2.5h9v9.5h-17z"/>',
    "pack": '<path d="M4 8l8-4 8 4v8.5l-8 4-8-4zM4 8l8 4 8-4M12 12v8.5"/>',
    "copy": '<path d="M9 9h10v11H9z"/><path d="M15 9V4H5v11h4"/>',
    "busy": '<circle cx="12" cy="12" r="8.5"/><path d="M12 7v5l3.5 2"/>',
    "demo": '<path d="M12 3.5l2.4 5.6 6.1.6-4.6 4 1.4 6-5.3-3.2-5.3 3.2 1.4-6-4.6-4 6.1-.6z"/>',
}
_SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="none" stroke="{colour}" '
    'stroke-width="{width}" stroke-linecap="round" stroke-linejoin="round">{shape}</svg>'
)


@lru_cache(maxsize=256)
def pixmap(name: str, colour: str, size: int = 16, *, ratio: float = 2.0) -> QPixmap:
    """One icon as a picture of `size` logical pixels. Raises KeyError for an unknown name."""
    width = 2.0 if size < 24 else 1.6
    svg = _SVG.format(colour=colour, width=width, shape=_SHAPES[name])
    picture = QPixmap(round(size * ratio), round(size * ratio))
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    QSvgRenderer(QByteArray(svg.encode())).render(painter, QRectF(0, 0, picture.width(), picture.height()))
    painter.end()
    picture.setDevicePixelRatio(ratio)
    return picture


def icon(name: str, colour: str, size: int = 16) -> QIcon:
    """The same as an icon for buttons and tables."""
    return QIcon(pixmap(name, colour, size))
