// What is asked for, and which runs and turns answer to it.

/** Letter, name and meaning of each; names that fit every role. */
function quadrantNames() {
  const others = store.index.channels.slice(1);
  const other = others.length === 1 && others[0] === "off_record" ? "Off record" : "Other";
  return [
    ["B", "Both", "both stances are on the pressed side"],
    ["N", "Neither", "neither stance is on the pressed side"],
    ["A", "Public only", "only the public stance is on the pressed side; accommodating, in the target’s turns"],
    ["R", `${other} only`, "only the other stance is on the pressed side; reversing, in the target’s turns"],
    ["M", "Missing", "one stance or both are missing"],
    ["-", "Not asked", "the agent was not asked in both channels"],
  ];
}
const wanted = { facets: {}, agent: "", status: "", quadrants: new Set(), text: "", hits: null };

/** What is wanted, as it stands in the address; what is not asked for is left out. */
function wantedNow() {
  const { facets, agent, status, quadrants, text } = wanted;
  const every = { ...facets, agent, status, quadrant: [...quadrants].join(""), text };
  return new URLSearchParams(Object.entries(every).filter(([, value]) => value !== ""));
}

function isFiltered() {
  return wantedNow().size > 0;
}

/** Keep what is wanted in the address, so that it can be sent and comes back. */
function keepWanted() {
  history.replaceState(null, "", `#${wantedNow().toString() || "transcripts"}`);
}

/** Runs in order with how many of their turns match, and turns by quadrant. */
function matches() {
  const { index } = store;
  const names = Object.keys(index.facets);
  const asked = names.map((name) => index.facets[name].findIndex((v) => String(v) === wanted.facets[name]));
  const status = index.statuses.indexOf(wanted.status);
  const agent = index.agents.indexOf(wanted.agent);
  const others = index.channels.length - 1;
  const byTurn = agent >= 0 || status >= 0 || wanted.quadrants.size > 0;
  const quadrants = Object.fromEntries(quadrantNames().map(([letter]) => [letter, 0]));
  const found = [];
  let turns = 0;
  for (let run = 0; run < index.ids.length; run++) {
    if (asked.some((value, i) => value >= 0 && index.cells[run][i] !== value)) continue;
    const hits = wanted.hits && wanted.hits.get(run);
    if (wanted.hits && !hits) continue;
    let here = 0;
    for (let slot = 0; slot < index.slots[run].length; slot++) {
      if (agent >= 0 && slot % index.agents.length !== agent) continue;
      if (status >= 0 && !index.sets[index.slots[run][slot]].includes(status)) continue;
      if (hits && !hits.has(slot)) continue;
      const marks = index.marks[run].slice(slot * others, (slot + 1) * others);
      for (const mark of new Set(marks)) quadrants[mark]++;
      if (wanted.quadrants.size && ![...marks].some((m) => wanted.quadrants.has(m))) continue;
      here++;
    }
    if (here || !byTurn) found.push(run);
    turns += here;
  }
  return { runs: found, turns, quadrants };
}

function labelled(label, control, kind) {
  return element("div", { class: `tx-field ${kind}` }, element("label", { for: control.id }, label), control);
}

function select(name, values, shown, onChange) {
  const choices = values.map((value) => element("option", { value }, shown(value)));
  const field = element("select", { id: `tx-by-${plain(name)}` }, element("option", { value: "" }, "All"), choices);
  field.addEventListener("change", () => onChange(field.value));
  const made = labelled(inWords(name), field, "tx-select");
  made.dataset.name = name;
  return made;
}

/** The controls; one whose every choice is the same is left out. */
function drawFilters(changed) {
  const { index } = store;
  const fields = document.getElementById("tx-facets");
  const add = (name, values, set, shown = plain) => {
    if (values.length < 2) return;
    fields.append(select(name, values, shown, (value) => { set(value); changed(); }));
  };
  for (const [name, values] of Object.entries(index.facets)) {
    wanted.facets[name] = "";
    add(name, values.map(String), (value) => { wanted.facets[name] = value; });
  }
  add("agent", index.agents, (value) => { wanted.agent = value; });
  add("status", index.statuses, (value) => { wanted.status = value; }, inWords);
  fields.append(searchField(changed));
  const group = document.getElementById("tx-quadrants");
  const unasked = index.marks.some((marks) => marks.includes("-"));
  const quadrants = index.channels.length > 1 ? quadrantNames() : [];
  const asked = quadrants.filter(([letter]) => letter !== "-" || unasked);
  for (const [letter, name] of asked) {
    const button = element(
      "button",
      { type: "button", class: "tx-quadrant", "aria-pressed": "false", "data-quadrant": letter },
      mark(letter), element("span", {}, name), element("span", { class: "tx-number" }),
    );
    button.addEventListener("click", () => {
      if (!wanted.quadrants.delete(letter)) wanted.quadrants.add(letter);
      changed();
    });
    group.append(button);
  }
  if (asked.length) group.after(folded("What the squares mean", meanings(asked.map(([, name, meaning]) => [name, meaning]))));
  document.getElementById("tx-filters").hidden = false;
  document.getElementById("tx-filters").addEventListener("submit", (e) => e.preventDefault());
}

function searchField(changed) {
  const field = element("input", { type: "search", id: "tx-text", placeholder: "in any reply", autocomplete: "off" });
  let timer = 0;
  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => { wanted.text = field.value.trim(); keepWanted(); lookUp(changed); }, 200);
  });
  return labelled("text", field, "tx-search");
}

/** Start the search for the text that is wanted; a newer one ends it. */
function lookUp(changed) {
  const note = document.getElementById("tx-progress");
  const query = wanted.text;
  note.textContent = "";
  wanted.hits = query ? new Map() : null;
  changed();
  if (!query) return;
  let told = 0;
  searchTexts(query, (share, hits) => {
    if (query !== wanted.text) return false;
    const done = share === 1;
    if (!done && performance.now() - told < 200) return true;
    told = performance.now();
    wanted.hits = hits;
    note.textContent = done ? "" : `Searching all replies: ${Math.round(share * 100)} %`;
    redraw();
    return true;
  });
}

/** Show in the controls what is wanted. */
function showWanted() {
  for (const field of document.querySelectorAll("#tx-facets [data-name]")) {
    const { name } = field.dataset;
    field.querySelector("select").value = name in wanted.facets ? wanted.facets[name] : wanted[name];
  }
  for (const button of document.querySelectorAll("#tx-quadrants button")) {
    button.setAttribute("aria-pressed", String(wanted.quadrants.has(button.dataset.quadrant)));
  }
  document.getElementById("tx-reset").hidden = !isFiltered();
}

/** Take what is wanted out of a link such as `#model=M&quadrant=A`. */
function wantFrom(parameters) {
  for (const name of Object.keys(wanted.facets)) wanted.facets[name] = parameters.get(name) || "";
  wanted.agent = parameters.get("agent") || "";
  wanted.status = parameters.get("status") || "";
  wanted.quadrants = new Set(parameters.get("quadrant") || "");
  wanted.text = parameters.get("text") || "";
  document.getElementById("tx-text").value = wanted.text;
}
