// The list of runs: a page at a time, each with a strip of its turns.

const PAGE = 25;
const list = { runs: [], page: 0 };

/** A square: left half public, right half the other channel, filled if on the side. */
function mark(letter) {
  return element("span", { class: `tx-mark tx-mark-${letter}`, "aria-hidden": "true" });
}

/** One mark per turn, agent by agent and, where there are several, channel by channel. */
function strip(run) {
  const { agents, rounds, channels, marks } = store.index;
  const others = channels.slice(1);
  const names = Object.fromEntries(quadrantNames());
  const spoken = [];
  const groups = agents.flatMap((agent, a) => others.map((channel, c) => {
    const letters = Array.from({ length: rounds }, (_, round) =>
      marks[run][(round * agents.length + a) * others.length + c]);
    const title = others.length > 1 ? `${plain(agent)}, ${channelWords(channel)}` : plain(agent);
    spoken.push(`${title}: ${letters.map((letter) => names[letter].toLowerCase()).join(", ")}`);
    return element("span", { class: "tx-strip-agent" },
      element("span", { class: "tx-strip-name", "aria-hidden": "true" }, title), letters.map(mark));
  }));
  return element("span", { class: "tx-strip", role: "img", "aria-label": spoken.join(". ") }, groups);
}

function runName(run) {
  const { facets, cells } = store.index;
  return Object.values(facets).map((values, i) => values[cells[run][i]] ?? "none").map(plain);
}

function repeatName(run) {
  const repeat = store.index.repeats[run];
  return repeat === null ? "" : `run ${repeat}`;
}

function runLink(run, turn) {
  const place = new URLSearchParams({ run: store.index.ids[run], ...(turn ? { turn } : {}) });
  return `#${[place, wantedNow()].filter((part) => part.size).join("&")}`;
}

function row(run) {
  const varies = Object.values(store.index.facets).map((values) => values.length > 1);
  const [model, ...rest] = runName(run).filter((_, i) => i === 0 || varies[i]);
  const tried = store.index.attempts[run];
  return element("li", {},
    element("a", { class: "tx-run", href: runLink(run), "data-run": run },
      element("span", { class: "tx-model", title: model }, model),
      rest.map((name) => element("span", { class: "tx-part", title: name }, name)),
      element("span", { class: "tx-repeat" }, repeatName(run),
        tried > 1 ? element("span", { class: "tx-tried" }, count(tried, "attempt")) : null),
      strip(run)));
}

function drawList() {
  const { runs, turns, quadrants } = matches();
  const { index } = store;
  list.runs = runs;
  list.page = Math.min(list.page, Math.max(0, Math.ceil(runs.length / PAGE) - 1));
  const all = index.ids.length * index.rounds * index.agents.length;
  document.getElementById("tx-count").textContent =
    `${runs.length.toLocaleString("en")} of ${count(index.ids.length, "run")}, ` +
    `${turns.toLocaleString("en")} of ${count(all, "turn")}`;
  for (const button of document.querySelectorAll("#tx-quadrants button")) {
    button.lastChild.textContent = quadrants[button.dataset.quadrant].toLocaleString("en");
  }
  drawPage();
}

function drawPage() {
  const { runs, page } = list;
  const first = page * PAGE;
  const last = Math.min(runs.length, first + PAGE);
  const rows = runs.slice(first, last).map(row);
  const none = element("li", { class: "tx-none" }, "No run matches. Clear a filter to see more.");
  const parts = Object.values(store.index.facets).slice(1).filter((values) => values.length > 1);
  document.getElementById("tx-runs").style.setProperty("--tx-names", 1 + parts.length);
  document.getElementById("tx-runs").replaceChildren(...(rows.length ? rows : [none]));
  document.getElementById("tx-pages").hidden = runs.length <= PAGE;
  document.getElementById("tx-page").textContent = `Runs ${first + 1} to ${last} of ${runs.length.toLocaleString("en")}`;
  document.getElementById("tx-back").disabled = page === 0;
  document.getElementById("tx-more").disabled = last >= runs.length;
}

function turnPage(step) {
  list.page += step;
  drawPage();
  document.getElementById("tx-count").scrollIntoView({ block: "nearest" });
}

/** Bring a run's row onto the page and give it the focus. */
function focusRun(run) {
  const place = list.runs.indexOf(run);
  if (place >= 0 && Math.floor(place / PAGE) !== list.page) {
    list.page = Math.floor(place / PAGE);
    drawPage();
  }
  const link = document.querySelector(`#tx-runs [data-run="${run}"]`);
  (link || document.getElementById("tx-count")).focus();
}

/** Arrow keys and j and k walk through the rows. */
function walkRows(event) {
  const step = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[event.key];
  const link = event.target.closest(".tx-run");
  if (!step || !link || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  const next = list.runs[list.runs.indexOf(Number(link.dataset.run)) + step];
  if (next !== undefined) focusRun(next);
}
