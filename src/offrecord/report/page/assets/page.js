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
  }

  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting && drawn.get(entry.target) !== theme()) draw(entry.target);
    }
  }, { rootMargin: "400px" });
  const holders = [...document.querySelectorAll("[data-figure]")];
  holders.forEach((holder) => seen.observe(holder));

  function redraw() {
    for (const holder of holders) if (drawn.has(holder)) draw(holder);
  }
  dark.addEventListener("change", redraw);
  document.getElementById("theme").addEventListener("click", () => {
    root.dataset.theme = theme() === "dark" ? "light" : "dark";
    redraw();
  });

  addEventListener("beforeprint", () => {
    for (const holder of holders) if (!drawn.has(holder)) draw(holder);
  });

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
