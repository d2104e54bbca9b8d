// The reader: one run, over the page, from its first turn to why it ended.

const reader = { run: null, record: null, raw: false, marks: true, opener: null };

function readerRoot() {
  return document.getElementById("tx-reader");
}

function control(text, label, action, attributes) {
  const button = element("button", { type: "button", class: "tx-button", "aria-label": label, title: label, ...attributes }, text);
  button.addEventListener("click", action);
  return button;
}

function toggle(text, name, disabled) {
  const box = element("input", { type: "checkbox", "data-view": name, disabled });
  box.checked = reader[name];
  box.addEventListener("change", () => {
    reader[name] = box.checked;
    inPlace(drawReader);
    readerRoot().querySelector(`[data-view="${name}"]`).focus();
  });
  return element("label", { class: "tx-toggle" }, box, text);
}

/** Redraw without moving the turn that is being read. */
function inPlace(redrawAll) {
  const root = readerRoot();
  const turns = () => [...root.querySelectorAll(".tx-turn")];
  const top = (turn) => turn.getBoundingClientRect().top;
  const bar = root.querySelector(".tx-bar").getBoundingClientRect().bottom;
  const place = turns().findIndex((turn) => turn.getBoundingClientRect().bottom > bar);
  const before = place >= 0 ? top(turns()[place]) : 0;
  redrawAll();
  if (place >= 0) root.scrollTop += top(turns()[place]) - before;
}

function readerBar() {
  const place = list.runs.indexOf(reader.run);
  const where = place >= 0 ? `${(place + 1).toLocaleString("en")} of ${list.runs.length.toLocaleString("en")}` : "not among the filtered runs";
  const copy = control("Copy link", "Copy the link to this run", () => copyLink(copy));
  return element("div", { class: "tx-bar" },
    control("‹", "Previous run (k)", () => step(-1), { disabled: place <= 0 }),
    control("›", "Next run (j)", () => step(1), { disabled: place < 0 || place + 1 >= list.runs.length }),
    element("span", { class: "tx-place" }, where),
    element("span", { class: "tx-space" }),
    toggle("Mark differing words", "marks", reader.raw),
    toggle("Raw replies", "raw", false),
    copy,
    control("Close", "Close this run (Escape)", closeReader, { class: "tx-button tx-close" }));
}

async function copyLink(button) {
  const { href } = window.location;
  try {
    await navigator.clipboard.writeText(href);
    button.textContent = "Copied";
  } catch {
    button.replaceWith(element("input", { class: "tx-link", readonly: true, value: href, "aria-label": "Link to this run" }));
    readerRoot().querySelector(".tx-link").select();
  }
}

/** Attempts at the run, and why each ended. */
function attemptsLine(record) {
  const asked = store.index.attempts[reader.run];
  const told = record.attempts.map(({ attempt, ended, outputs }) => {
    const number = asked > 1 ? `attempt ${attempt} ` : "";
    const shown = asked > 1 && attempt === record.shown ? " (shown here)" : "";
    return `${number}${ended ? `ended: ${inWords(ended)}` : "was interrupted"}, ${count(outputs, "output")}${shown}`;
  });
  return `${count(asked, "attempt")}${asked > 1 ? ": " : ", "}${told.join("; ")}`;
}

function readerTitle(record) {
  const [model, ...rest] = runName(reader.run);
  const source = [record.log, record.uuid].filter(Boolean).map(plain).join(" · ");
  return element("header", { class: "tx-title" },
    element("h2", { id: "tx-title", tabindex: "-1" }, model),
    element("p", { class: "tx-subtitle" }, [...rest, repeatName(reader.run)].filter(Boolean).join(" · ")),
    strip(reader.run),
    element("p", { class: "tx-meta" }, attemptsLine(record)),
    element("p", { class: "tx-meta" }, element("span", { class: "tx-code" }, plain(record.id)), source ? ` from ${source}` : ""),
    itemsInWords(record));
}

/** What the survey's items say, once for all turns. */
function itemsInWords(record) {
  const asked = new Set(record.turns.flatMap((turn) => turn.outputs.flatMap((output) => output.items || [])));
  const known = [...asked].filter((item) => Object.hasOwn(store.index.items, item));
  return known.length ? folded("Survey items in words", meanings(known.map((item) => [item, store.index.items[item]]))) : null;
}

