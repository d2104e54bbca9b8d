// Draws the figures when they come into view, in the variables of the page's style, so
// that they follow its theme. Specifications are embedded with `ast: true`: they are
// interpreted, never evaluated.
(() => {
  "use strict";
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const figures = read("figures");
  const look = read("look");
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const drawn = new Set();

  // Room for a figure that is not drawn yet, so that drawing it moves nothing below.
  const AROUND = 104; // pixels of title, axis and legend around a panel
  const GAP = 22;
  function reserve(holder) {
    const specs = figures[holder.dataset.figure];
    const columns = getComputedStyle(holder).gridTemplateColumns.split(" ").length;
    let height = 0;
    for (let at = 0; at < specs.length; at += columns) {
      const row = specs.slice(at, at + columns).map((spec) => spec.height + AROUND);
      height += Math.max(...row) + (at ? GAP : 0);
    }
    holder.style.minHeight = `${height}px`;
  }

  async function draw(holder) {
    drawn.add(holder);
    for (const spec of figures[holder.dataset.figure]) {
      const panel = document.createElement("div");
      panel.className = "panel";
      panel.ariaHidden = "true"; // the figure's text alternative stands for all panels
      holder.append(panel);
      await vegaEmbed(panel, spec, {
        ast: true,
        actions: false,
        renderer: "svg",
        defaultStyle: false,
        config: look,
        tooltip: { disableDefaultStyle: true },
      });
    }
    holder.style.minHeight = "0";
  }

  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting && !drawn.has(entry.target)) draw(entry.target);
    }
  }, { rootMargin: "400px" });
  const holders = [...document.querySelectorAll("[data-figure]")];
  holders.forEach(reserve);
  holders.forEach((holder) => seen.observe(holder));

  document.getElementById("theme").addEventListener("click", () => {
    const now = root.dataset.theme || (dark.matches ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
  });

  // Those out of view are drawn while nothing else happens, so that paper has them too.
  const idle = window.requestIdleCallback || ((work) => setTimeout(work, 200));
  function drawNext() {
    const next = holders.find((holder) => !drawn.has(holder) && holder.offsetParent);
    if (next) draw(next).then(() => idle(drawNext));
  }
  idle(drawNext);
  addEventListener("beforeprint", drawNext);

  /** The rows that a figure draws, as a table; made when it is opened. */
  function tabulate(details) {
    const rows = figures[details.dataset.of].flatMap((spec) =>
      spec.data.values.map((row) => ({ panel: spec.title.text, ...row })));
    const names = [...new Set(rows.flatMap(Object.keys))];
    const shown = (value) =>
      typeof value === "number" ? Number(value.toFixed(3)).toLocaleString("en") : value ?? "–";
    const table = document.createElement("table");
    const fill = (line, tag, texts) => {
      for (const text of texts) line.appendChild(document.createElement(tag)).textContent = text;
    };
    fill(table.createTHead().insertRow(), "th", names);
    const body = table.createTBody();
    for (const row of rows) fill(body.insertRow(), "td", names.map((name) => shown(row[name])));
    const scroll = document.createElement("div");
    scroll.className = "scroll";
    scroll.tabIndex = 0;
    scroll.append(table);
    details.append(scroll);
  }
  for (const details of document.querySelectorAll("details.data")) {
    details.addEventListener("toggle", () => tabulate(details), { once: true });
  }

  // A table that is wider than its room says so, and can be reached by keyboard.
  const widths = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const wide = target.scrollWidth > target.clientWidth + 1;
      target.previousElementSibling.hidden = !wide;
      target.classList.toggle("wide", wide);
      const name = target.querySelector("table").getAttribute("aria-label");
      const reached = { tabindex: 0, role: "region", "aria-label": name };
      for (const [attribute, value] of Object.entries(reached)) {
        if (wide) target.setAttribute(attribute, value);
        else target.removeAttribute(attribute);
      }
    }
  });
  document.querySelectorAll(".cue + .scroll").forEach((scroll) => widths.observe(scroll));

  const links = new Map(
    [...document.querySelectorAll("nav a")].map((link) => [link.hash.slice(1), link]),
  );
  const current = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      for (const link of links.values()) link.removeAttribute("aria-current");
      links.get(entry.target.id)?.setAttribute("aria-current", "true");
    }
  }, { rootMargin: "-20% 0px -70% 0px" });
  document.querySelectorAll("main > section").forEach((section) => current.observe(section));
})();
