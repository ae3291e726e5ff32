"""cli: the command line over `app`. Prints; nothing else in the project does.

Comes in: words. Goes out: text or, with --json, one JSON object on stdout; progress and errors on stderr; an
exit code (0 done; 1 failed; 2 usage; 3 input refused; 4 finished with items missing; 5 outside the drift limit).
May import: app and the values of the rooms below; never ui. Commands are imported when they are called, so
that `mince --help` loads neither numpy nor a window.
"""

from mince_gui.cli.main import main

__all__ = ["main"]
