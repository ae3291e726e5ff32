"""What a page says, and how HTML and Markdown show its blocks."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from mince_gui.benchmarks import BENCHMARKS
from mince_gui.report import Reference, Report, RunData, build, html_text, json_text, markdown_text
from mince_gui.report.answers import Answers
from mince_gui.report.documents.conditions import condition_lines
from mince_gui.report.documents.drawing import Drawing
from mince_gui.report.documents.html import page_html
from mince_gui.report.documents.markdown import page_markdown
from mince_gui.report.documents.page import (
    Banner,
    Beside,
    Block,
    Cell,
    Facts,
    Figure,
    Heading,
    Page,
    Paragraph,
    Signing,
    Table,
    Terms,
    Texts,
)
from mince_gui.report.documents.report_page import report_page
from mince_gui.report.gate import Limits, gated
from mince_gui.report.model import Split, SplitLine
from tests.report.made_reports import ANSWER, with_everything

MakeRun = Callable[..., RunData]
MakeReference = Callable[..., Reference]


@pytest.fixture
def plain(make_run: MakeRun, make_own: MakeReference, make_other: MakeReference) -> Report:
    return build(make_run(), own_full=make_own(), other=make_other())


@pytest.fixture
def rich(plain: Report) -> Report:
    return with_everything(plain)


class Words(HTMLParser):
    """The text outside the style sheet."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.hidden = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.hidden = tag == "style"

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            self.found.append(data)


def words(text: str) -> str:
    reader = Words()
    reader.feed(text)
    return " ".join(" ".join(reader.found).split())


def page_of(*blocks: Block) -> Page:
    return Page("a title", "a head", blocks, "a foot.")


def test_the_sections_follow_each_other_as_a_reader_needs_them(rich: Report) -> None:
    found = [block.text for block in report_page(rich).blocks if isinstance(block, Heading)]
    assert found == [
        "Can it be trusted?", "Scores", "Total gap to a stored full score", "What the difference is made of",
        "Paired with Phi-4-mini-instruct BF16 on GPU", "Paired with Phi-4-mini-instruct INT4 on CPU",
        "Prompt strict by category", "Speed", "How the score came about", "How it was asked and scored",
        "What was run on what", "Missing items", "How it was computed",
    ]  # fmt: skip


def test_model_subset_device_versions_and_dates_stand_in_the_first_sentences(plain: Report) -> None:
    page = report_page(replace(plain, precision="w4a16"))
    first = next(block for block in page.blocks if isinstance(block, Paragraph) and block.style == "plain")
    for said in (
        "Phi-4-mini-instruct INT4 (w4a16 weights)", "ifeval-250, 250 of the 541 items of IFEVAL",
        "all of them are done",
        "ran on CPU (proven: the only provider is CPU)", "onnxruntime-genai 0.18.0", "bundled runtime",
        "power mode not recorded", "from 2026-11-29 20:00 UTC to 2026-11-29 20:52 UTC",
    ):  # fmt: skip
        assert said in first.text


@pytest.mark.parametrize("given", [{}, {"driver": "32.0.203.280"}])
def test_a_driver_is_told_and_missed_where_the_device_has_one(plain: Report, given: dict[str, str]) -> None:
    npu = replace(plain, conditions={**plain.conditions, "device": "NPU (RyzenAI)", "device_proven": True, **given})
    assert f"driver {given.get('driver', 'not recorded')}" in words(html_text(npu))
    assert "driver" not in next(b for b in report_page(plain).blocks if isinstance(b, Paragraph)).text


@pytest.mark.parametrize("name", sorted(BENCHMARKS))
def test_the_page_says_what_a_declared_benchmark_measures(plain: Report, name: str) -> None:
    page = report_page(replace(plain, benchmark=name, benchmark_title=BENCHMARKS[name].title))
    found = next(b for b in page.blocks if isinstance(b, Paragraph) and b.lead == "What it measures:")
    assert found.text.startswith(f"{BENCHMARKS[name].title} asks")
    own = report_page(replace(plain, benchmark="a task of one's own"))
    assert not [b for b in own.blocks if isinstance(b, Paragraph) and b.lead == "What it measures:"]


def trust(report: Report) -> dict[str, tuple[str, str]]:
    table = next(block for block in report_page(report).blocks if isinstance(block, Table))
    return {row[0].text: (row[1].state, row[2].text) for row in table.rows}


