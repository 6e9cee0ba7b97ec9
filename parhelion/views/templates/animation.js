"use strict";
// Plays the animations of a page. The data of each stands beside it as JSON, in the
// form that parhelion/views/animation.py describes.

// What goes wrong is told on the page.
const tell = message => {
  const box = document.getElementById("errors");
  if (!box) return;
  box.hidden = false;
  box.textContent += message + "\n";
};
window.onerror = message => tell(message);
window.addEventListener("unhandledrejection", e => tell(e.reason));

const make = (kind, className, parent) => {
  const e = document.createElement(kind);
  if (className) e.className = className;
  parent.append(e);
  return e;
};

// One stage as a grid of pixels: dimension 0 to the right, dimension 1 downwards, the
// planes of further dimensions beside each other.
class Grid {
  constructor(told, parent) {
    this.name = told.name;
    this.kind = told.kind;
    this.min = told.min;
    this.width = told.extent[0] ?? 1;
    this.height = told.extent[1] ?? 1;
    this.planes = told.extent.slice(2).reduce((a, b) => a * b, 1);
    const count = this.width * this.height * this.planes;
    this.live = new Int32Array(count);
    this.seen = new Uint8Array(count);
    const across = this.width * this.planes + (this.planes - 1);
    this.cell = Math.max(4, Math.min(22, Math.floor(288 / Math.max(across, this.height))));
    this.figure = make("figure", "", parent);
    this.figure.dataset.grid = told.name;
    this.figure.dataset.extent = told.extent.join("x");
    const caption = make("figcaption", "", this.figure);
    make("b", "", caption).textContent = told.name;
    const box = told.extent.map((n, d) => `${told.min[d]}…${told.min[d] + n - 1}`);
    make("span", "ph-dim", caption).textContent = ` ${box.join(" × ")}`;
    this.canvas = make("canvas", "", this.figure);
    const scale = window.devicePixelRatio || 1;
    const w = across * this.cell + 1, h = this.height * this.cell + 1;
    this.canvas.width = Math.ceil(w * scale);
    this.canvas.height = Math.ceil(h * scale);
    this.canvas.style.width = `${w}px`;
    this.canvas.style.height = `${h}px`;
    this.pen = this.canvas.getContext("2d");
    this.pen.scale(scale, scale);
    this.note = make("div", "ph-dim", this.figure);
  }

  reset() {
    this.live.fill(0);
    this.seen.fill(0);
    this.held = this.most = this.stores = this.distinct = this.loads = 0;
  }

  hold(pixel, more) {
    if (this.live[pixel] === 0 && more > 0) this.held++;
    this.live[pixel] += more;
    if (this.live[pixel] === 0 && more < 0) this.held--;
    this.most = Math.max(this.most, this.held);
  }

  draw(colours, stored, loaded) {
    const pen = this.pen, size = this.cell, gap = size > 5 ? 1 : 0;
    pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
    const threads = new Map();
    for (const [pixel, thread] of stored) threads.set(pixel, thread);
    for (let p = 0; p < this.live.length; p++) {
      const column = p % this.width, rest = Math.floor(p / this.width);
      const row = rest % this.height, plane = Math.floor(rest / this.height);
      const x = (column + plane * (this.width + 1)) * size, y = row * size;
      const now = threads.has(p), read = loaded.has(p);
      const here = this.kind === "input" || this.live[p] > 0;
      pen.fillStyle = now ? colours.stored : read ? colours.loaded
        : here ? colours.live : this.seen[p] ? colours.gone : colours.empty;
      pen.fillRect(x + gap, y + gap, size - gap, size - gap);
      if (now && read) {
        pen.fillStyle = colours.loaded;
        pen.fillRect(x + gap, y + gap, (size - gap) / 2, size - gap);
      }
      if (gap) {
        pen.strokeStyle = colours.line;
        pen.strokeRect(x + 0.5, y + 0.5, size, size);
      }
      if (now && size >= 12 && threads.get(p) >= 0) {
        pen.fillStyle = colours.empty;
        pen.font = `${size - 5}px ui-monospace, monospace`;
        pen.textAlign = "center";
        pen.textBaseline = "middle";
        pen.fillText(threads.get(p), x + size / 2 + 0.5, y + size / 2 + 1);
      }
    }
    const told = this.figure.dataset;
    told.live = this.held;
    told.stored = stored.length;
    told.loaded = loaded.size;
    const again = this.distinct ? (this.stores / this.distinct).toFixed(2) : "0";
    this.note.textContent = this.kind === "input" ? `${this.loads} loads`
      : `${this.held} in memory, at most ${this.most}\n`
        + `${this.stores} stores (${again} a pixel), ${this.loads} loads`;
    this.note.style.whiteSpace = "pre";
  }
}