/** The planned turns of which nothing is there. */
function unreached(record) {
  const { agents, rounds } = store.index;
  const there = new Set(record.turns.map(slotOf));
  const gone = [];
  for (let round = 1; round <= rounds; round++) {
    agents.forEach((agent, a) => {
      if (!there.has((round - 1) * agents.length + a)) gone.push(`${plain(agent)} ${round}`);
    });
  }
  return gone.length ? element("p", { class: "tx-note" }, `Turns without any output: ${gone.join(", ")}.`) : null;
}

/** What stands in place of an output that is not there. */
function absence(ended) {
  if (!ended) return "Nothing recorded: the run was interrupted";
  return ended === "completed" ? "Nothing recorded" : `Nothing recorded: the run ended, ${inWords(ended)}`;
}

function drawReader() {
  const { record, run } = reader;
  const shown = record.attempts.find(({ attempt }) => attempt === record.shown);
  const absent = absence(shown?.ended);
  readerRoot().replaceChildren(
    readerBar(),
    element("div", { class: "tx-page" },
      readerTitle(record),
      turnViews(run, record.turns, reader, absent),
      unreached(record)));
  markHits(readerRoot(), wanted.text);
}

/** The turn that is asked for, or else the first in which the search found something. */
function turnToShow(record, run, asked) {
  const turns = [...readerRoot().querySelectorAll(".tx-turn")];
  if (asked || !wanted.text) return turns.find((one) => one.dataset.turn === asked);
  const slots = wanted.hits?.get(run);
  const found = record.turns.find((turn) => slots?.has(slotOf(turn)));
  return readerRoot().querySelector(".tx-hit")?.closest(".tx-turn")
    || turns.find((one) => found && one.dataset.turn === `${found.agent}-${found.round}`);
}

/** Open a run and go to one of its turns. */
async function openReader(run, turn) {
  const root = readerRoot();
  const fresh = reader.run !== run || root.hidden;
  reader.run = run;
  const record = await readRun(run);
  if (reader.run !== run) return;
  reader.record = record;
  if (fresh) {
    if (root.hidden) reader.opener = document.activeElement;
    drawReader();
    root.hidden = false;
    root.scrollTop = 0;
    document.documentElement.classList.add("tx-reading");
    for (const other of document.body.children) other.inert = other !== root;
  }
  const target = fresh || turn ? turnToShow(record, run, turn) : null;
  for (const one of root.querySelectorAll(".tx-turn-linked")) one.classList.remove("tx-turn-linked");
  if (target) {
    target.classList.add("tx-turn-linked");
    const hit = turn ? null : target.querySelector(".tx-hit");
    if (hit) hit.scrollIntoView({ block: "center" });
    else target.scrollIntoView();
    target.focus({ preventScroll: true });
  } else if (fresh) {
    document.getElementById("tx-title").focus({ preventScroll: true });
  }
}

function hideReader() {
  const { run } = reader;
  if (readerRoot().hidden) return;
  readerRoot().hidden = true;
  readerRoot().replaceChildren();
  reader.run = reader.record = null;
  document.documentElement.classList.remove("tx-reading");
  for (const other of document.body.children) other.inert = false;
  const elsewhere = reader.opener?.closest("a, button") && !reader.opener.closest(".tx-run");
  if (elsewhere && reader.opener.isConnected) reader.opener.focus();
  else focusRun(run);
}

function closeReader() {
  keepWanted();
  hideReader();
}

/** Go to the next or the previous run of the list. */
function step(by) {
  const next = list.runs[list.runs.indexOf(reader.run) + by];
  if (next === undefined || !list.runs.includes(reader.run)) return;
  history.replaceState(null, "", runLink(next));
  openReader(next, null);
}

function readerKeys(event) {
  if (readerRoot().hidden || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") closeReader();
  else if (event.target.matches("input:not([type=checkbox]), select, textarea")) return;
  else if (event.key === "j" || event.key === "ArrowRight") step(1);
  else if (event.key === "k" || event.key === "ArrowLeft") step(-1);
  else return;
  event.preventDefault();
}
