"use strict";
// The views of the matrix: each answers one question, and gives every cell a style class, a text and a value.

const GLYPHS = { built: "✓", "not compiled": "○", disabled: "–", unavailable: "✕" };
// The marks of copies with the code of a lower level, as in the terminal, for legends.
const ALIKE = [
  ["alike", "= the same code as a lower level’s, linked once"],
  ["alike", "* the same code, linked again"],
];
const STEPS = 7;

const format = {
  bytes: (count) =>
    count < 1000 ? `${count} B` : count < 999500 ? `${short(count / 1000)} kB` : `${short(count / 1e6)} MB`,
  percent: (share) => (share > 0 && share < 0.01 ? "<1 %" : `${Math.round(100 * share)} %`),
  times: (ratio) => `${short(ratio)}×`,
  count: (value) => value.toLocaleString("en"),
};

function short(value) {
  if (value >= 999.5) return Math.round(value).toLocaleString("en");
  return value >= 99.5 ? String(Math.round(value)) : value >= 9.95 ? value.toFixed(1) : value.toFixed(2);
}

function flat(state) {
  return state.replace(" ", "-");
}

// Returns the largest share of instructions that need any one of the `features`.
function shareOf(code, features) {
  if (!code.instructions) return 0;
  const counts = code.families;
  return Math.min(1, Math.max(0, ...features.map((name) => counts[name] || 0)) / code.instructions);
}

// Returns the bounds of a scale whose steps contain equally many values: the least value of each step, and at the end
// the greatest value of all.
function boundsOf(build, value) {
  const found = build.kernels.flatMap(({ cells }) => cells.map((cell) => (cell.code ? value(cell) : 0)));
  const sorted = found.filter((one) => one > 0).sort((a, b) => a - b);
  if (!sorted.length) return [];
  const at = (step) => sorted[Math.min(sorted.length - 1, Math.floor((step / STEPS) * sorted.length))];
  return Array.from({ length: STEPS + 1 }, (_, step) => at(step));
}

function stepOf(value, bounds) {
  return Math.max(
    0,
    Math.min(
      STEPS - 1,
      bounds.findLastIndex((least) => value >= least),
    ),
  );
}

function columnOf(build, number) {
  return build.kernels.map(({ cells }) => cells[number]);
}

function sum(values) {
  return values.reduce((total, value) => total + value, 0);
}

// Returns the steps of a scale from low to high, for a legend.
function scale(bounds, text) {
  if (!bounds.length) return [];
  const names = { 0: text(bounds[0]), [STEPS - 1]: text(bounds[STEPS]) };
  return Array.from({ length: STEPS }, (_, step) => [`s${step}`, names[step] || "", "step"]);
}

const NOT_DECODED = ["off", "·", "not decoded", -1];
const isDecoded = (code) => code.instructions !== null;
const builtIn = (build, number) => columnOf(build, number).filter((cell) => cell.code);

