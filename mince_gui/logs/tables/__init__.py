"""Plain tables of outcomes: CSV (also with ; or tab, BOM, gzip), Parquet and .npy, with a key for every item.

**Wide**: a column for the item key, then one column per model (0/1, true/false, a number from 0 to 1, or "2/3" for
two of three; empty or NaN = missing), and optional columns `metric`, `benchmark`, `category`.
**Long**: columns `model`, a key, `passed` (or value, score, correct) with optional `trials` and `metric`, or in place
of these one column per metric; optional `benchmark`, `category`. Without a model's column a single `passed` is of one
model.
A key is `item_key` (or key, item, item_id, doc_id; for benchmarks that are known by name also id, index), or `subject`
beside a number.
A column is read where most of its cells that are not empty are outcomes: any other cell in it is then a fault with its
line. The columns that are read and those that are not are named when the table is found.
What no column names is in the file's name: `<benchmark>[__<metric>[__<model>]].csv`; else the folder names the model.
**.npy**: a vector of N, or a matrix of N items and K models, with `<stem>.keys.txt` beside it (one key a line; not
needed where the name is a known benchmark's and its items are in canonical order), and `<stem>.models.txt` for a
matrix.
"""

from mince_gui.logs.tables.reader import FORMAT, claim, read

__all__ = ["FORMAT", "claim", "read"]
