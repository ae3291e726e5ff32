from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from mince_gui.base.errors import UsageError
from mince_gui.report import (
    Reference,
    Report,
    RunData,
    build,
    csv_text,
    html_text,
    json_text,
    markdown_text,
    write,
    write_page,
)  # fmt: skip
from mince_gui.report.documents.conditions import condition_lines
from mince_gui.report.documents.markdown import md_escape
from mince_gui.report.documents.page import Figure
from mince_gui.report.documents.report_page import report_page
from mince_gui.report.documents.svg import svg
from mince_gui.report.documents.tables import safe_cell
from mince_gui.report.sides import side_of_run
from tests.report.made_reports import with_everything

MakeRun = Callable[..., RunData]
MakeReference = Callable[..., Reference]
SCRIPT = "<script>alert(1)</script>"
FORMULA = '=cmd|"/c calc"!A1'


class Tags(HTMLParser):
    """Collects tags, attributes and text as a browser would see them."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def parsed(text: str) -> Tags:
    tags = Tags()
    tags.feed(text)
    return tags


def hostile(run: RunData) -> RunData:
    """Every free text of the run is an attack."""
    key = run.subset_keys[0]
    rows = {k: {**row, SCRIPT: (1.0, 1.0)} for k, row in run.rows.items() if k != key}
    return replace(
        run, model=SCRIPT, subset_name=FORMULA, run_id='"><img src=x onerror=alert(1)>', rows=rows,
        missing={key: f"{FORMULA} {SCRIPT}"}, conditions={SCRIPT: SCRIPT, "device": FORMULA, "driver": {"a": [SCRIPT]}},
        created="@SUM(A1)", evidence={**run.evidence, "worst": SCRIPT},
    )  # fmt: skip


@pytest.fixture
def report(make_run: MakeRun, make_own: MakeReference, make_other: MakeReference) -> Report:
    return build(make_run(), own_full=make_own(), other=make_other())


@pytest.fixture
def hostile_report(make_run: MakeRun, make_own: MakeReference, make_other: MakeReference) -> Report:
    bad = {"model": SCRIPT, "source": FORMULA, "note": SCRIPT, "date": "+1", "precision": "-2+3"}
    run = hostile(make_run())
    sides = (side_of_run(replace(run, model=FORMULA)),)
    return build(run, own_full=make_own(**bad), other=make_other(**bad), sides=sides)


@pytest.fixture
def partial(make_run: MakeRun, make_own: MakeReference, make_other: MakeReference) -> Report:
    run = make_run()
    rows = {key: run.rows[key] for key in run.subset_keys[:137]}
    missing = {run.subset_keys[140]: "worker crashed twice: SIGSEGV"}
    return build(replace(run, rows=rows, missing=missing), own_full=make_own(), other=make_other())


def test_no_text_from_outside_becomes_a_tag_or_an_attribute(hostile_report: Report) -> None:
    page = html_text(hostile_report)
    seen = parsed(page)
    assert "script" not in seen.tags
    assert "img" not in seen.tags
    assert not [name for name, _ in seen.attributes if name.startswith("on")]
    assert SCRIPT in "".join(seen.words)


def test_the_page_asks_for_nothing_from_outside(report: Report) -> None:
    page = html_text(report)
    seen = parsed(page)
    assert not {"script", "link", "img", "iframe", "object", "base", "form"} & set(seen.tags)
    assert not [value for name, value in seen.attributes if name in {"src", "href", "style"}]
    urls = set(re.findall(r"https?://[^\"'<> ]+", page))
    assert urls <= {"http://www.w3.org/2000/svg"}
    assert "url(" not in page
    assert "@import" not in page


def test_every_open_tag_of_the_page_is_closed(report: Report) -> None:
    page = html_text(report)
    body = page[page.index("<main>") : page.index("</main>") + len("</main>")]
    ET.fromstring(body.replace("<br>", "<br/>"))


def figures(report: Report) -> list[Figure]:
    return [block for block in report_page(report).blocks if isinstance(block, Figure)]


def test_the_pictures_are_well_formed_and_numbered_in_finite_numbers(hostile_report: Report, report: Report) -> None:
    for made in (hostile_report, report):
        found = [str(svg(figure.drawing)) for figure in figures(made)]
        assert len(found) >= 4
        for picture in found:
            ET.fromstring(picture)
            shapes = re.sub(r"<text.*?</text>|aria-label=\"[^\"]*\"", "", picture)
            assert "nan" not in shapes
            assert "inf" not in shapes


def test_every_text_cell_of_the_csv_is_safe_and_numbers_stay_numbers(hostile_report: Report) -> None:
    header, *lines = csv.reader(io.StringIO(csv_text(hostile_report)))
    assert len(lines) == len(hostile_report.metrics)
    for line in lines:
        for name, cell in zip(header, line, strict=True):
            if cell and cell[0] in "=+-@\t\r":
                float(cell)
                assert name.endswith("_pp"), name
    first = dict(zip(header, lines[0], strict=True))
    assert float(first["score_percent"]) == hostile_report.metrics[0].score
    assert first["subset"] == f"'{FORMULA}"


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "  =1", "＝1"])
def test_text_that_a_spreadsheet_would_compute_is_neutralised(text: str) -> None:
    assert safe_cell(text) == "'" + text.replace("\r", " ").replace("\n", " ")


@pytest.mark.parametrize("sign", ["\r", "\n", "\r\n", "\v", "\f", "\x85", "\u2028"])
def test_a_line_break_in_a_name_starts_no_row_of_the_csv(report: Report, sign: str) -> None:
    text = csv_text(replace(report, model=f"evil{sign}=1+1", warnings=(f"a{sign}@b",)))
    header, *lines = csv.reader(io.StringIO(text, newline=""))
    assert [len(line) for line in lines] == [len(header)] * len(report.metrics)
    assert {line[header.index("model")] for line in lines} == {"evil =1+1"}
    assert len(text.splitlines()) == 1 + len(report.metrics)


def all_documents(report: Report) -> list[str]:
    return [html_text(report), markdown_text(report), csv_text(report), json_text(report)]


def test_every_document_says_by_which_rule_and_quantile_the_bound_was_made(
    make_run: MakeRun, make_own: MakeReference
) -> None:
    run = make_run()
    joint = replace(run, evidence={**run.evidence, "rule": "joint", "quantile": 0.8})
    report = build(joint, own_full=make_own(), other=None)
    for text in all_documents(report):
        assert "joint" in text
        assert not re.search(r"P95\b(?! of)|95 % of uniform|per-model", text)
    for text in (html_text(report), markdown_text(report)):
        assert "P80, rule joint" in text
        assert "80 % of uniform random subsets of this size keep every model and metric" in text
    first = next(csv.DictReader(io.StringIO(csv_text(report))))
    assert (first["bound_rule"], first["bound_quantile"], first["sampler"]) == ("joint", "0.8", "uniform")
    body = json.loads(json_text(report))
    assert (body["bound"]["rule"], body["bound"]["quantile"], body["bound"]["pp"]) == ("joint", 0.8, 4.6)
    captions = [figure.caption + str(svg(figure.drawing)) for figure in figures(report) if "bound" in figure.caption]
    assert captions
    assert all("P80, rule joint" in caption for caption in captions)


def test_a_stratified_subset_has_no_exact_interval_and_no_bound_of_its_own(
    make_run: MakeRun, make_own: MakeReference
) -> None:
    report = build(make_run(sampler="stratified"), own_full=make_own(), other=None)
    assert {metric.interval.method for metric in report.metrics if metric.interval} == {
        "approximate, as if drawn uniformly", "approximate, linearised",
    }  # fmt: skip
    assert report.bound is not None
    assert (report.bound.title, report.bound.name) == ("bound of uniform draws", "P95, rule per-model")
    note = "The bound is the bound of uniform draws; this subset was drawn by another sampler (stratified)."
    assert report.bound.meaning.endswith(note)
    assert sum(warning.startswith(note) for warning in report.warnings) == 1
    judged = [metric.reason for metric in report.metrics if metric.verdict in ("inside", "outside")]
    assert judged
    assert all("the bound of uniform draws (P95, rule per-model)" in reason for reason in judged)
    for text in all_documents(report):
        assert "the bound of uniform draws (P95, rule per-model)" in text
        assert "bound of the frozen subset" not in text
    assert "bound of uniform draws 4.6 pp (P95, rule per-model)" in report.banner
    assert any("stratified" in warning for warning in report.warnings)
    for text in all_documents(report):
        assert "stratified" in text
        assert "exact hypergeometric" not in text
    for text in (html_text(report), markdown_text(report)):
        assert "by inverting the hypergeometric" not in text


def test_accepted_and_unverified_items_are_in_every_document_and_nothing_is_judged(
    make_run: MakeRun, make_own: MakeReference
) -> None:
    run = make_run(accepted=("1003", "1009"), unverified=4, pack_sha256="cd" * 32)
    report = build(run, own_full=make_own(), other=None)
    assert report.verdict == "not judged"
    assert all("2 items differ from what was frozen" in metric.reason for metric in report.metrics)
    for text in all_documents(report):
        assert "2 of 250 items differ in content" in text
        assert "4 of 250 items carry no content hash" in text
        assert "cd" * 32 in text
    first = next(csv.DictReader(io.StringIO(csv_text(report))))
    assert (first["items_accepted_differing"], first["items_unverified"]) == ("2", "4")


def test_what_was_not_asked_for_is_said_and_what_is_not_there_is_left_out(make_run: MakeRun) -> None:
    # How items were asked stands in lines of its own.
    given = {"threads": None, "max_new_tokens": None, "chat_template": "none", "driver": None}
    assert dict(condition_lines(given)) == {"threads": "chosen by ONNX Runtime", "driver": "not recorded"}


def test_a_huge_text_fits_a_cell_and_a_ticket_and_says_that_it_is_cut() -> None:
    cell = str(safe_cell("=" + "W" * 100_000))
    assert len(cell) < 32_767
    for shown in (cell, md_escape("W" * 100_000).replace("\\", "")):
        assert "[... cut here, 100,00" in shown
    assert len(md_escape("W" * 100_000)) < 2_100


@pytest.mark.parametrize("value", ["Phi-4", "a=b", "", 3, -2.5])
def test_other_cells_stay_as_they_are(value: str | float) -> None:
    assert safe_cell(value) == value


def test_the_csv_carries_latency_and_device(report: Report) -> None:
    first = next(csv.DictReader(io.StringIO(csv_text(report))))
    medians = {line.name: line.median for line in report.latency}
    assert float(first["median_first_token_seconds"]) == medians["time to first token"]
    assert float(first["median_decode_tokens_per_second"]) == medians["decode rate"]
    wall = next(line for line in report.latency if line.name == "wall clock per item")
    assert [float(first[f"{part}_item_seconds"]) for part in ("p25", "p75", "p95")] == [wall.p25, wall.p75, wall.p95]
    assert first["load_seconds"] == "4.21"
    assert first["device"] == "CPU"


def test_the_csv_carries_precision_and_the_parts_of_the_gap_with_their_intervals(report: Report) -> None:
    rich = with_everything(replace(report, precision="int4"))
    first = next(csv.DictReader(io.StringIO(csv_text(rich))))
    value = rich.split.lines[1].values[0]
    assert value.interval is not None
    assert first["precision"] == "int4"
    assert float(first["part_quantisation_pp"]) == value.pp
    assert float(first["part_quantisation_low_pp"]) == value.interval.low
    assert float(first["part_quantisation_high_pp"]) == value.interval.high
    assert first["part_quantisation_and_hardware_pp"] == ""


def test_loading_the_room_loads_no_writer_of_documents() -> None:
    code = "import sys, mince_gui.report; print(sorted({'jinja2', 'reportlab', 'PIL'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_missing_number_is_an_empty_cell_and_not_0(make_run: MakeRun) -> None:
    run = make_run(wall_seconds=None, item_seconds=())
    header, first, *_ = csv.reader(io.StringIO(csv_text(build(run, own_full=None, other=None))))
    cells = dict(zip(header, first, strict=True))
    assert cells["drift_pp"] == cells["own_full_percent"] == cells["speedup"] == ""


def backwards(mapping: Mapping[str, Any]) -> dict[str, Any]:
    return dict(reversed(list(mapping.items())))


def test_the_same_run_gives_the_same_bytes_whatever_the_order_of_its_rows(
    make_run: MakeRun, make_own: MakeReference, tmp_path: Path
) -> None:
    run = make_run()
    turned = replace(
        run, rows=backwards(run.rows), conditions=backwards(run.conditions),
        evidence=backwards(run.evidence),
    )  # fmt: skip
    for suffix in ("json", "html", "csv", "md", "pdf"):
        one, two = tmp_path / f"one.{suffix}", tmp_path / f"two.{suffix}"
        write(build(run, own_full=make_own(), other=None), one)
        write(build(turned, own_full=make_own(), other=None), two)
        assert one.read_bytes() == two.read_bytes(), suffix


def test_the_json_says_its_schema_and_has_every_metric_and_missing_item(partial: Report) -> None:
    body = json.loads(json_text(partial))
    assert (body["schema"], body["schema_version"]) == ("mince-gui/report", 2)
    assert [metric["name"] for metric in body["metrics"]] == [metric.name for metric in partial.metrics]
    assert all(metric["partial"] for metric in body["metrics"])
    assert len(body["coverage"]["missing"]) == 113
    assert body["coverage"]["complete"] is False
    assert body["metrics"][0]["score_percent"] == partial.metrics[0].score


def test_nan_becomes_null_in_the_json(make_run: MakeRun) -> None:
    body = json.loads(
        json_text(build(make_run(conditions={"x": float("nan"), "path": Path("a")}), own_full=None, other=None)),
        parse_constant=lambda word: pytest.fail(f"{word} is no JSON"),
    )
    assert body["conditions"] == {"x": None, "path": "a"}


def without_glossary(page: str) -> str:
    """The page's words, without style sheet and glossary."""
    page = re.sub(r"<style>.*?</style>", "", page, flags=re.S)
    return " ".join("".join(parsed(page[: page.index("How it was computed")]).words).split())