class Animation {
  constructor(root) {
    this.root = root;
    const script = root.querySelector('script[type="application/json"]');
    this.data = JSON.parse(script.textContent);
    const grids = root.querySelector(".ph-grids");
    this.grids = this.data.grids.map(g => new Grid(g, grids));
    this.code = root.querySelector(".ph-code");
    this.lines = this.data.lines.map(([depth, text]) => {
      const line = make("div", "", this.code);
      make("span", "", line).textContent = "  ".repeat(depth) + text;
      return [line, make("i", "", line)];
    });
    this.parallel = this.data.steps.some(s => s.some(op => op.length > 1 && op[1] > 0));
    root.querySelector(".ph-threads").textContent = this.parallel
      ? `numbers: which of ${this.data.threads} threads` : "";
    this.control = {};
    for (const e of root.querySelectorAll("[data-do]")) this.control[e.dataset.do] = e;
    this.control.seek.max = this.data.steps.length;
    this.control.first.onclick = () => this.go(0);
    this.control.last.onclick = () => this.go(this.data.steps.length);
    this.control.back.onclick = () => this.go(this.at - 1);
    this.control.forward.onclick = () => this.go(this.at + 1);
    this.control.play.onclick = () => this.play(!this.playing);
    this.control.seek.oninput = () => this.go(Number(this.control.seek.value));
    window.matchMedia("(prefers-color-scheme: dark)")
      .addEventListener("change", () => { this.colour(); this.show(); });
    this.playing = false;
    this.colour();
    this.reset();
    const asked = /step=(\d+)/.exec(location.hash);
    this.go(asked ? Number(asked[1]) : 0);
  }

  colour() {
    const style = getComputedStyle(this.root);
    this.colours = {};
    for (const name of ["stored", "loaded", "live", "gone", "empty", "line"])
      this.colours[name] = style.getPropertyValue(`--${name}`).trim();
  }

  reset() {
    this.at = 0;
    this.held = this.data.storages.map(() => new Set());
    for (const g of this.grids) g.reset();
  }

  // One step further: what is in memory then.
  apply(step) {
    for (const [storage, , , points, loads, , lost] of step) {
      const grid = this.grids[this.data.storages[storage]], held = this.held[storage];
      if (points === undefined) {
        for (const p of held) grid.hold(p, -1);
        held.clear();
        continue;
      }
      for (const [from, ...pixels] of loads) this.grids[from].loads += pixels.length;
      for (const p of lost) if (held.delete(p)) grid.hold(p, -1);
      for (const p of points) {
        if (!held.has(p)) grid.hold(p, 1);
        held.add(p);
        if (!grid.seen[p]) grid.distinct++;
        grid.seen[p] = 1;
        grid.stores++;
      }
    }
  }

  go(step) {
    step = Math.max(0, Math.min(this.data.steps.length, step));
    if (step < this.at) this.reset();
    while (this.at < step) this.apply(this.data.steps[this.at++]);
    if (this.at === this.data.steps.length) this.play(false);
    this.show();
  }

  show() {
    const stored = this.grids.map(() => []), loaded = this.grids.map(() => new Set());
    const values = this.lines.map(() => new Set());
    const step = this.at > 0 ? this.data.steps[this.at - 1] : [];
    for (const [storage, thread, line, points, loads, loops] of step) {
      if (points === undefined) continue;
      const grid = this.data.storages[storage];
      for (const p of points) stored[grid].push([p, this.parallel ? thread : -1]);
      for (const [from, ...pixels] of loads)
        for (const p of pixels) loaded[from].add(p);
      this.trail(line, loops, values);
    }
    this.grids.forEach((g, i) => g.draw(this.colours, stored[i], loaded[i]));
    this.lines.forEach(([line, value], i) => {
      line.classList.toggle("ph-on", values[i].size > 0);
      const all = [...values[i]].filter(v => v !== "").join(" | ");
      value.textContent = all && ` = ${all}`;
    });
    this.root.dataset.step = this.at;
    this.root.dataset.steps = this.data.steps.length;
    this.control.seek.value = this.at;
    this.root.querySelector(".ph-at").textContent =
      `${this.at} / ${this.data.steps.length}`;
  }

  // The lines around `line` are where the step is; their loops' values stand there.
  trail(line, loops, values) {
    let left = loops.length;
    for (let i = line; i >= 0; i = this.data.lines[i][2]) {
      if (!this.data.lines[i][3]) {
        values[i].add("");
        continue;
      }
      const value = loops[--left];
      values[i].add(Array.isArray(value) ? `${value[0]}…${value[1]}` : `${value}`);
    }
  }

  play(on) {
    if (on === this.playing) return;
    if (on && this.at === this.data.steps.length) this.reset();
    this.playing = on;
    this.control.play.textContent = on ? "pause" : "play";
    if (!on) return;
    let last = performance.now(), due = 0;
    const tick = now => {
      if (!this.playing) return;
      due += (now - last) / 1000 * Number(this.control.speed.value);
      last = now;
      if (due >= 1) {
        this.go(this.at + Math.floor(due));
        due %= 1;
      }
      requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  }
}

const animations = [...document.querySelectorAll(".ph-animation")]
  .map(root => new Animation(root));
document.addEventListener("keydown", e => {
  if (e.altKey || e.ctrlKey || e.metaKey || animations.length !== 1) return;
  if (e.target.matches("input, select, button, summary, a")) return;
  const keys = { ArrowRight: "forward", ArrowLeft: "back", " ": "play", Home: "first",
    End: "last" };
  const button = keys[e.key];
  if (!button) return;
  e.preventDefault();
  animations[0].control[button].click();
});
