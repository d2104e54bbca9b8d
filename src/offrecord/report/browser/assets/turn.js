// One turn: its channels side by side, its surveys, and what was measured.

/** What is said beside the label: its own text, or the end of the reply. */
function bodyOf(output) {
  const { text, body } = output;
  return typeof body === "number" ? text.slice(text.length - body) : body || "";
}

function badge(output) {
  const status = output.status || output.came_back;
  const repairs = output.repairs ? ` (${output.repairs.map(inWords).join(", ")})` : "";
  const cut = output.came_back !== "ok" && output.came_back !== status ? `, came back ${inWords(output.came_back)}` : "";
  return element("span", { class: `tx-status${status === "ok" ? "" : " tx-status-odd"}` },
    `${inWords(status)}${repairs}${cut}`);
}

function valuesLine(values) {
  if (!values) return null;
  return element("dl", { class: "tx-values" }, values.map(([name, value]) =>
    element("div", {}, element("dt", {}, plain(name)), element("dd", {}, plain(value)))));
}

/** Names, each with what it means. */
function meanings(pairs) {
  return element("dl", { class: "tx-meanings" }, pairs.map(([name, meaning]) =>
    [element("dt", {}, plain(name)), element("dd", {}, plain(meaning))]));
}

function folded(summary, ...children) {
  return element("details", { class: "tx-folded" }, element("summary", {}, summary), children);
}

/** What was said: the raw reply as stored, or its parsed body. */
function said(output, raw, marks) {
  if (raw || output.form !== "utterance") {
    if (!output.text) return element("p", { class: "tx-nothing" }, `No text: ${inWords(output.came_back)}`);
    return element("div", { class: raw ? "tx-text tx-raw" : "tx-text", dir: "auto" }, textNodes(output.text));
  }
  const body = bodyOf(output);
  if (!body) {
    return element("p", { class: "tx-nothing" }, output.text ? "Nothing beside the label" : `No text: ${inWords(output.came_back)}`);
  }
  return element("div", { class: "tx-text", dir: "auto" }, markedNodes(body, marks));
}

function outputHead(output) {
  const label = output.label
    ? element("strong", { class: "tx-label" }, plain(output.label))
    : element("span", { class: "tx-label tx-label-none" }, output.form === "utterance" ? "no stance" : null);
  return element("div", { class: "tx-output-head" }, label, badge(output));
}

function metaLine(output) {
  const meta = Object.entries(output.meta || {}).filter(([name, value]) => name !== "transport_retries" || value);
  const rule = output.rule ? [["stance rule", output.rule]] : [];
  const parts = [...rule, ...meta].map(([name, value]) => `${inWords(name)} ${plain(value)}`);
  return parts.length ? element("p", { class: "tx-meta" }, parts.join(" · ")) : null;
}

/** What the parsed form leaves out, since nobody would see it. */
function hiddenNote(output) {
  const hidden = steeringIn(output.text) - steeringIn(bodyOf(output));
  if (output.form !== "utterance" || hidden <= 0) return null;
  return element("p", { class: "tx-meta tx-hidden" }, `${count(hidden, "control or invisible character")} taken out: see the raw reply`);
}

function thinking(title, text) {
  return text ? folded(title, element("div", { class: "tx-text tx-raw", dir: "auto" }, textNodes(text))) : null;
}

function outputView(output, view, marks) {
  return [
    outputHead(output),
    said(output, view.raw, view.marks ? marks : null),
    view.raw ? null : hiddenNote(output),
    thinking("Reasoning", output.reasoning),
    thinking("Thinking within the reply", view.raw ? null : output.thought),
    valuesLine(output.values),
    view.raw ? metaLine(output) : null,
  ];
}

/** A channel at one turn: what was said, and its further draws below. */
function channelCard(channel, outputs, view, marks, absent) {
  const spoken = channel === store.index.channels[0];
  const [first, ...rest] = outputs;
  const shadows = rest.filter((output) => output.form === first.form && output.draw > 0);
  const others = rest.filter((output) => !shadows.includes(output));
  const heard = first?.audience && (first.audience.map(plain).join(", ") || "no one");
  return element("div", { class: `tx-card ${spoken ? "tx-card-public" : "tx-card-other"}` },
    element("div", { class: "tx-card-head" },
      element("h4", {}, channelName(channel)), element("span", { class: "tx-audience" }, heard ? `heard by ${heard}` : "")),
    first ? outputView(first, view, marks) : element("p", { class: "tx-nothing" }, absent),
    others.map((output) => outputView(output, view, null)),
    shadows.length
      ? folded(count(shadows.length, "further draw"), shadows.map((output) =>
        element("div", { class: "tx-shadow" }, outputView(output, view, null))))
      : null);
}

function pairLines(turn) {
  const many = store.index.channels.length > 2;
  return Object.entries(turn.pairs || {}).map(([channel, values]) =>
    element("div", { class: "tx-pair" },
      many ? element("span", { class: "tx-pair-name" }, `Public and ${channelWords(channel)}`) : null,
      valuesLine(values)));
}

