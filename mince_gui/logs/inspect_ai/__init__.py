"""inspect_ai logs: .eval (a zip) and .json, read through inspect_ai itself (the extra `inspect`).

The maintainers say that the file is versioned, not frozen, and that readers should use the library: so everything but
the hostile-file checks goes through `inspect_ai.log`. One file is one run.
"""

from mince_gui.logs.inspect_ai.files import FORMAT, claim
from mince_gui.logs.inspect_ai.reader import read

__all__ = ["FORMAT", "claim", "read"]
