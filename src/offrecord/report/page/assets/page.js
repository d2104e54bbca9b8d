// Draws the figures when they come into view, in the theme of the page.
// Specifications are embedded with `ast: true`: they are interpreted, never evaluated.
(() => {
  "use strict";
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const figures = read("figures");
  const themes = read("themes");
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const theme = () => root.dataset.theme || (dark.matches ? "dark" : "light");
  const drawn = new Map();

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
    const specs = figures[holder.dataset.figure];
    const name = theme();
    drawn.set(holder, name);
    const old = holder.views || [];
    const panels = [];
    holder.views = [];
    for (const spec of specs) {
      const panel = document.createElement("div");
      panel.className = "panel";
      panels.push(panel);
    }
    holder.replaceChildren(...panels);
    for (const view of old) view.finalize();
    for (const [at, spec] of specs.entries()) {
      const result = await vegaEmbed(panels[at], spec, {
        ast: true,
        actions: false,
        renderer: "canvas",
        defaultStyle: false,
        config: themes[name],
        tooltip: { disableDefaultStyle: true },
      });
      holder.views.push(result);
    }
    holder.style.minHeight = "0";
  }

  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting && drawn.get(entry.target) !== theme()) draw(entry.target);
    }
  }, { rootMargin: "400px" });
  const holders = [...document.querySelectorAll("[data-figure]")];
  holders.forEach(reserve);
  holders.forEach((holder) => seen.observe(holder));

  function redraw() {
    for (const holder of holders) if (drawn.has(holder)) draw(holder);
  }
  dark.addEventListener("change", redraw);
  document.getElementById("theme").addEventListener("click", () => {
    root.dataset.theme = theme() === "dark" ? "light" : "dark";
    redraw();
  });

  // Those out of view are drawn while nothing else happens, so that paper has them too.
  const idle = window.requestIdleCallback || ((work) => setTimeout(work, 200));
  function drawNext() {
    const next = holders.find((holder) => !drawn.has(holder) && holder.offsetParent);
    if (next) draw(next).then(() => idle(drawNext));
  }
  idle(drawNext);
  addEventListener("beforeprint", drawNext);

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
