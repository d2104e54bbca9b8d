// Start: unpack the index, draw the list, and follow the address.

async function follow() {
  const parameters = new URLSearchParams(window.location.hash.slice(1));
  const id = parameters.get("run");
  const known = [...Object.keys(wanted.facets), "agent", "status", "quadrant", "text"];
  const asked = known.filter((name) => parameters.has(name));
  const now = wantedNow();
  if (asked.some((name) => parameters.get(name) !== (now.get(name) || ""))) {
    wantFrom(parameters);
    lookUp(redraw);
  }
  if (id === null) {
    hideReader();
    if (asked.length) document.getElementById("transcripts").scrollIntoView();
    return;
  }
  const run = store.index.ids.indexOf(id);
  if (run >= 0) await openReader(run, parameters.get("turn"));
  else {
    hideReader();
    document.getElementById("tx-progress").textContent = `This page holds no run ${plain(id)}.`;
  }
}

function redraw() {
  showWanted();
  drawList();
}

function filtersChanged() {
  keepWanted();
  list.page = 0;
  redraw();
}

function clearFilters() {
  wantFrom(new URLSearchParams());
  keepWanted();
  list.page = 0;
  lookUp(redraw);
}

function tellHeld() {
  const { ids, total, unmeasured } = store.index;
  const bare = document.getElementById("tx-unmeasured");
  bare.hidden = !unmeasured.length;
  bare.textContent = `In no turn: ${unmeasured.map(plain).join("; ")}.`;
  if (ids.length === total) return;
  const note = document.getElementById("tx-held");
  note.hidden = false;
  note.textContent =
    `This page holds the texts of ${ids.length.toLocaleString("en")} of ${count(total, "run")}, ` +
    "the same share of every cell, chosen by a hash of their ids and not by what was said. " +
    "Tables and figures above count all runs.";
}

async function start() {
  if (!("DecompressionStream" in window)) {
    document.getElementById("tx-count").textContent = "This browser is too old to unpack the transcripts.";
    return;
  }
  await openStore();
  document.body.append(readerRoot());
  drawFilters(filtersChanged);
  tellHeld();
  redraw();
  document.getElementById("tx-reset").addEventListener("click", clearFilters);
  document.getElementById("tx-back").addEventListener("click", () => turnPage(-1));
  document.getElementById("tx-more").addEventListener("click", () => turnPage(1));
  document.getElementById("tx-runs").addEventListener("keydown", walkRows);
  document.addEventListener("keydown", readerKeys);
  window.addEventListener("hashchange", follow);
  await follow();
  document.documentElement.dataset.transcripts = "ready";
}

start();
