"""The pages in a real browser: headless Chromium runs their scripts."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest

import parhelion as hl
from parhelion.views.execute import Touch
from tests.support.browser import CHROMIUM, browse, picture

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="there is no chromium (Debian: apt-get install chromium)"
)

x, y, xo, yo, xi, yi = hl.vars("x y xo yo xi yi")


class Dom(HTMLParser):
    """The page after its scripts ran."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.grids: dict[str, dict[str, str | None]] = {}
        self.steps: list[tuple[str | None, str | None]] = []
        self.canvases = 0
        self.nodes: list[str | None] = []
        self.errors: str | None = None
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        self._inside = tag if told.get("id") == "errors" else ""
        if self._inside:
            self.errors = ""
        if "data-grid" in told:
            self.grids[told["data-grid"] or ""] = told
        if "data-steps" in told:
            self.steps.append((told["data-step"], told["data-steps"]))
        if "data-name" in told:
            self.nodes.append(told["data-name"])
        self.canvases += tag == "canvas"

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.errors = (self.errors or "") + data


def blur() -> hl.Func:
    image = hl.ImageParam(hl.UInt(16), 2, "photo")
    across, down = hl.funcs("across down")
    across[x, y] = (image[x, y] + image[x + 1, y] + image[x + 2, y]) / 3
    down[x, y] = (across[x, y] + across[x, y + 1] + across[x, y + 2]) / 3
    down.tile(x, y, xo, yo, xi, yi, 8, 4).vectorize(xi, 4).parallel(yo)
    across.compute_at(down, xo).vectorize(x, 4)
    return down


def test_the_animation_runs_in_the_browser(tmp_path: Path) -> None:
    animation = blur().animate([16, 8], tmp_path / "blur.html", threads=2)
    address = (tmp_path / "blur.html").as_uri()
    at = 40
    shown = Dom(browse(f"{address}#step={at}", tmp_path / "profile", "--dump-dom"))
    assert shown.errors == ""
    assert shown.steps == [(str(at), str(len(animation.steps)))]
    assert list(shown.grids) == ["photo", "across", "down"]
    assert shown.canvases == 3
    assert shown.grids["photo"]["data-extent"] == "18x10"
    assert shown.grids["down"]["data-extent"] == "16x8"
    # The script's count of pixels in memory, counted again here.
    for grid in animation.grids[1:]:
        held: dict[object, set[object]] = {}
        for step in animation.steps[:at]:
            for one in step:
                if one.storage.func is not grid.source:
                    continue
                pixels = held.setdefault(one.storage, set())
                if isinstance(one, Touch):
                    pixels -= set(one.lost)
                    pixels |= set(one.points)
                else:
                    pixels.clear()
        live = len(set().union(*held.values()))
        assert shown.grids[grid.name]["data-live"] == str(live)
        now = sum(
            len(one.points)
            for one in animation.steps[at - 1]
            if isinstance(one, Touch) and one.storage.func is grid.source
        )
        assert shown.grids[grid.name]["data-stored"] == str(now)


def test_the_picture_is_not_blank_and_moves(tmp_path: Path) -> None:
    blur().animate([16, 8], tmp_path / "blur.html")
    address = (tmp_path / "blur.html").as_uri()
    pictures = []
    for at in (5, 60):
        file = tmp_path / f"at{at}.png"
        browse(
            f"{address}#step={at}",
            tmp_path / "profile",
            "--window-size=1200,800",
            f"--screenshot={file}",
        )
        pictures.append(picture(file))
    for pixels in pictures:
        colours = {tuple(c) for c in pixels.reshape(-1, 3).tolist()}
        # What is stored now, loaded now, in memory: the page's own colours.
        for wanted in ((0xE8, 0x59, 0x0C), (0x1C, 0x7E, 0xD6), (0xB7, 0xDF, 0xC2)):
            assert wanted in colours
    assert (pictures[0] != pictures[1]).any()


def test_keys_that_are_the_browsers_move_nothing(tmp_path: Path) -> None:
    blur().animate([16, 8], tmp_path / "blur.html")
    page = (tmp_path / "blur.html").read_text()
    for options, at in (("", 41), (", altKey: true", 40), (", ctrlKey: true", 40)):
        script = (
            "<script>setTimeout(() => document.body.dispatchEvent(new KeyboardEvent("
            f"'keydown', {{key: 'ArrowRight', bubbles: true{options}}})), 50)</script>"
        )
        file = tmp_path / "pressed.html"
        file.write_text(page.replace("</body>", f"{script}</body>"))
        address = f"{file.as_uri()}#step=40"
        shown = Dom(browse(address, tmp_path / "profile", "--dump-dom"))
        assert shown.errors == ""
        assert shown.steps[0][0] == str(at)


def test_errors_of_scripts_reach_the_page(tmp_path: Path) -> None:
    page = blur().animate([8, 4]).html()
    broken = page.replace('"grids":[', '"grids":[{},', 1)
    assert broken != page
    (tmp_path / "broken.html").write_text(broken, encoding="utf-8")
    address = (tmp_path / "broken.html").as_uri()
    shown = Dom(browse(address, tmp_path / "profile", "--dump-dom"))
    assert shown.errors


def test_the_page_of_the_command(tmp_path: Path) -> None:
    pytest.importorskip("click")
    from click.testing import CliRunner

    from parhelion.cli.main import commands

    program = Path(__file__).parents[2] / "apps" / "blur.py"
    file = tmp_path / "made" / "blur.html"
    words = ["show", str(program), "-o", str(file), "--size", "12x6"]
    done = CliRunner().invoke(commands, [*words, "--schedule", "tiled"])
    assert done.exception is None
    assert done.output == f"{file}: {file.stat().st_size} bytes\n"
    shown = Dom(browse(file.as_uri(), tmp_path / "profile", "--dump-dom"))
    assert shown.errors == ""
    assert len(shown.steps) == 1
    assert shown.canvases == len(shown.grids) >= 3
    assert set(shown.grids) <= set(shown.nodes)
