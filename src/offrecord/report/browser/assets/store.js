// The study's data: a small index, and chunks of runs that are unpacked on demand.

const KEPT_CHUNKS = 64; // some 16 MB of JSON
const store = { index: null, chunks: new Map(), first: [] };

async function unpacked(id) {
  const block = document.getElementById(id);
  const packed = atob(JSON.parse(block.textContent));
  const bytes = new Uint8Array(packed.length);
  for (let i = 0; i < packed.length; i++) bytes[i] = packed.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

async function openStore() {
  store.index = await unpacked("transcript-index");
  const categories = store.index.steering.map((name) => `\\p{${name}}`).join("");
  STEERING.pattern = new RegExp(`[${categories}]`, "gu");
  let first = 0;
  for (const size of store.index.chunks) {
    store.first.push(first);
    first += size;
  }
}

/** The runs of a chunk; those that were read last stay unpacked. */
async function chunk(number) {
  const known = store.chunks.get(number) || unpacked(`transcript-texts-${number}`);
  store.chunks.delete(number);
  store.chunks.set(number, known);
  if (store.chunks.size > KEPT_CHUNKS) {
    store.chunks.delete(store.chunks.keys().next().value);
  }
  return known;
}

async function readRun(place) {
  let number = store.first.length - 1;
  while (store.first[number] > place) number--;
  return (await chunk(number))[place - store.first[number]];
}

/** The slot of a turn in the index; -1 for an interview before or after the debate. */
function slotOf(turn) {
  const { agents, rounds } = store.index;
  const inside = turn.round >= 1 && turn.round <= rounds;
  return inside ? (turn.round - 1) * agents.length + agents.indexOf(turn.agent) : -1;
}

/**
 * Search all texts of all runs, chunk by chunk, leaving the page free in between.
 *
 * @param {string} query what to find, case aside
 * @param {(share: number, hits: Map<number, Set<number>>) => boolean} report is told
 *   the share that is done and the slots found per run; false stops the search
 */
async function searchTexts(query, report) {
  const pattern = finder(query);
  const hits = new Map();
  const chunks = store.index.chunks.length;
  const found = (output) =>
    [output.text, output.reasoning].some((text) => text && text.search(pattern) >= 0);
  for (let number = 0; number < chunks; number++) {
    const runs = await chunk(number);
    runs.forEach((run, i) => {
      const slots = run.turns.filter((turn) => turn.outputs.some(found)).map(slotOf);
      if (slots.length) hits.set(store.first[number] + i, new Set(slots));
    });
    if (!report((number + 1) / chunks, hits)) return;
    await new Promise((resume) => setTimeout(resume));
  }
}
