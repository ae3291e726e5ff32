"""Several runs beside each other: one table of models, devices and benchmarks, ranks, history, paired deltas.

Comes in: runs with the full scores that they are held against (`building.HeldRun`). Goes out: a `Comparison`
(`building.build_comparison`), as a page (`page.comparison_page`), JSON and CSV.
"""
