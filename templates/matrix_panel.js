"use strict";
// The panel with the details of a cell, a level or a kernel.

// Returns an element. Its children are elements and texts; null, false and "" are left out.
function el(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key === "class") made.className = value;
    else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== false && value !== null) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== false && child !== ""));
  return made;
}

// Returns the name of a level as texts between which a line may break, after each underscore.
function breakable(name) {
  return name.split("_").flatMap((part, place) => (place ? ["_", document.createElement("wbr"), part] : [part]));
}

const codes = (words) =>
  words.length
    ? el("span", { class: "codes" }, words.map((word) => [el("code", {}, word), " "]).flat())
    : el("span", { class: "faint" }, "none");

function section(title, ...children) {
  return el("section", {}, el("h3", {}, title), ...children);
}

function badge(state) {
  return el("span", { class: `badge ${flat(state)}` }, `${GLYPHS[state]} ${state}`);
}

function figure(value, name, meaning) {
  return el("div", { title: meaning || null }, el("dt", {}, name), el("dd", {}, value));
}

// Returns a bar whose filled part is the `share`, from 0 to 1.
function meter(share, name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const bar = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  const sizes = { class: `meter ${name}`, width: "100%", height: "8", "aria-hidden": "true" };
  for (const [key, value] of Object.entries(sizes)) svg.setAttribute(key, value);
  bar.setAttribute("width", `${100 * share}%`);
  bar.setAttribute("height", "8");
  svg.append(bar);
  return svg;
}

function figures(build, cells, number) {
  const cell = cells[number],
    code = cell.code,
    lowest = cells[0] && cells[0].code;
  const found = [];
  if (code) {
    found.push(figure(format.bytes(code.code_bytes), "code"));
    if (number && lowest && lowest.code_bytes) {
      found.push(figure(format.times(code.code_bytes / lowest.code_bytes), `the size at ${build.levels[0].name}`));
    }
    if (code.instructions !== null) found.push(figure(format.count(code.instructions), "instructions"));
    if (code.widest) found.push(figure(`${code.widest} bit`, "widest register"));
    found.push(figure(
        format.bytes(code.loaded_bytes),
        cell.folded ? "would add to the program" : "in the program",
        "code, constants and variables of this copy, without debug information",
      ),);
  }
  return found.length > 0 && el("dl", { class: "figures" }, found);
}

function families(level, code) {
  const counts = Object.entries(code.families).sort((a, b) => b[1] - a[1]);
  if (!counts.length)
    return el("p", { class: "faint" }, "Every instruction is one that all CPUs of the architecture have.");
  const rows = counts.map(([name, count]) => {
    const own = level.own.includes(name),
      share = code.instructions ? Math.min(1, count / code.instructions) : 0;
    return el(
      "tr",
      {},
      el("th", { scope: "row" }, own ? el("span", { class: "mark" }, "◆ ") : "", el("code", {}, name)),
      el("td", { class: "number" }, format.count(count)),
      el("td", { class: "number" }, format.percent(share)),
      el("td", { class: "bar" }, meter(share, own ? "own" : "other")),
    );
  });
  const head = ["feature", "instructions", "share"].map((name, place) =>
    el("th", { scope: "col", class: place ? "number" : "" }, name),
  );
  return el("table", { class: "list" }, el("thead", {}, el("tr", {}, head, el("td"))), el("tbody", {}, rows));
}

function hotLoop(build, level, [name, instructions]) {
  const rows = instructions.map(([offset, text, features]) => {
    const own = features.some((feature) => level.own.includes(feature));
    const kind = own ? "own" : features.length ? "other" : "";
    return el(
      "tr",
      { class: kind },
      el("td", { class: "offset" }, offset.toString(16).toUpperCase()),
      el(
        "td",
        { class: "mark" },
        own ? el("abbr", { title: "needs a feature of this level" }, "◆") : features.length ? "◇" : "",
      ),
      el("td", {}, el("code", {}, text)),
      el("td", { class: "needs" }, features.join(" ")),
    );
  });
  const own = instructions.filter(([, , features]) => features.some((feature) => level.own.includes(feature))).length;
  const head = ["offset", "own", "instruction", "needs"].map((text) => el("th", { scope: "col" }, text));
  return section(
    "Hot loop",
    el("p", {}, el("code", {}, name.replaceAll("(anonymous namespace)::", ""))),
    el(
      "p",
      { class: "faint" },
      `◆ needs what ${level.name} adds: ${own} of ${instructions.length} instructions. ` +
        "◇ needs more than the baseline.",
    ),
    el(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "Disassembly of the hot loop" },
      el("table", { class: "asm" }, el("thead", { class: "hidden" }, el("tr", {}, head)), el("tbody", {}, rows)),
    ),
  );
}

const loopsOf = (build) =>
  build.loops || (build.loops = JSON.parse(document.getElementById(`loops-${build.number}`).textContent));

function featureLists(level) {
  const inherited = level.features.filter((name) => !level.own.includes(name));
  return [
    section("Features of its own", codes(level.own)),
    inherited.length > 0 && section("Features of levels that it requires", codes(inherited)),
  ];
}

