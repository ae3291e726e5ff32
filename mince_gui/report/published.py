"""Full-benchmark scores that others published: they ship with the program, in every workspace alike.

`published_scores.json` holds the figures: per benchmark the scores of each metric in the order of the models.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

from mince_gui.report.types import Ratio, Reference


@cache
def published(benchmark: str | None = None) -> tuple[Reference, ...]:
    """The published references, of one benchmark or of all. Only percentages are known; no count is invented."""
    body = json.loads((files("mince_gui.report") / "published_scores.json").read_text(encoding="utf-8"))
    return tuple(
        Reference(
            reference_id=f"published-mince-{name}-{model.lower()}",
            kind="published",
            benchmark=name,
            model=model,
            metrics={
                metric: Ratio(percents[place], 100.0, facts["items"]) for metric, percents in facts["scores"].items()
            },
            source=f"{body['source']}, {facts['where']}",
            date=body["date"],
            precision=body["precision"],
            few_shot=facts["few_shot"],
            device=body["device"],
            note=body["note"],
            warnings=(facts["caution"],) if facts["caution"] else (),
        )
        for name, facts in body["benchmarks"].items()
        if benchmark in (None, name)
        for place, model in enumerate(body["models"])
    )
