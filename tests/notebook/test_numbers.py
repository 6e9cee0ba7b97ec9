"""Profiles, reports, schedules that were found, and errors in notebooks."""

from __future__ import annotations

import re

import pytest

import parhelion as hl
from parhelion.views.tables import code, table, time_text
from tests.support.html_pages import Checked

x, y, z = hl.vars("x y z")


def stages() -> hl.Func:
    across, down = hl.Func("across"), hl.Func("down")
    across[x, y] = hl.sqrt(hl.f32(x * y))
    down[x, y] = across[x, y] + across[x, y + 1]
    across.compute_root()
    return down.vectorize(x, 8)


def rows(page: str) -> list[list[str]]:
    """The cells of a page's tables, row by row."""
    found = re.findall(r"<tr>(.*?)</tr>", page, re.DOTALL)
    return [re.findall(r"<t[hd]>(.*?)</t[hd]>", row, re.DOTALL) for row in found]


def test_a_profile_is_a_table() -> None:
    profile = stages().profile([64, 64], repeat=3)
    page = profile._repr_html_()
    assert "each of 3 runs" in Checked(page).said
    head, *body = rows(page)
    assert head[:3] == ["Func", "time", "share"]
    assert {row[0] for row in body} == {"across", "down"}
    for row in body:
        assert f">{100 * profile[row[0]].share:.1f} %<" in row[2]
        assert row[4] == "1"
    assert str(profile) in Checked(page).said


def test_a_report_is_a_table() -> None:
    report = stages().report([64, 64])
    page = report._repr_html_()
    head, *body = rows(page)
    assert head[1] == "recomputed" and len(body) == 2
    assert [row[0] for row in body] == ["across", "down"]
    assert body[1][4] == "x.v0: 8"
    assert str(report) in Checked(page).said


def test_a_schedule_that_was_found_shows_its_code_and_why() -> None:
    f, g = hl.funcs("f g")
    f[x, y] = hl.sin(hl.f32(x * y))
    g[x, y] = f[x, y] + f[x + 1, y] + f[x, y + 1]
    found = hl.autoschedule(g, [640, 480])
    page = found._repr_html_()
    said = Checked(page).said
    assert found.to_python().strip() in said
    assert "found in" in said and found.scheduler_name in said
    explanation = found.explain()
    for one in explanation:
        assert one.reason in said
    alone = explanation._repr_html_()
    assert len(rows(alone)) == 1 + len(explanation)
    assert str(explanation) in Checked(alone).said


def test_an_error_marks_what_is_wrong() -> None:
    f = hl.Func("f<1>")
    f[x, y] = x + y
    with pytest.raises(hl.ScheduleError) as caught:
        f.vectorize(x, 8).parallel(z)
    error = caught.value
    page = Checked(error._repr_html_())
    assert error.what in page.said and error.hint in page.said
    assert error.at is not None and str(error.at) in page.said
    (mark,) = re.findall(r"<mark>(.*?)</mark>", error._repr_html_())
    assert mark == ".parallel(z)"
    for legal in error.legal:
        assert legal in page.said


def test_an_error_without_a_place() -> None:
    error = hl.HalideError("a < b", legal=["x"], detail="1 & 2")
    page = Checked(error._repr_html_())
    assert "HalideError: a < b" in page.said and "1 & 2" in page.said
    assert [tag for tag, _ in page.elements if tag == "li"] == ["li"]
    assert "<mark>" not in error._repr_html_()


def test_cells_are_escaped() -> None:
    assert table(["a<b"], [["<i>"]]).count("&lt;") == 2
    assert "&lt;b&gt;" in code("<b>")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(2.0, "2 s"), (0.0123, "12.3 ms"), (4.2e-5, "42 µs"), (3e-9, "3 ns")],
)
def test_times(seconds: float, text: str) -> None:
    assert time_text(seconds) == text