function cellDetails(build, row, number) {
  const kernel = build.kernels[row],
    level = build.levels[number],
    cell = kernel.cells[number];
  if (!cell) return [el("p", {}, "The matrix has no such copy.")];
  const { reason, stubs } = cell;
  const dropped = level.dropped[kernel.language] || [];
  return [
    el("p", { class: "verdict" }, badge(cell.state), reason ? el("span", {}, reason) : null),
    cell.same_as &&
      el(
        "p",
        { class: "notice" },
        `Its code is identical to that of ${cell.same_as}: this copy gains nothing` +
          (cell.folded ? ", and is not linked." : "."),
      ),
    figures(build, kernel.cells, number),
    cell.loop !== null && hotLoop(build, level, loopsOf(build)[cell.loop]),
    cell.code &&
      cell.code.instructions !== null &&
      section("Instruction families", families(level, cell.code)),
    stubs && section("Stubs", codes(stubs)),
    (cell.code || build.flags[cell.flags].length > 0) && section("Flags", codes(build.flags[cell.flags])),
    kernel.args.length > 0 && section("Arguments of the kernel", codes(kernel.args)),
    dropped.length > 0 && section("Flags that the compiler refuses", refused(dropped)),
    section("Macros", codes(level.macros)),
    cell.copy && section("Source file of this level", codes([cell.copy])),
    ...featureLists(level),
  ];
}

function refused(dropped) {
  return el(
    "ul",
    {},
    dropped.map(([flag, reason]) => el("li", {}, el("code", {}, flag), ` ${reason}`)),
  );
}

const LANGUAGES = { c: "C", cpp: "C++", fortran: "Fortran" };

// Returns [languages, words] for each list of words in `flags`: languages with the same words share an entry.
function byWords(flags) {
  const found = new Map();
  for (const [language, words] of Object.entries(flags)) {
    const key = words.join(" ");
    found.set(key, [[...(found.get(key) || [[]])[0], LANGUAGES[language] || language], words]);
  }
  return [...found.values()];
}

function levelDetails(build, number) {
  const level = build.levels[number];
  const dropped = Object.entries(level.dropped).filter(([, found]) => found.length);
  return [
    el("p", { class: "verdict" }, badge(level.verdict), level.reason ? el("span", {}, level.reason) : null),
    level.compiled === false &&
      level.verdict === "built" &&
      el("p", { class: "notice" }, "Its code is not compiled yet."),
    section("Requires", codes(level.requires)),
    ...byWords(level.flags).map(([languages, words]) =>
      section(`Flags for ${languages.join(" and ")}`, codes(words)),
    ),
    ...dropped.map(([language, found]) =>
      section(`Flags that the ${LANGUAGES[language] || language} compiler refuses`, refused(found)),
    ),
    section("Macros", codes(level.macros)),
    ...featureLists(level),
  ];
}

function kernelDetails(build, row) {
  const kernel = build.kernels[row],
    views = Object.entries(VIEWS).filter(([name, view]) => name !== "verdict" && view.has(build));
  const names = ["Level", "Verdict", ...views.map(([, view]) => view.label)];
  const rows = build.levels.map((level, number) => {
    const cell = kernel.cells[number];
    return el(
      "tr",
      {},
      el(
        "th",
        { scope: "row" },
        el("button", { class: "link", onclick: () => openCell(build, row, number) }, level.name),
      ),
      el("td", {}, cell ? badge(cell.state) : ""),
      views.map(([, view]) =>
        el("td", { class: "number" }, cell && cell.code ? shown(build, view, kernel.cells, number)[1] : ""),
      ),
    );
  });
  return [
    section(
      "Levels",
      el(
        "div",
        { class: "scroll", tabindex: "0", role: "region", "aria-label": "Levels of the kernel" },
        el(
          "table",
          { class: "list levels" },
          el(
            "thead",
            {},
            el(
              "tr",
              {},
              names.map((name, place) => el("th", { scope: "col", class: place > 1 ? "number" : "" }, name)),
            ),
          ),
          el("tbody", {}, rows),
        ),
      ),
    ),
    section("Language", el("span", {}, LANGUAGES[kernel.language] || kernel.language)),
    section("Arguments of the kernel", codes(kernel.args)),
  ];
}

// ---- opening

// Opens the panel; `place` is the [kernel or "", level] that it shows.
function openPanel(title, kind, content, place, strip) {
  const panel = document.getElementById("panel"),
    close = () => panel.close();
  const heading = el(
    "h2",
    { id: "panel-title", tabindex: "-1", autofocus: true },
    el("span", { class: "source" }, title),
    " ",
    el("span", { class: "kind" }, kind),
  );
  panel.replaceChildren(
    el("header", {}, heading, el("button", { class: "close", "aria-label": "Close", onclick: close }, "✕")),
    ...[strip].filter(Boolean),
    el("div", { class: "details" }, content),
  );
  if (!panel.open) panel.showModal();
  panel.scrollTop = 0;
  panel.place = place;
  panel.dispatchEvent(new Event("shown"));
}

function openLevel(build, number) {
  openPanel(build.levels[number].name, "level", levelDetails(build, number), ["", build.levels[number].name]);
}

function openKernel(build, row) {
  openPanel(build.kernels[row].source, "kernel", kernelDetails(build, row), [build.kernels[row].source]);
}

function openCell(build, row, number) {
  const { source, cells } = build.kernels[row];
  const open = (place) => {
    openCell(build, row, place);
    document.querySelector("#panel [aria-current]").focus();
  };
  const strip = build.levels.map((level, place) =>
    el(
      "button",
      {
        class: cells[place] ? flat(cells[place].state) : "",
        "aria-current": place === number && "true",
        onclick: () => open(place),
      },
      breakable(level.name),
    ),
  );
  const levels = el("nav", { class: "strip", "aria-label": "Levels of this kernel" }, strip);
  const { name } = build.levels[number];
  openPanel(source, name, cellDetails(build, row, number), [source, name], levels);
}

document.getElementById("panel").addEventListener("click", (event) => {
  if (event.target === event.currentTarget) event.target.close();
});
