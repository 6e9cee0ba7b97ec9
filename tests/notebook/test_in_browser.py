"""What notebooks show in a real browser: pictures load, code is copied, colours follow
the reader's, and animations move."""

from __future__ import annotations

import json
import re
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.views.comparing import compared
from tests.support.browser import CHROMIUM, browse

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="there is no chromium (Debian: apt-get install chromium)"
)

x, y, z = hl.vars("x y z")
IMAGE = np.random.default_rng(7).integers(0, 256, (90, 120, 3)).astype(np.uint8)

#: Looks at the page and writes what it finds into it.
SCRIPT = """<pre id="found"></pre><script>
addEventListener("error", e => { document.body.dataset.error = e.message; });
addEventListener("load", () => {
  const button = document.querySelector(".ph-copy");
  if (button) button.click();
  const box = document.querySelector(".ph");
  document.getElementById("found").textContent = JSON.stringify({
    images: [...document.images].map(i => [i.naturalWidth, i.naturalHeight]),
    copied: getSelection().toString(),
    background: getComputedStyle(box).backgroundColor,
    wide: document.documentElement.scrollWidth <= innerWidth,
  });
});
</script>"""


def looked_at(tmp_path: Path, part: str, *options: str) -> dict[str, Any]:
    file = tmp_path / "page.html"
    file.write_text(
        f"<!doctype html><meta charset='utf-8'><body>{part}{SCRIPT}</body>",
        encoding="utf-8",
    )
    dom = browse(file.as_uri(), tmp_path / "profile", "--dump-dom", *options)
    assert "data-error" not in dom
    (found,) = re.findall(r'<pre id="found">(.*?)</pre>', dom, re.DOTALL)
    told: dict[str, Any] = json.loads(found.replace("&lt;", "<").replace("&gt;", ">"))
    return told


def test_pictures_load(tmp_path: Path) -> None:
    page = hl.Buffer(IMAGE, axes="yxc")._repr_html_()
    found = looked_at(tmp_path, page, "--window-size=800,600")
    assert found["images"] == [[120, 90]]
    assert found["wide"]
    names = {"photo": IMAGE, "np": np}
    found = looked_at(tmp_path, compared("0", "photo\nphoto // 2", names)._repr_html_())
    assert found["images"] == [[120, 90]] * 3


def test_code_is_copied(tmp_path: Path) -> None:
    f, g = hl.funcs("f g")
    f[x, y] = hl.sin(hl.f32(x * y))
    g[x, y] = f[x, y] + f[x + 1, y]
    found = hl.autoschedule(g, [640, 480])
    told = looked_at(tmp_path, found._repr_html_())
    assert told["copied"].strip() == found.to_python().strip()


@pytest.mark.parametrize(
    ("scheme", "colour"), [(0, "rgb(22, 25, 31)"), (1, "rgb(252, 252, 250)")]
)
def test_colours_are_the_readers(tmp_path: Path, scheme: int, colour: str) -> None:
    with pytest.raises(hl.HalideError) as caught:
        hl.u8(3) + 300
    option = f"--blink-settings=preferredColorScheme={scheme}"
    found = looked_at(tmp_path, caught.value._repr_html_(), option)
    assert found["background"] == colour


def test_an_animation_moves_in_its_frame(tmp_path: Path) -> None:
    f, g = hl.funcs("f g")
    f[x, y] = x + y
    g[x, y] = f[x, y] + f[x + 1, y]
    f.compute_root()
    file = tmp_path / "page.html"
    page = hl.Pipeline(g).animate([8, 6])._repr_html_()
    # The frame's script tells the page around it which step is shown, and which colours
    # are drawn.
    script = """<script>setTimeout(() => {
      const key = {key: "ArrowRight", bubbles: true};
      for (let k = 0; k < 60; k++)
        document.body.dispatchEvent(new KeyboardEvent("keydown", key));
      const told = () => {
        const drawn = new Set();
        for (const canvas of document.querySelectorAll("canvas")) {
          const size = [canvas.width, canvas.height];
          const data = canvas.getContext("2d").getImageData(0, 0, ...size).data;
          for (let k = 0; k < data.length; k += 4)
            drawn.add(data.slice(k, k + 3).join());
        }
        const step = document.querySelector("[data-steps]").dataset.step;
        parent.postMessage({step, drawn: [...drawn]}, "*");
      };
      setTimeout(told, 200);
    }, 50)</script>"""
    moved = page.replace("&lt;/body&gt;", f"{escape(script)}&lt;/body&gt;")
    assert moved != page
    listening = """<pre id="found"></pre><script>addEventListener("message", e => {
      document.getElementById("found").textContent = JSON.stringify(e.data); });
    </script>"""
    file.write_text(f"<!doctype html><body>{listening}{moved}</body>", encoding="utf-8")
    # In one process, or else the page's clock does not wait for the frame's.
    alone = "--disable-features=IsolateSandboxedIframes"
    dom = browse(file.as_uri(), tmp_path / "profile", "--dump-dom", alone)
    (found,) = re.findall(r'<pre id="found">(.*?)</pre>', dom, re.DOTALL)
    told = json.loads(found)
    assert told["step"] == "60"
    # What is stored now, and what is in memory.
    assert "232,89,12" in told["drawn"] and "183,223,194" in told["drawn"]