def test_a_total_gap_is_never_called_drift(make_run: MakeRun, make_other: MakeReference) -> None:
    """The only drift in the documents is the one that is said to be missing."""
    report = build(make_run(), own_full=None, other=make_other())
    gap = f"{report.metrics[0].total_gap_pp:+.1f} pp"
    allowed = ("sampling drift cannot be told", "sampling drift", "drift bound")
    for text in (without_glossary(html_text(report)), markdown_text(report)):
        assert gap in text
        assert "total gap" in text
        assert not re.search(rf"drift[^.|]{{0,12}}{re.escape(gap)}", text)
    assert all(metric["drift_pp"] is None for metric in json.loads(json_text(report))["metrics"])
    assert all(line["drift_pp"] == "" for line in csv.DictReader(io.StringIO(csv_text(report))))
    for text in (report.banner, *report.warnings, *(metric.reason for metric in report.metrics)):
        for phrase in allowed:
            text = text.replace(phrase, "")
        assert "drift" not in text


def test_every_number_of_a_partial_run_is_flagged(partial: Report) -> None:
    page = html_text(partial)
    scores = page[page.index("<h2>Scores") : page.index("<figure>")]
    rows = re.findall(r"<tr><td>.*?</tr>", scores, flags=re.S)
    assert len(rows) == 4
    for row in rows:
        assert row.count('<span class="flag">137 of 250 items</span>') == 3  # score, interval, drift
    gap = page[page.index("<h2>Total gap") : page.index("<h2>What the difference")]
    assert gap.count('<span class="flag">137 of 250 items</span>') == 4  # score and gap of two metrics
    table = [line for line in markdown_text(partial).splitlines() if line.startswith("| prompt strict")]
    assert table[0].count("(137 of 250 items)") == 3  # score, interval, drift
    assert table[1].count("(137 of 250 items)") == 2  # score, gap
    for line in csv.DictReader(io.StringIO(csv_text(partial))):
        assert (line["coverage"], line["items_done"], line["items_wanted"]) == ("partial", "137", "250")
        assert line["verdict"] == "Not judged"
    for text in (page, markdown_text(partial)):
        assert "worker crashed twice: SIGSEGV" in text
        assert "112" in text