/** Each item with its answer in every channel; those that differ are marked. */
function surveyGrid(surveys) {
  const items = surveys.find((survey) => survey.items)?.items || [];
  const answer = (survey, i) => survey.answers?.[survey.items?.indexOf(items[i])] ?? null;
  let differing = 0;
  let compared = 0;
  const cells = items.map((item, i) => {
    const given = surveys.map((survey) => answer(survey, i));
    const known = given.filter((value) => value !== null);
    const differs = new Set(known).size > 1;
    if (known.length > 1) compared++;
    if (differs) differing++;
    const words = surveys.map((survey, s) => `${channelWords(survey.channel)} ${given[s] ?? "missing"}`).join(", ");
    const asked = Object.hasOwn(store.index.items, item) ? plain(store.index.items[item]) : null;
    return element("li", { class: differs ? "tx-item tx-item-differs" : "tx-item", "aria-label": `${asked || plain(item)}: ${words}${differs ? ", differs" : ""}` },
      element("span", { class: "tx-item-name" }, plain(item)),
      given.map((value) => element("span", {}, value === null ? "–" : String(value).replace("-", "−"))));
  });
  const names = element("li", { class: "tx-item tx-item-names", "aria-hidden": "true" },
    element("span", { class: "tx-item-name" }, "item"),
    surveys.map((survey) => element("span", {}, channelName(survey.channel))));
  const told = surveys.length > 1 ? `${differing} of ${count(compared, "answer")} differ` : "one channel alone";
  return { grid: element("ol", { class: "tx-items" }, names, cells), told };
}

function surveyBlock(turn, view) {
  const surveys = turn.outputs.filter((output) => output.form === "survey");
  if (!surveys.length) return null;
  const scales = store.index.scales.map(([low, high]) => `scale ${low} to ${high}`.replace("-", "−"));
  const { grid, told } = surveyGrid(surveys);
  const odd = surveys.filter((survey) => (survey.status || survey.came_back) !== "ok");
  return element("div", { class: "tx-survey" },
    element("p", { class: "tx-survey-head" }, element("strong", {}, "Survey"), ` ${told}`,
      element("span", { class: "tx-audience" }, scales.length === 1 ? scales[0] : ""),
      odd.map((survey) => element("span", {}, `${channelName(survey.channel)}: `, badge(survey)))),
    view.raw
      ? element("div", { class: "tx-channels" }, surveys.map((survey) => element("div", {},
        element("div", { class: "tx-card-head" }, element("h4", {}, channelName(survey.channel)), badge(survey)),
        element("div", { class: "tx-text tx-raw", dir: "auto" }, textNodes(survey.text || "")))))
      : grid);
}

/** The mark of a turn in one of the other channels; none of a turn out of the schedule. */
function markOf(run, turn, channel) {
  const { channels, marks } = store.index;
  const slot = slotOf(turn);
  return slot < 0 ? undefined : marks[run][slot * (channels.length - 1) + channels.indexOf(channel) - 1];
}

function quadrantBadges(run, turn) {
  const others = store.index.channels.slice(1);
  return others.flatMap((channel) => {
    const found = quadrantNames().find(([l]) => l === markOf(run, turn, channel));
    if (!found || found[0] === "-") return [];
    const [letter, name] = found;
    const which = others.length > 1 ? `${channelWords(channel)}: ` : "";
    return element("span", { class: "tx-verdict" }, mark(letter), `${which}${name}`);
  });
}

/** One turn of the debate. */
function turnView(run, turn, view, absent) {
  const { channels } = store.index;
  const spoken = turn.outputs.filter((output) => output.form !== "survey");
  const present = spoken.map((output) => output.channel);
  const asked = channels.filter((channel, i) => !i || markOf(run, turn, channel) !== "-");
  const shown = [...new Set([...asked, ...present])];
  const of = (channel) => spoken.filter((output) => output.channel === channel);
  const body = (channel) => of(channel).slice(0, 1).map(bodyOf).join("");
  const marks = shown.slice(1).map((channel) =>
    body(shown[0]) && body(channel) ? wordDifferences(body(shown[0]), body(channel)) : null);
  const name = `${turn.agent}-${turn.round}`;
  const title = `Round ${turn.round}, ${plain(turn.agent)}`;
  return element("article", { class: "tx-turn", "data-turn": name, tabindex: "-1", "aria-label": title },
    element("header", { class: "tx-turn-head" },
      element("h3", {}, element("a", { href: runLink(run, name), title: "Link to this turn" }, title)),
      sides(turn),
      quadrantBadges(run, turn)),
    element("div", { class: "tx-channels" }, shown.map((channel, i) =>
      channelCard(channel, of(channel), view, i ? marks[i - 1]?.[1] : marks[0]?.[0], absent))),
    pairLines(turn),
    surveyBlock(turn, view));
}

function sides(turn) {
  const own = turn.side ? `, own side ${plain(turn.side)}` : "";
  return element("span", { class: "tx-side" }, `${plain(turn.role || "")}${own}`);
}

/** What agents were asked before or after the debate, side by side. */
function asideView(run, turns, view) {
  const title = turns[0].round < 1 ? "Before the debate" : "After the debate";
  const cards = turns.flatMap((turn) => turn.outputs.map((output) =>
    element("div", { class: "tx-card" },
      element("div", { class: "tx-card-head" },
        element("h4", {}, `${plain(turn.agent)}, ${inWords(output.channel)}`), badge(output)),
      said(output, view.raw, null),
      valuesLine(output.values))));
  const name = `${turns[0].agent}-${turns[0].round}`;
  return element("article", { class: "tx-turn", "data-turn": name, tabindex: "-1", "aria-label": title },
    element("header", { class: "tx-turn-head" }, element("h3", {},
      element("a", { href: runLink(run, name), title: "Link to this part" }, title))),
    element("div", { class: "tx-channels" }, cards));
}

/** All turns of a run, in order. */
function turnViews(run, turns, view, absent) {
  const views = [];
  for (let i = 0; i < turns.length; i++) {
    if (slotOf(turns[i]) >= 0) {
      views.push(turnView(run, turns[i], view, absent));
      continue;
    }
    const aside = turns.slice(i).filter((turn) => turn.turn === turns[i].turn);
    views.push(asideView(run, aside, view));
    i += aside.length - 1;
  }
  return views;
}