def test_a_run_without_fault_has_nothing_but_what_speaks_for_it(plain: Report) -> None:
    assert {state for state, _ in trust(plain).values()} == {"good"}


def test_every_reserve_is_named_where_the_reader_asks_whether_to_trust(
    make_run: MakeRun, make_own: MakeReference
) -> None:
    run = make_run()
    half = replace(run, rows={key: run.rows[key] for key in run.subset_keys[:137]})
    assert trust(build(half, own_full=make_own(), other=None))["items"] == (
        "warn", "only 137 of 250 items have a result"
    )  # fmt: skip
    other = replace(
        run, accepted=("1003",), sampler="stratified", methods={"all_rows": 3}, conditions={"device": "NPU"}
    )
    found = trust(build(other, own_full=None, other=None))
    assert found["content of the items"][0] == "bad"
    assert found["choice of the items"][0] == "warn"
    assert found["full score to compare with"] == ("warn", "none: the score stands by itself, with its interval")
    assert found["device"] == ("warn", "asked for NPU, not proven")
    assert found["repeatability"] == ("warn", "nothing was run twice")
    assert found["parity with lm-eval"][0] == "warn"
    assert trust(build(replace(run, unverified=4), own_full=None, other=None))["content of the items"][0] == "warn"


@pytest.mark.parametrize(
    ("n_star", "state", "told"),
    [
        (250, "good", "250, as many as the sizing advised (n*)"),
        (200, "good", "250, more than the 200 that the sizing advised (n*)"),
        (300, "warn", "only 250, where the sizing advised 300 (n*); the bound is 4.6 pp"),
        (None, "warn", "250; the sizing found no size (n*) from which more items gain little"),
    ],
)
def test_a_subset_smaller_than_the_sizing_advised_is_a_reserve(
    plain: Report, n_star: int | None, state: str, told: str
) -> None:
    assert plain.curve is not None
    assert plain.bound is not None
    report = replace(plain, curve=replace(plain.curve, n_star=n_star), bound=replace(plain.bound, pp=4.6))
    assert trust(report)["number of items"] == (state, told)
    assert ("Why this many items" in words(html_text(report))) == (n_star == 250)
    assert "number of items" not in trust(replace(report, curve=None))


def test_answers_that_were_cut_or_repeat_themselves_are_a_reserve(plain: Report) -> None:
    good = replace(plain, answers=Answers(budget=512))
    assert trust(good)["answers"] == ("good", "none was cut, is empty or repeats itself without end")
    cut = replace(plain, answers=Answers(budget=512, capped=42, repeating=38))
    assert trust(cut)["answers"] == ("warn", "42 capped at 512 tokens; 38 repeating (of 250)")
    assert "answers" not in trust(replace(plain, answers=Answers()))


def test_the_parts_of_the_gap_stand_in_one_table_and_are_added_up(rich: Report) -> None:
    page = report_page(rich)
    table = next(block for block in page.blocks if isinstance(block, Table) and block.header[0] == "part")
    assert [row[0].text for row in table.rows] == ["sampling drift", "quantisation delta", "hardware delta"]
    assert [row[1].text for row in table.rows] == ["+0.8 pp", "-2.4 pp", "-0.6 pp"]
    assert table.rows[1][1].note == "-4.1 to -0.7 pp"


def test_the_sum_of_the_parts_names_the_unquantised_models_own_drift(rich: Report) -> None:
    tables = [block for block in report_page(rich).blocks if isinstance(block, Table) and block.header[0] == "part"]
    rows = [(row[0].text, row[1].text) for row in tables[1].rows]
    assert [name for name, _ in rows] == [
        "sampling drift of the unquantised model", "quantisation delta", "hardware delta", "total gap"
    ]  # fmt: skip
    *parts, total = (float(value.removesuffix(" pp")) for _, value in rows)
    assert sum(parts) == pytest.approx(total, abs=0.15)


def test_a_part_that_cannot_be_told_says_so_and_why(rich: Report) -> None:
    lines = (rich.split.lines[0], SplitLine("hardware delta", (), "", "No run of INT4 on the CPU is stored"))
    text = words(html_text(replace(rich, split=Split(lines, ()))))
    assert text.count("cannot be told") == len(rich.metrics)
    assert "No run of INT4 on the CPU is stored." in text