// The functions of a view: `has` returns whether the build has data for it. `start` computes what the view needs of a
// build. `cell` returns [class, text, label, value] of a cell with code; that of `verdict` takes cells without code,
// too; that of `mix` adds the two shares in the cell's bar. `head` returns the line below a level's name.
// `legend` returns [class, text, kind] of each colour. With `adds`, the value of a row is the sum of its cells' values,
// otherwise the greatest one.
const VIEWS = {
  verdict: {
    label: "Verdict",
    adds: true,
    has: () => true,
    cell(build, cell) {
      const state = cell.state,
        reason = cell.reason,
        built = state === "built";
      if (cell.same_as) return ["alike", markOf(cell), `${state}, ${likeness(cell)}`, 0];
      return [flat(state), GLYPHS[state], reason && !built ? `${state}: ${reason}` : state, built ? 1 : 0];
    },
    head(build, number) {
      const column = columnOf(build, number);
      const built = column.filter((cell) => cell.state === "built").length;
      return `${built}/${column.length}`;
    },
    legend(build) {
      const there = new Set(build.kernels.flatMap(({ cells }) => cells.map((cell) => cell.state)));
      const items = build.states
        .filter((state) => there.has(state))
        .map((state) => [flat(state), `${GLYPHS[state]} ${state}`]);
      const alike = build.kernels.flatMap(({ cells }) => cells.filter((cell) => cell.same_as).map(markOf));
      return [...items, ...ALIKE.filter(([, text]) => alike.includes(text[0]))];
    },
  },
  size: {
    label: "Code size",
    has: (build) => anyCode(build, (code) => code.code_bytes > 0),
    start(build) {
      this.bounds = boundsOf(build, (cell) => cell.code.code_bytes);
    },
    cell(build, cell) {
      const bytes = cell.code.code_bytes;
      return [`s${stepOf(bytes, this.bounds)}`, format.bytes(bytes), "", bytes];
    },
    head(build, number) {
      const cells = builtIn(build, number),
        linked = cells.filter((cell) => !cell.folded);
      const bytes = format.bytes(sum(linked.map((cell) => cell.code.code_bytes)));
      return linked.length < cells.length ? `${bytes} linked` : bytes;
    },
    legend() {
      return [...scale(this.bounds, format.bytes), ["", "of instructions; each shade has equally many copies", "note"]];
    },
  },
  widest: {
    label: "Widest register",
    has: (build) => anyCode(build, isDecoded),
    cell(build, cell) {
      const bits = cell.code.widest;
      if (!isDecoded(cell.code)) return NOT_DECODED;
      return [
        `s${bits ? [128, 256, 512].findLastIndex((width) => bits >= width) * 2 + 1 : 0}`,
        bits ? String(bits) : "none",
        "",
        bits,
      ];
    },
    head: (build, number) => {
      const widest = Math.max(0, ...builtIn(build, number).map((cell) => cell.code.widest));
      return widest ? `to ${widest} bit` : "";
    },
    legend: () => [
      ["s0", "none"],
      ["s1", "128"],
      ["s3", "256"],
      ["s5", "512 bits or a tile’s row"],
    ],
  },
  mix: {
    label: "Instruction mix",
    has: (build) => build.features.length > 0 && anyCode(build, isDecoded),
    feature: "",
    cell(build, cell, number) {
      const code = cell.code,
        level = build.levels[number];
      if (!isDecoded(code)) return NOT_DECODED;
      const own = shareOf(code, this.feature ? [this.feature] : number ? level.own : []);
      if (this.feature) {
        return [`s${own ? Math.min(STEPS - 1, 1 + Math.floor(own * 10)) : 0}`, format.percent(own), "", own];
      }
      const rest = number ? shareOf(code, level.features) : 0;
      return ["mix", format.percent(own), "", own, [own, Math.max(own, rest)]];
    },
    head(build, number) {
      const cells = builtIn(build, number).filter((cell) => cell.code.instructions);
      if (!cells.length) return "";
      const features = this.feature ? [this.feature] : number ? build.levels[number].own : [];
      return `${format.percent(sum(cells.map((cell) => shareOf(cell.code, features))) / cells.length)} mean`;
    },
    legend() {
      if (this.feature)
        return [
          ["s0", "none"],
          ["s1", ""],
          ["s3", ""],
          ["s6", "more"],
          ["", `instructions that need ${this.feature}`, "note"],
        ];
      return [
        ["own", "% that need the level’s own features"],
        ["other", "other features"],
        ["rest", "every CPU’s"],
      ];
    },
  },
  same: {
    label: "Identical code",
    adds: true,
    has: (build) => anyCode(build, (code) => code.digest),
    cell(build, cell) {
      if (!cell.code.digest) return ["off", "·", "not compared", -1];
      if (!cell.same_as) return ["unlike", "own", "own code", 1];
      return ["alike", `${markOf(cell)} ${cell.same_as}`, likeness(cell), 0];
    },
    head(build, number) {
      const cells = builtIn(build, number).filter((cell) => cell.code.digest);
      const alike = cells.filter((cell) => cell.same_as).length;
      return alike ? `${alike} identical` : cells.length ? "all own" : "";
    },
    legend: () => [["unlike", "code of its own"], ...ALIKE],
  },
};

function markOf(cell) {
  return cell.folded ? "=" : "*";
}

function likeness(cell) {
  return `the same code as ${cell.same_as}, linked ${cell.folded ? "once" : "again"}`;
}

function anyCode(build, test) {
  return build.kernels.some(({ cells }) => cells.some((cell) => cell && cell.code && test(cell.code)));
}

// Returns [class, text, label, value] of the cell `number` of a row in a view.
function shown(build, view, cells, number) {
  const cell = cells[number];
  if (!cell) return ["off", "", "no such copy", -1];
  if (view === VIEWS.verdict || cell.code) return view.cell(build, cell, number);
  const state = cell.state;
  return [`off ${state === "built" ? "" : flat(state)}`, GLYPHS[state], state === "built" ? "no data" : state, -1];
}
