"""Language detection that depends on the text alone."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any


@cache
def _factory() -> Any:
    from langdetect import PROFILES_DIRECTORY, DetectorFactory

    # A factory of our own: langdetect's shared one takes its seed from a class attribute that anybody may
    # change, and reads the profiles in the order of the file system.
    factory = DetectorFactory()
    folder = Path(PROFILES_DIRECTORY)
    names = sorted(path.name for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    factory.load_json_profile([(folder / name).read_text(encoding="utf-8") for name in names])
    factory.set_seed(0)
    return factory


def languages() -> frozenset[str]:
    """The codes that `detect` may return."""
    return frozenset(_factory().get_lang_list())


def detect(text: str) -> str | None:
    """The language code of `text` ("unknown" where no language stands out); None where it holds no letters.

    langdetect samples letter groups at random; every call starts from seed 0, so the result depends neither
    on the order of calls nor on what else runs. It looks at the first 10,000 characters.
    """
    from langdetect import LangDetectException

    detector = _factory().create()
    detector.append(text)
    try:
        return str(detector.detect())
    except LangDetectException:
        return None
