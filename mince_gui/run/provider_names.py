"""How execution providers are called: OGA takes several spellings, and everything here compares one of them."""

from __future__ import annotations


def provider_key(name: str) -> str:
    """A provider's name in lower case and without "ExecutionProvider": OGA takes both forms in genai_config.json."""
    return name.strip().lower().removesuffix("executionprovider").removesuffix("light")
