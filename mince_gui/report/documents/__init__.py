"""Documents: what a report or a comparison says, once, as blocks of a page; rendered as HTML, PDF and Markdown.

Comes in: a `Report`, or a `Page`. Goes out: files (`write.write`, `write.write_page`) and their texts.
JSON and CSV are made from the values themselves (`write.json_text`, `tables.csv_text`).
"""