def test_a_part_of_the_subset_is_flagged_beside_every_part_of_the_gap(rich: Report) -> None:
    line = rich.split.lines[0]
    few = replace(line, values=tuple(replace(value, items=137) for value in line.values))
    page = html_text(replace(rich, split=replace(rich.split, lines=(few, *rich.split.lines[1:]))))
    assert page.count('<span class="flag">137 of 250 items</span>') == len(line.values)


def test_a_pair_says_what_differs_and_whether_the_prompts_were_the_same(rich: Report) -> None:
    text = words(html_text(rich))
    assert "Both the precision of the weights and the device differ" in text
    assert "The prompts were the very same for 243 of 250 items" in text
    pair = replace(rich.paired[0], prompts_equal=250)
    assert "The prompts were the very same." in words(html_text(replace(rich, paired=(pair,))))
    unknown = replace(pair, prompts_equal=0, prompts_compared=0, role="repeat")
    text = words(html_text(replace(rich, paired=(unknown,))))
    assert "The prompts were" not in text
    assert "what a repetition alone makes" in text


def test_of_many_changed_items_the_html_shows_the_first_with_both_answers_and_says_how_many_more(rich: Report) -> None:
    page = html_text(rich)
    assert page.count("(no answer is kept)") == 2 * 10  # every fifth of 50 shown, in two pairs
    assert words(page).count("10 more are not shown here; the JSON report has them all.") == 2
    assert json_text(rich).count('"key": "1059"') == 2


def test_a_long_answer_is_cut_and_says_so_and_the_json_has_all_of_it(plain: Report) -> None:
    rich = with_everything(plain, answer="x" * 100_000, changed=3, pairs=1)
    page = html_text(rich)
    assert len(page) < 150_000
    assert page.count("[... cut here, 100,002 signs in all]") == 3
    assert "x" * 100_000 in json_text(rich)


@pytest.mark.parametrize(
    "answer", ["<script>alert(1)</script>", "</td></table><img src=x onerror=alert(1)>", "&lt;b&gt;"]
)
def test_an_answer_shows_as_it_is_and_makes_no_tag(plain: Report, answer: str) -> None:
    rich = with_everything(plain, answer=answer, changed=3, pairs=1)
    page = html_text(rich)
    assert "<script" not in page
    assert "<img" not in page
    assert answer in words(page)


def test_signs_that_turn_or_break_text_are_named_in_html_and_markdown(plain: Report) -> None:
    rich = with_everything(replace(plain, model="a\u202eb\x00\ud800"), answer="\ud800\x07 ok", changed=2, pairs=1)
    page = html_text(rich)
    assert "[U+D800][U+0007] ok" in page
    for text in (page, markdown_text(rich).replace("\\", "")):
        text.encode("utf-8")
        assert "a[U+202E]b[U+0000][U+D800]" in text
    assert r"\ud800" in json_text(rich)


def test_limits_that_were_set_are_answered_at_the_top(plain: Report) -> None:
    page = report_page(gated(plain, Limits(drift_pp=0.1, delta_pp=2)))
    second = page.blocks[1]
    assert isinstance(second, Table)
    told = [(limit.text, outcome.text, outcome.state) for limit, outcome, _ in second.rows]
    assert told == [
        ("|drift| at most 0.10 pp", "beyond", "bad"), ("|paired delta| at most 2.00 pp", "not judged", "warn")
    ]  # fmt: skip
    assert "of drift, beyond the limit of 0.10 pp" in second.rows[0][2].text


def test_a_part_with_a_value_says_what_was_subtracted_and_repeats_no_number(rich: Report) -> None:
    blocks = report_page(rich).blocks
    told = next(b for b in blocks if isinstance(b, Facts) and b.rows[0][0] == "sampling drift").rows
    assert [words for _, words in told] == [f"{line.of}." for line in rich.split.lines]


def test_an_item_without_an_expected_answer_says_nothing_of_one(rich: Report) -> None:
    pair = rich.paired[0]
    items = tuple(
        replace(item, expected=expected) for item, expected in zip(pair.changed[:4], ("", " ", None, "7"), strict=True)
    )
    text = words(html_text(replace(rich, paired=(replace(pair, changed=items),))))
    assert text.count("expected:") == 1
    assert "expected: 7" in text