def test_a_complete_run_carries_no_flag(report: Report) -> None:
    assert 'class="flag"' not in html_text(report)
    assert "of 250 items)" not in markdown_text(report).partition("| metric")[2].partition("\n- ")[0]


def test_the_page_begins_with_the_banner_and_tells_what_was_run(report: Report) -> None:
    text = without_glossary(html_text(report))
    assert text.index(report.banner) < text.index("Scores")
    for said in ("Phi-4-mini-instruct INT4", "250 of the 541 items", "the only provider is CPU", "0.18.0", "ab" * 32):
        assert said in text


@pytest.mark.parametrize("paired", [False, True])
def test_every_kind_of_report_can_be_written(make_run: MakeRun, tmp_path: Path, paired: bool) -> None:
    empty = make_run(rows={}, item_seconds=(), decode_rates=(), conditions={}, evidence={})
    sides = (side_of_run(make_run()),) if paired else ()
    for name, run in (("none", empty), ("some", make_run(bound_pp=None))):
        for suffix in ("html", "json", "csv", "md", "HTML", "pdf"):
            path = tmp_path / f"{name}.{suffix}"
            write(build(run, own_full=None, other=None, sides=sides), path)
            assert path.stat().st_size > 0


def test_markdown_keeps_hostile_text_in_its_cell() -> None:
    assert md_escape("a|b\nc <b> @team") == r"a\|b c \<b\> &#64;team"


def test_a_hostile_name_adds_no_column_to_a_markdown_table(hostile_report: Report) -> None:
    tables = re.findall(r"(?:^\|.*\n)+", markdown_text(hostile_report), flags=re.M)
    assert len(tables) > 4
    for table in tables:
        # Every row has as many cells as the line below the header, which holds no text from outside.
        wanted = table.splitlines()[1].count("|")
        assert {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()} == {wanted}


def test_other_suffixes_name_the_choices(report: Report, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="docx") as caught:
        write(report, tmp_path / "r.docx")
    assert all(suffix in caught.value.remedy for suffix in (".html", ".pdf", ".md", ".json", ".csv"))
    with pytest.raises(UsageError, match=r"r\.json") as caught:
        write_page(report_page(report), tmp_path / "r.json")
    assert ".csv" not in caught.value.remedy
    assert not list(tmp_path.iterdir())
