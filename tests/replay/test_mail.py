"""A report as the HTML of a mail: what the Markdown says, and nothing that a client's text could set off."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from replay.mail import as_html

PAGE = """# Night of 2026-10-31

| | games |
| --- | ---: |
| records | 1,000 |
| a\\|b &lt;i> | 2 |

Two lines
of one paragraph.
- client **ios 3**: do `this`
- other

Log: http://127.0.0.1:8080/x?try_number=1
"""


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.open, self.seen, self.words = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def test_headings_tables_lists_and_paragraphs():
    html = as_html(PAGE)
    for part in (
        "<h1>Night of 2026-10-31</h1>", '<td align="left">records</td><td align="right">1,000</td>', '<td align="left">a|b &lt;i&gt;</td>',
        "<p>Two lines of one paragraph.</p>", "<ul><li>client <b>ios 3</b>: do <code>this</code></li><li>other</li></ul>",
        '<a href="http://127.0.0.1:8080/x?try_number=1">',
    ):  # fmt: skip
        assert part in html, part
    assert Tags(html).open == []


def test_a_table_of_names_and_values_has_no_empty_head():
    assert "<th" not in as_html("| | |\n| --- | --- |\n| owner | scores |\n")
    assert "<th" in as_html(PAGE)


@pytest.mark.parametrize("evil", [
    "<script>alert(1)</script>", "&lt;img src=x onerror=alert(1)>", '"><a href=javascript:x>', "**<b>**", "`<i>`",
    'http://x"onmouseover=alert(1)', "# <h1>", "| <td> |",
])  # fmt: skip
def test_a_tag_in_the_text_is_its_letters(evil):
    """Whatever stands in a cell or a line, the tags are ours."""
    for page in (
        f"- {evil}\n",
        f"text {evil}\n",
        f"## {evil}\n",
        f"| | x |\n| --- | --- |\n| {evil.replace('|', chr(92) + '|')} | 1 |\n",
    ):
        found = Tags(as_html(page))
        assert set(found.seen) <= {"html", "body", "h2", "p", "ul", "li", "table", "tr", "td", "th", "b", "code", "a"}
        assert found.seen.count("a") <= evil.count("http://")
        assert found.open == []