def test_a_caution_of_a_source_is_a_sentence(plain: Report) -> None:
    sources = tuple(replace(source, warnings=("its task version is 1",)) for source in plain.sources)
    text = words(html_text(replace(plain, sources=sources)))
    assert text.count("Caution. Its task version is 1.") == len(sources) > 0


def test_the_options_of_the_search_take_one_line_and_times_have_their_unit() -> None:
    lines = dict(condition_lines({"search_options": {"top_k": 50, "do_sample": False}, "load_seconds": 0.6835}))
    assert lines["search options"] == "do_sample no; top_k 50"
    assert lines["model load (not in the wall clock)"] == "0.68 s"


def test_a_rescored_or_imported_run_says_so(plain: Report) -> None:
    told = replace(plain, rescored_of="run-7", origin={"machine": "lab-3", "imported_at": "2026-11-30T08:00:00+00:00"})
    text = words(html_text(told))
    assert "The stored answers of run run-7 were scored again" in text
    assert "made on lab-3 and came here as a bundle (2026-11-30 08:00 UTC)" in text


def test_categories_come_with_their_caution_and_what_was_left_out(rich: Report) -> None:
    text = words(html_text(rich))
    assert text.index("Of 12 intervals of 95 %, about 0.6 miss by chance.") < text.index("detectable_format:number_00")
    assert "Left out, as too few of their items were run: language:response_language." in text


def test_a_ticket_holds_tables_and_no_pictures_answers_or_explanations(rich: Report) -> None:
    text = markdown_text(rich)
    assert "### Paired with Phi-4-mini-instruct BF16 on GPU" in text
    assert "step 1: read the letter" not in text.lower()
    assert "by category" not in text
    assert "How it was computed" not in text
    assert len(text) < 12_000


def test_every_block_shows_in_html_and_what_belongs_into_a_ticket_in_markdown() -> None:
    drawing = Drawing(100, 50, "a drawing")
    drawing.text(0, 10, "in the picture")
    page = page_of(
        Banner("the banner", "bad"), Heading("one"), Paragraph("a sentence", lead="Lead:"),
        Paragraph("a caution", style="caution"), Paragraph("a note", style="note"),
        Table(("name", "value"), ((Cell("n", note="small", flag="flagged"), Cell("7", state="bad")),), frozenset({1})),
        Table(("folded",), ((Cell("inside"),),), fold="unfold me"), Facts((("fact", "true"),)),
        Heading("two", brief=False), Paragraph("long story"), Terms((("term", "meaning"),)),
        Texts("answers", (("k1", "text one"),)), Beside("pairs", ("left", "right"), (("k2", ("l text", "r text")),)),
        Signing(("name", "date")), Figure(drawing, "a caption"),
    )  # fmt: skip
    text = words(page_html(page))
    for said in (
        "a head", "the banner", "one", "Lead: a sentence", "a caution", "a note", "name value n small flagged ✕ 7",
        "unfold me", "inside", "fact true", "two", "long story", "term meaning", "answers k1 text one",
        "pairs left right k2 l text r text", "name date", "in the picture", "a caption", "a foot.",
    ):  # fmt: skip
        assert said in text
    assert page_markdown(page).splitlines() == [
        "**the banner**", "", "### one", "", "**Lead:** a sentence", "", "> a caution", "", "a note", "",
        "| name | value |", "| --- | --- |", "| n, small (flagged) | 7 |", "", "|  |  |", "| --- | --- |",
        "| fact | true |", "", "a foot.",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text", ["# no heading", "- no list", "1. no list", "> no quotation", "+ no list", "=== no rule"]
)
def test_a_sentence_begins_nothing_but_a_sentence_in_markdown(text: str) -> None:
    first = page_markdown(page_of(Paragraph(text))).splitlines()[0]
    assert re.match(r"\\|\d+\\|&", first)
    assert first.replace("\\", "").replace("&gt;", ">") == text


def test_a_long_table_of_a_ticket_says_how_many_rows_it_leaves_out() -> None:
    text = page_markdown(page_of(Table(("n",), tuple((Cell(str(n)),) for n in range(100)))))
    assert "| 39 |" in text
    assert "| 40 |" not in text
    assert "and 60 more rows" in text


def test_answers_keep_their_line_breaks_in_html() -> None:
    page = page_html(page_of(Texts("answers", (("k", ANSWER),))))
    assert "Step 1: read the letter.\nStep 2: answer it." in page
    assert "white-space: pre-wrap" in page
