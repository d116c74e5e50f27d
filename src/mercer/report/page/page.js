// What a page can do beyond being read: sort tables, tell values, weigh costs, look at rows. Nothing here is needed to
// read it. Text from the data only ever enters through textContent.
(() => {
  "use strict";
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const one = (selector, root = document) => root.querySelector(selector);
  const make = (name, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(name), properties);
    element.append(...children);
    return element;
  };
  const read = (root) => JSON.parse(one("script.values", root).textContent);
  const written = (value, digits = 4) => (Number.isFinite(value) ? value.toFixed(digits).replace("-", "−") : "–");
  const grouped = (value) => Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, ",");
  const signed = (value) => (value > 0 ? "+" : value < 0 ? "−" : "")
    + (Math.abs(value) >= 1000 && Math.abs(value) < 1e9 ? grouped(Math.abs(value)) : Math.abs(value).toFixed(2));

  // ---- light, dark, or as the system has it
  const theme = () => {
    const button = one("#theme"), order = ["auto", "light", "dark"];
    let now = "auto";
    try { now = localStorage.getItem("mercer-theme") || "auto"; } catch { /* a file may have no storage */ }
    const show = () => {
      if (now === "auto") delete document.documentElement.dataset.theme;
      else document.documentElement.dataset.theme = now;
      button.textContent = { auto: "◐", light: "○", dark: "●" }[now];
      button.title = `Theme: ${now}`;
      button.setAttribute("aria-label", button.title);
    };
    if (!order.includes(now)) now = "auto";
    show();
    button.hidden = false;
    button.addEventListener("click", () => {
      now = order[(order.indexOf(now) + 1) % order.length];
      try { localStorage.setItem("mercer-theme", now); } catch { /* it lasts as long as the page does */ }
      show();
    });
  };

  // ---- which section is being read
  const contents = () => {
    const links = new Map(all("nav a").map((link) => [link.getAttribute("href").slice(1), link]));
    if (!links.size || !("IntersectionObserver" in window)) return;
    const seen = new Set();
    const watch = new IntersectionObserver((changes) => {
      for (const change of changes) seen[change.isIntersecting ? "add" : "delete"](change.target.id);
      const current = all("section[id^='s-']").find((section) => seen.has(section.id));
      for (const [id, link] of links) {
        if (!current || id !== current.id) link.removeAttribute("aria-current");
        else if (!link.hasAttribute("aria-current")) {
          link.setAttribute("aria-current", "true");
          one("nav").scrollLeft = link.offsetLeft - 24; // where contents are a strip
        }
      }
    }, { rootMargin: "-15% 0px -55% 0px" });
    all("section[id^='s-']").forEach((section) => watch.observe(section));
  };

  // ---- tables: numbers by value, words as words, nothing last; equal rows keep their order
  const key = (cell) => (cell.dataset.v !== undefined ? Number(cell.dataset.v) : cell.textContent.trim());
  const empty = (value) => value === "" || value === "–" || Number.isNaN(value);
  const order = (a, b, sign) => {
    if (empty(a) || empty(b)) return empty(a) - empty(b);
    if (typeof a === "number" && typeof b === "number") return sign * (a - b);
    return sign * String(a).localeCompare(String(b), undefined, { numeric: true });
  };
  const sort = (table, heading) => {
    const up = heading.getAttribute("aria-sort") !== "ascending", column = heading.cellIndex;
    all("thead th", table).forEach((other) => other.removeAttribute("aria-sort"));
    heading.setAttribute("aria-sort", up ? "ascending" : "descending");
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row) => [key(row.cells[column]), row]);
    rows.sort(([a], [b]) => order(a, b, up ? 1 : -1));
    body.append(...rows.map(([, row]) => row));
  };
  const sortable = (table) => {
    if (table.tBodies[0].rows.length < 2) return;
    for (const heading of all("thead th", table)) {
      const button = make("button", { type: "button", title: "Sort" }, ...heading.childNodes);
      button.addEventListener("click", () => sort(table, heading));
      heading.append(button);
    }
  };

  // ---- charts: the nearest value, by mouse, finger or arrow keys
  const tip = one("#tip");
  const line = (colour, name, value, faint) => {
    const row = make("div", { className: faint ? "faint" : "" });
    if (colour !== undefined && colour !== null) row.append(make("i", { className: `swatch c${colour % 8}` }));
    row.append(make("span", { textContent: name }));
    if (value !== undefined) row.append(make("span", { className: "value", textContent: value }));
    return row;
  };
  const showTip = (rows, x, y) => {
    tip.replaceChildren(...rows);
    tip.hidden = false;
    const box = tip.getBoundingClientRect(), room = 14;
    const left = x + room + box.width > innerWidth - 8 ? x - room - box.width : x + room;
    const top = y - room - box.height < 8 ? y + room : y - room - box.height;
    const inside = Math.max(8, Math.min(left, innerWidth - box.width - 8));
    tip.style.transform = `translate(${scrollX + inside}px, ${scrollY + Math.max(8, top)}px)`;
  };

  const chart = (figure) => {
    const svg = one("svg", figure);
    if (!svg) return;
    const told = read(figure), hidden = new Set();
    const [left, top, right, bottom] = svg.dataset.box.split(" ").map(Number);
    const title = one("title", svg);
    svg.setAttribute("aria-label", title.textContent);
    svg.removeAttribute("aria-labelledby");
    title.remove(); // or the browser shows it wherever one points
    svg.setAttribute("tabindex", "0");
    const draw = (name, attributes) => {
      const shape = document.createElementNS("http://www.w3.org/2000/svg", name);
      for (const [attribute, value] of Object.entries(attributes)) shape.setAttribute(attribute, value);
      return shape;
    };
    const over = draw("g", { "aria-hidden": "true" });
    svg.append(over);

    const seen = () => told.marks.filter((mark) => mark.kind !== "cells" && !hidden.has(mark.series));
    // lines to compare with (a diagonal, a threshold) are told of only where there is nothing else
    const aimed = () => (seen().some((mark) => !mark.dashed) ? seen().filter((mark) => !mark.dashed) : seen());
    const targets = () => aimed().flatMap((mark) => mark.px.map((px, i) => ({ mark, i, px, py: mark.py[i] })));
    const nearest = (x, y) => {
      let best = null, least = Infinity;
      for (const target of targets()) {
        const far = target.mark.kind === "bars"
          ? Math.abs(target.py - y)
          : Math.hypot(target.px - x, (target.py - y) * (target.mark.kind === "line" ? 0.3 : 1));
        if (far < least) [best, least] = [target, far];
      }
      return [best, least];
    };
    const cellAt = (mark, x, y) => {
      const along = (edges, at) => edges.findIndex((edge, i) => i + 1 < edges.length
        && at >= Math.min(edge, edges[i + 1]) && at <= Math.max(edge, edges[i + 1]));
      const [j, i] = [along(mark.px, x), along(mark.py, y)];
      return i < 0 || j < 0 ? null : { mark, i, j };
    };
    const middle = (edges, i) => (edges[i] + edges[i + 1]) / 2;
    const atScreen = (x, y) => {
      const point = new DOMPoint(x, y).matrixTransform(svg.getScreenCTM());
      return [point.x, point.y];
    };
    const quiet = () => { over.replaceChildren(); tip.hidden = true; };

    const tellCell = ({ mark, i, j }) => {
      const [x, y] = [middle(mark.px, j), middle(mark.py, i)];
      over.replaceChildren(draw("rect", {
        class: "ring", x: Math.min(mark.px[j], mark.px[j + 1]), y: Math.min(mark.py[i], mark.py[i + 1]),
        width: Math.abs(mark.px[j + 1] - mark.px[j]), height: Math.abs(mark.py[i + 1] - mark.py[i]),
      }));
      let value = mark.v[i][j];
      if (mark.classes) {
        const strength = mark.shades && mark.shades[i][j] !== null ? ` (${mark.shades[i][j].toFixed(2)})` : "";
        value = (mark.classes[value] ?? "–") + strength;
      }
      showTip([line(null, mark.name || "value", value), line(null, told.x || "across", mark.x[j], true),
        line(null, told.y || "down", mark.y[i], true)], ...atScreen(x, y));
    };
    const tell = ({ mark, i, px, py }) => {
      const rows = [];
      const ring = [draw("circle", { class: "ring", cx: px, cy: py, r: 6 })];
      if (mark.kind === "line") {
        rows.push(line(null, told.x || "x", mark.x[i], true));
        ring.unshift(draw("path", { class: "cross", d: `M${px} ${top}V${bottom}` }));
        for (const other of seen().filter((other) => other.kind === "line" && (other.name || other === mark))) {
          const k = other === mark ? i : other.px.findIndex((at) => Math.abs(at - px) < 0.6);
          if (k < 0) continue;
          const range = other.between && rows.length < 9 ? ` (${other.between[k]})` : "";
          rows.push(line(other.series, other.name || told.y || "y", other.y[k] + range));
        }
      } else if (mark.kind === "bars") {
        rows.push(line(null, mark.y[i], undefined, true), line(mark.series, mark.name || told.x, mark.x[i]));
        if (mark.between) rows.push(line(null, "between", mark.between[i], true));
      } else {
        if (mark.name) rows.push(line(mark.series, mark.name));
        if (mark.labels) rows.push(line(null, mark.labels[i]));
        rows.push(line(null, told.x || "x", mark.x[i], true), line(null, told.y || "y", mark.y[i], true));
        if (mark.between) rows.push(line(null, "between", mark.between[i], true));
      }
      over.replaceChildren(...ring);
      showTip(rows, ...atScreen(px, py));
    };

    const point = (event) => {
      const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      if (at.x < left - 130 || at.x > right + 60 || at.y < top - 12 || at.y > bottom + 12) return quiet();
      const cells = told.marks.find((mark) => mark.kind === "cells");
      const [target, far] = nearest(at.x, at.y);
      const cell = cells && cellAt(cells, at.x, at.y);
      if (cell && far > 10) tellCell(cell);
      else if (target) tell(target);
      else quiet();
    };
    svg.addEventListener("pointermove", point);
    svg.addEventListener("pointerdown", point);
    // a finger that is lifted leaves the values standing until another place is touched
    svg.addEventListener("pointerleave", (event) => { if (event.pointerType !== "touch") quiet(); });
    document.addEventListener("pointerdown", (event) => { if (!svg.contains(event.target)) over.replaceChildren(); });

    let current = -1;
    const step = (by) => {
      const cells = told.marks.find((mark) => mark.kind === "cells");
      const places = targets().sort((a, b) => (a.mark.kind === "bars" ? a.py - b.py : a.px - b.px));
      const width = cells ? cells.x.length : 0;
      const count = places.length || (cells ? width * cells.y.length : 0);
      if (!count) return;
      current = ((by === "first" ? 0 : by === "last" ? count - 1 : current + by) + count) % count;
      if (places.length) tell(places[current]);
      else tellCell({ mark: cells, i: Math.floor(current / width), j: current % width });
    };
    const keys = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: "first", End: "last" };
    svg.addEventListener("keydown", (event) => {
      if (event.key === "Escape") return quiet();
      if (!(event.key in keys)) return;
      event.preventDefault();
      step(keys[event.key]);
    });
    svg.addEventListener("focus", () => { if (svg.matches(":focus-visible")) step(current < 0 ? 1 : 0); });
    svg.addEventListener("blur", quiet);

    for (const item of all(".legend li", figure)) {
      const series = Number(item.dataset.series);
      const button = make("button", { type: "button", title: "Show or hide" }, ...item.childNodes);
      button.setAttribute("aria-pressed", "true");
      button.addEventListener("click", () => {
        const off = !hidden.has(series);
        hidden[off ? "add" : "delete"](series);
        button.setAttribute("aria-pressed", String(!off));
        for (const group of all(`.series[data-series="${series}"]`, svg)) group.style.display = off ? "none" : "";
        quiet();
      });
      item.append(button);
    }
  };

  // ---- costs: the decision of least expected cost for every row, for whatever mistakes cost
  const unpacked = (packed) => {
    const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
    const view = new DataView(bytes.buffer);
    return Float64Array.from({ length: bytes.length / 2 }, (_, i) => view.getUint16(2 * i, true) / 65535);
  };
  const judge = (probabilities, truth, costs) => {
    const K = costs.length, n = truth.length, paid = new Float64Array(n);
    const confusion = costs.map(() => new Array(K).fill(0));
    let expected = 0, likeliest = 0;
    for (let i = 0; i < n; i++) {
      let least = Infinity, decided = 0, top = 0;
      for (let d = 0; d < K; d++) {
        let cost = 0;
        for (let k = 0; k < K; k++) cost += probabilities[i * K + k] * costs[k][d];
        if (cost < least) [least, decided] = [cost, d];
        if (probabilities[i * K + d] > probabilities[i * K + top]) top = d;
      }
      paid[i] = costs[truth[i]][decided];
      expected += least;
      likeliest += costs[truth[i]][top];
      confusion[truth[i]][decided] += 1;
    }
    const cost = paid.reduce((sum, value) => sum + value, 0) / n;
    const spread = paid.reduce((sum, value) => sum + (value - cost) ** 2, 0);
    const error = n > 1 ? Math.sqrt(spread / (n - 1) / n) : 0;
    return { cost, error, expected: expected / n, likeliest: likeliest / n, confusion };
  };
  const thresholdSentence = (classes, costs) => {
    if (classes.length !== 2) return "Each row gets the decision whose expected cost is least.";
    const wrong = costs[0][1] - costs[0][0], missed = costs[1][0] - costs[1][1], name = `“${classes[1]}”`;
    if (wrong + missed <= 0) return "With these costs mistakes are cheaper than right decisions.";
    const threshold = wrong / (wrong + missed);
    if (threshold <= 0) return `With these costs ${name} is always the cheaper decision.`;
    if (threshold >= 1) return `With these costs ${name} is never the cheaper decision.`;
    return `Decide ${name} when its probability is above ${threshold.toFixed(3)}.`;
  };
  const put = (cell, value, digits) => {
    cell.textContent = written(value, digits);
    cell.dataset.v = String(value);
  };

  const weigh = (block) => {
    const told = read(block), inputs = all("input[data-cost]", block), K = told.classes.length;
    const models = told.models.map((model) => ({ ...model, p: unpacked(model.parts), y: told.truths[model.truth] }));
    const rows = [...one(".outcome table", block).tBodies[0].rows], last = rows.length - 1;
    const confusion = one(".confusion table", block), select = one(".confusion select", block), reset = one(".reset", block);
    const costs = () => {
      const matrix = Array.from({ length: K }, () => new Array(K).fill(0));
      for (const input of inputs) {
        const [k, d] = input.dataset.cost.split(" ").map(Number), value = input.valueAsNumber;
        input.setAttribute("aria-invalid", String(!Number.isFinite(value)));
        matrix[k][d] = value;
      }
      return matrix.flat().every(Number.isFinite) ? matrix : null;
    };
    const update = () => {
      const matrix = costs();
      if (!matrix) return void (one(".threshold", block).textContent = "Every cost must be a number.");
      const judged = models.map((model) => judge(model.p, model.y, matrix));
      const least = Math.min(...judged.map((one) => one.cost));
      judged.forEach((model, i) => {
        [model.cost, model.error, model.expected, model.likeliest].forEach((value, j) => put(rows[i].cells[j + 1], value));
        rows[i].classList.toggle("best", model.cost === least);
      });
      const always = told.classes.map((_, d) => models[0].y.reduce((sum, k) => sum + matrix[k][d], 0) / models[0].y.length);
      const best = always.indexOf(Math.min(...always));
      rows[last].cells[0].textContent = `no model: always “${told.classes[best]}”`;
      put(rows[last].cells[1], always[best]);
      one(".threshold", block).textContent = thresholdSentence(told.classes, matrix);
      const shown = Number(select.value);
      one("caption span", confusion).textContent = `Decisions of ${models[shown].name}`;
      judged[shown].confusion.forEach((counts, k) => counts.forEach((count, d) => put(confusionRows[k].cells[d + 1], count, 0)));
    };
    const confusionRows = [...confusion.tBodies[0].rows];
    inputs.forEach((input) => { input.disabled = false; input.addEventListener("input", update); });
    select.addEventListener("change", update);
    reset.addEventListener("click", () => {
      for (const input of inputs) {
        const [k, d] = input.dataset.cost.split(" ").map(Number);
        input.value = told.costs[k][d];
      }
      update();
    });
    reset.hidden = one(".confusion .choice", block).hidden = false;
    update();
  };

  // ---- rows: what each feature adds to the log odds, the strongest first
  const MOST = 12;
  const explore = (block) => {
    const told = read(block), live = one(".live", block);
    const option = (text, value) => make("option", { textContent: text, value });
    const row = make("select"), model = make("select"), picture = make("div");
    row.append(...told.names.map(option));
    model.append(...told.models.map((one, i) => option(one.of ? `${one.model}: ${one.of}` : one.model, i)));
    const go = (by) => {
      row.selectedIndex = (row.selectedIndex + by + told.names.length) % told.names.length;
      show();
    };
    const button = (text, by) => make("button", { type: "button", textContent: text, onclick: () => go(by) });
    const choice = (text, select) => make("label", { className: "choice" }, text, select);
    live.append(make("div", { className: "picker" }, choice("Row", row), button("Previous", -1), button("Next", 1)));
    if (told.models.length) live.append(make("div", { className: "picker" }, choice("Explained by", model)));
    live.append(picture);

    // a long name may be broken at its underscores
    const breaking = (name) => name.split(/(?<=_)/).flatMap((part, i) => (i ? [make("wbr"), part] : [part]));
    const bar = (value, most) => {
      const share = most > 0 ? (50 * Math.min(Math.abs(value), most)) / most : 0;
      const strip = make("i", { className: value < 0 ? "lowers" : "raises" });
      strip.style.width = `${share}%`;
      strip.style.left = value < 0 ? `${50 - share}%` : "50%";
      return make("span", { className: "weight", ariaHidden: "true" }, strip);
    };
    const cells = (name, value, weight, most) => {
      const cell = make("td", {}, ...(most === null ? [] : [bar(weight, most)]));
      const title = make("th", { scope: "row" }, ...breaking(name));
      return make("tr", {}, title, make("td", { textContent: value }), cell,
        make("td", { className: "number", textContent: signed(weight) }));
    };
    const evidence = (from, i) => {
      const adds = from.adds[i], pairs = [], names = from.features.length ? from.features : told.columns;
      for (let k = 0; k < adds.length; k += 2) pairs.push([adds[k], adds[k + 1]]);
      const together = ([j]) => names[j].startsWith("(");  // features that are not shown one by one come last
      pairs.sort((a, b) => together(a) - together(b) || Math.abs(b[1]) - Math.abs(a[1]));
      const single = pairs.filter((pair) => !together(pair)), weak = Math.max(single.length - MOST, 0);
      const merged = weak ? [...single.slice(MOST), ...pairs.filter(together)] : [];
      const rest = merged.reduce((sum, [, weight]) => sum + weight, 0);
      const shown = weak ? single.slice(0, MOST) : pairs;
      const most = Math.max(...shown.map(([, weight]) => Math.abs(weight)), Math.abs(rest));
      const value = (j) => {
        const place = told.columns.indexOf(names[j]);
        if (place >= 0) return told.rows[i][place];
        return names[j].startsWith("(") ? "all together" : told.columns.includes(names[j].split("[")[0]) ? "in the text" : "a feature";
      };
      const body = make("tbody", {}, ...shown.map(([j, weight]) => cells(names[j], value(j), weight, most)));
      const others = merged.length > weak ? "all other features" : weak === 1 ? "1 weaker one" : `${weak} weaker ones`;
      if (weak) body.append(cells(others, "all together", rest, most));
      const total = pairs.reduce((sum, [, weight]) => sum + weight, from.base ?? 0);
      const foot = make("tfoot", {}, cells("before any feature", "", from.base ?? 0, null), cells("sum", "", total, null));
      const heads = ["feature", "value", "lowers\u00a0· raises", "adds"];
      const head = make("tr", {}, ...heads.map((text, j) => make("th", { scope: "col", textContent: text, className: j === 3 ? "number" : "" })));
      const caption = make("caption", {}, make("span", { textContent: from.of ? `What each feature adds to the ${from.of}` : "What each feature adds" }));
      return make("table", { className: "evidence" }, caption, make("thead", {}, head), body, foot);
    };
    const box = (table, name) => {
      const region = make("div", { className: "box", tabIndex: 0 }, table);
      region.setAttribute("role", "region");
      region.setAttribute("aria-label", name);
      return region;
    };
    const values = (i) => {
      const lines = told.columns.map((name, j) => make("tr", {},
        make("th", { scope: "row" }, ...breaking(name)), make("td", { textContent: told.rows[i][j] })));
      return make("details", { open: !told.models.length }, make("summary", { textContent: "All values of this row" }),
        box(make("table", {}, make("tbody", {}, ...lines)), "Values of the row"));
    };
    const chances = (from, i) => make("ul", { className: "chances" }, ...from.classes.map((name, k) => {
      const chance = from.probabilities[i][k];
      const fill = make("i");
      fill.style.width = `${100 * (chance ?? 0)}%`;
      return make("li", {}, make("span", { textContent: name }), make("span", { className: "meter", ariaHidden: "true" }, fill),
        make("span", { className: "number", textContent: written(chance ?? NaN, 3) }));
    }));
    const verdict = (from, i) => {
      const words = make("p", { className: "verdict" }, `${from.model} predicts `, make("strong", { textContent: from.predicted[i] }));
      if (told.truth.length) words.append("; the truth is ", make("strong", { textContent: told.truth[i] }));
      words.append(".");
      return words;
    };
    const show = () => {
      const i = row.selectedIndex, from = told.models[Number(model.value || 0)];
      const parts = from ? [verdict(from, i), ...(from.classes.length ? [chances(from, i)] : []), box(evidence(from, i), "Evidence")] : [];
      picture.replaceChildren(...parts, values(i));
    };
    row.addEventListener("change", show);
    model.addEventListener("change", show);
    one(".static", block).hidden = true;
    live.hidden = false;
    show();
  };

  // ---- folded sections: opened by links into them, all at once, and on paper
  const folds = () => {
    const parts = all("details.fold"), button = one("#unfold");
    const show = (id) => {
      const target = id && document.getElementById(id);
      if (target) all("details.fold", target.closest("section") || target).forEach((part) => { part.open = true; });
    };
    all('a[href^="#s-"]').forEach((link) => link.addEventListener("click", () => show(link.getAttribute("href").slice(1))));
    window.addEventListener("hashchange", () => show(location.hash.slice(1)));
    show(location.hash.slice(1));
    if (button) {
      const every = () => parts.every((part) => part.open);
      const name = () => { button.textContent = every() ? "Close all sections" : "Open all sections"; };
      button.hidden = false;
      button.addEventListener("click", () => { const open = !every(); parts.forEach((part) => { part.open = open; }); name(); });
      parts.forEach((part) => part.addEventListener("toggle", name));
    }
    let closed = [];
    window.addEventListener("beforeprint", () => {
      closed = parts.filter((part) => !part.open);
      closed.forEach((part) => { part.open = true; });
    });
    window.addEventListener("afterprint", () => { closed.forEach((part) => { part.open = false; }); });
  };

  // ---- commands to copy
  const copies = () => all("button.copy").forEach((button) => {
    const code = button.previousElementSibling;
    button.hidden = false;
    button.setAttribute("aria-label", `Copy ${code.textContent}`);
    button.addEventListener("click", async () => {
      try { await navigator.clipboard.writeText(code.textContent); button.textContent = "Copied"; } catch {
        getSelection().selectAllChildren(code); // where a page may not write to the clipboard
        button.textContent = "Selected";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
  });

  theme();
  contents();
  folds();
  copies();
  all("table.sortable").forEach(sortable);
  document.addEventListener("pointerdown", (event) => { if (!event.target.closest("figure.chart svg")) tip.hidden = true; });
  all("figure.chart").forEach(chart);
  all(".costs").forEach(weigh);
  all(".rows").forEach(explore);
})();
