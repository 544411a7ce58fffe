"use strict";
// The page: the grid of kernels and levels, the choices above it, and the keys.
(() => {
  const byId = (name) => document.getElementById(name);
  const grid = byId("grid"),
    head = grid.tHead,
    body = grid.tBodies[0],
    panel = byId("panel"),
    line = byId("line");
  const builds = [];
  let build,
    view = VIEWS.verdict,
    rows = [],
    entries = new Map(),
    active = null;

  // ---- the grid

  function load(number) {
    if (!builds[number]) builds[number] = { ...JSON.parse(byId(`data-${number}`).textContent), number };
    build = builds[number];
    document.querySelectorAll("section.build").forEach((one, place) => {
      one.hidden = place !== number;
    });
    for (const one of Object.values(VIEWS)) if (one.start) one.start(build);
    makeViews();
    makeFeatures();
    makeRows();
    show();
  }

  function makeRows() {
    head.replaceChildren(
      el(
        "tr",
        {},
        el("td", { class: "corner" }),
        build.levels.map((level) =>
          el(
            "th",
            { scope: "col", tabindex: "-1" },
            el("span", { class: "name" }, breakable(level.name)),
            el("span", { class: "sub" }),
            level.verdict !== "built" && el("span", { class: "why" }, level.reason),
          ),
        ),
      ),
    );
    rows = build.kernels.map((kernel, number) => {
      const row = document.createElement("tr"),
        name = document.createElement("th");
      name.scope = "row";
      name.tabIndex = -1;
      const cut = kernel.source.lastIndexOf("/") + 1,
        folder = document.createElement("span");
      folder.className = "folder";
      folder.textContent = kernel.source.slice(0, cut);
      name.append(folder, kernel.source.slice(cut));
      row.append(name);
      const cells = kernel.cells.map(() => {
        const cell = document.createElement("td");
        cell.tabIndex = -1;
        row.append(cell);
        return cell;
      });
      const stubs = new Set(
        kernel.cells.flatMap((cell) => (cell.stubs || [])),
      );
      return { row, cells, number, value: 0, text: [kernel.source, ...stubs].join(" ").toLowerCase() };
    });
    const chars = Math.max(8, ...build.kernels.map(({ source }) => source.length));
    document.documentElement.style.setProperty("--chars", chars);
    document.documentElement.style.setProperty("--levels", build.levels.length);
    entries = new Map(rows.map((one) => [one.row, one]));
    active = null;
    body.replaceChildren(...rows.map(({ row }) => row));
  }

  function show() {
    for (const one of rows) {
      const { cells } = build.kernels[one.number];
      one.value = -1;
      one.cells.forEach((cell, number) => {
        const [kind, text, label, value, shares] = shown(build, view, cells, number);
        cell.className = kind;
        cell.textContent = text;
        if (label) cell.setAttribute("aria-label", label);
        else cell.removeAttribute("aria-label");
        if (shares)
          shares.forEach((share, place) => cell.style.setProperty(`--share-${place}`, `${Math.round(100 * share)}%`));
        one.value = view.adds ? one.value + Math.max(0, value) : Math.max(one.value, value);
      });
    }
    build.levels.forEach((level, number) => {
      const cell = head.rows[0].cells[number + 1];
      cell.className = flat(level.verdict);
      const { verdict } = level;
      cell.querySelector(".sub").textContent =
        verdict === "built" ? view.head(build, number) || "\u00a0" : `${GLYPHS[verdict]} ${verdict}`;
    });
    byId("caption").textContent = `${view.label}: kernels and levels of ${build.project}`;
    byId("feature-choice").hidden = view !== VIEWS.mix;
    byId("legend").replaceChildren(
      ...view
        .legend(build)
        .map(([kind, text, how]) =>
          how === "note"
            ? el("span", { class: "note" }, text)
            : el("span", { class: how || "item" }, el("i", { class: kind, "aria-hidden": "true" }), text),
        ),
    );
    order();
    filter();
  }

  function order() {
    const wanted = byId("order").value,
      sign = wanted === "low" ? 1 : -1;
    const sorted = wanted ? [...rows].sort((a, b) => sign * (a.value - b.value) || a.number - b.number) : rows;
    if (sorted.some((one, place) => body.rows[place] !== one.row)) body.append(...sorted.map(({ row }) => row));
  }

  function filter() {
    const words = byId("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const one of rows) {
      one.row.hidden = !words.every((word) => one.text.includes(word));
      count += !one.row.hidden;
    }
    byId("count").textContent = words.length ? `${count} of ${rows.length}` : "";
    byId("none").hidden = count > 0 || !rows.length;
    if (!active || active.closest("tr").hidden) focusable(firstCell());
  }

  function makeViews() {
    const choices = Object.entries(VIEWS).filter(([, one]) => one.has(build));
    if (!choices.some(([, one]) => one === view)) view = VIEWS.verdict;
    byId("views").replaceChildren(
      byId("views").firstElementChild,
      ...choices.map(([name, one]) => {
        const input = el("input", {
          type: "radio",
          name: "view",
          value: name,
          onchange: () => {
            view = one;
            show();
            remember();
          },
        });
        input.checked = one === view;
        return el("label", {}, input, el("span", {}, one.label));
      }),
    );
  }

  function makeFeatures() {
    VIEWS.mix.feature = "";
    byId("feature").replaceChildren(
      el("option", { value: "" }, "each level’s own"),
      ...build.features.map((name) => el("option", { value: name }, name)),
    );
  }

  // ---- keys: Tab reaches one cell of the grid, and arrows the others

  const visible = () => [head.rows[0], ...[...body.rows].filter((row) => !row.hidden)];
  const firstCell = () => {
    const row = visible()[1] || head.rows[0];
    return row.cells[1] || row.cells[0];
  };

  function focusable(cell) {
    if (active) active.tabIndex = -1;
    active = cell || null;
    if (active) active.tabIndex = 0;
  }

  function move(cell, key, control) {
    const lines = visible(),
      row = lines.indexOf(cell.closest("tr")),
      last = cell.closest("tr").cells.length - 1;
    const page = Math.max(1, Math.floor(window.innerHeight / 40));
    const steps = { ArrowUp: -1, ArrowDown: 1, PageUp: -page, PageDown: page };
    let to = row,
      column = cell.cellIndex;
    if (key in steps) to = Math.max(0, Math.min(lines.length - 1, row + steps[key]));
    else if (key === "ArrowLeft") column = Math.max(0, column - 1);
    else if (key === "ArrowRight") column = Math.min(last, column + 1);
    else if (key === "Home") {
      column = 0;
      if (control) to = Math.min(1, lines.length - 1);
    } else if (key === "End") {
      column = last;
      if (control) to = lines.length - 1;
    } else return false;
    const found = lines[to].cells[to ? column : Math.max(1, column)];
    focusable(found);
    found.focus();
    return true;
  }

  grid.addEventListener("keydown", (event) => {
    const cell = event.target.closest("td, th");
    if (!cell || event.altKey || event.metaKey) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      openAt(cell);
    } else if (move(cell, event.key, event.ctrlKey)) event.preventDefault();
  });
  grid.addEventListener("click", (event) => {
    const cell = event.target.closest("td, th");
    if (!cell || cell.classList.contains("corner") || String(getSelection())) return;
    focusable(cell);
    cell.focus({ preventScroll: true });
    openAt(cell);
  });

  // ---- the line at the bottom: it describes the cell under the pointer, or the focused one

  const kernelAt = (cell) => entries.get(cell.closest("tr"));

  function describe(cell) {
    const number = cell.cellIndex - 1,
      row = cell.parentNode.parentNode === head ? null : kernelAt(cell);
    if (!row)
      return number < 0 ? "" : [build.levels[number].name, build.levels[number].verdict, build.levels[number].reason];
    const kernel = build.kernels[row.number];
    if (number < 0 || !kernel.cells[number]) return [kernel.source, kernel.args.join(" ")];
    const found = kernel.cells[number],
      said = [kernel.source, build.levels[number].name, found.state];
    if (found.state !== "built") said.push(found.reason);
    if (found.code) {
      const views = Object.entries(VIEWS).filter(([name, one]) => name !== "verdict" && one.has(build));
      said.push(
        ...views.map(([, one]) => `${one.label.toLowerCase()} ${shown(build, one, kernel.cells, number)[1]}`),
      );
    }
    return said;
  }

  for (const kind of ["pointerover", "focusin"]) {
    grid.addEventListener(kind, (event) => {
      const cell = event.target.closest("td, th");
      const parts = cell ? [...describe(cell)].filter(Boolean) : [];
      line.hidden = !parts.length;
      line.replaceChildren(...parts.map((part) => el("span", {}, part)));
    });
  }
  grid.addEventListener("pointerleave", () => {
    line.hidden = true;
  });
  grid.addEventListener("focusout", () => {
    line.hidden = true;
  });

  // ---- the panel

  function openAt(cell) {
    const number = cell.cellIndex - 1,
      row = cell.closest("thead") ? null : kernelAt(cell);
    if (!row) openLevel(build, number);
    else if (number < 0) openKernel(build, row.number);
    else openCell(build, row.number, number);
  }

  panel.addEventListener("close", () => {
    if (active) active.focus();
    remember();
  });
  panel.addEventListener("shown", remember);

  // ---- choices: stored in the page's address and in the browser's storage, unless the browser forbids it

  // The address is #view,build,kernel,level; the last parts may be absent.
  function remember() {
    const name = Object.keys(VIEWS).find((one) => VIEWS[one] === view);
    const parts = [name, build.number || "", ...(panel.open ? panel.place : [])].map(encodeURIComponent);
    try {
      history.replaceState(null, "", `#${parts.join(",").replace(/,+$/, "").replaceAll("%2F", "/")}`);
    } catch {
      /* the browser forbids it */
    }
  }

  function openPlace(source, name) {
    const row = build.kernels.findIndex((kernel) => kernel.source === source),
      number = build.levels.findIndex((level) => level.name === name);
    if (row >= 0 && number >= 0) openCell(build, row, number);
    else if (row >= 0) openKernel(build, row);
    else if (number >= 0) openLevel(build, number);
  }

  function addressParts() {
    try {
      return location.hash.slice(1).split(",").map(decodeURIComponent);
    } catch {
      return []; // the address is not one that `remember` wrote
    }
  }

  function theme(name) {
    if (name) document.documentElement.dataset.theme = name;
    else delete document.documentElement.dataset.theme;
    try {
      localStorage.setItem("isagen-theme", name);
    } catch {
      /* the browser forbids it */
    }
  }

  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || panel.open || event.target.matches("#filter, select"))
      return;
    event.preventDefault();
    byId("filter").focus();
  });
  byId("filter").addEventListener("input", filter);
  byId("filter").addEventListener("keydown", (event) => {
    if (event.key === "Enter") firstCell().focus();
  });
  byId("order").addEventListener("change", () => {
    order();
    focusable(firstCell());
  });
  byId("feature").addEventListener("change", (event) => {
    VIEWS.mix.feature = event.target.value;
    show();
  });
  byId("theme").addEventListener("change", (event) => theme(event.target.value));
  byId("build").addEventListener("change", (event) => {
    load(Number(event.target.value));
    remember();
  });

  const count = byId("build").options.length;
  if (!count) return;
  try {
    const kept = localStorage.getItem("isagen-theme");
    if (kept) {
      byId("theme").value = kept;
      theme(kept);
    }
  } catch {
    /* the browser forbids it */
  }
  const [wanted, place, source, level] = addressParts();
  view = Object.hasOwn(VIEWS, wanted) ? VIEWS[wanted] : view;
  byId("build").value = String(place in byId("build").options ? place : 0);
  byId("app").hidden = byId("themes").hidden = false;
  byId("chooser").hidden = count < 2;
  load(Number(byId("build").value));
  openPlace(source, level);
  performance.mark("isagen-shown");
})();
