// Text from models and names from studies become text nodes here, and nowhere else.

const STEERING = { pattern: null };

/** The visible escape of one character, written as Python writes it. */
function escaped(char) {
  const named = { "\n": "\\n", "\r": "\\r", "\t": "\\t" }[char];
  if (named) return named;
  const code = char.codePointAt(0);
  const [letter, width] = code > 0xffff ? ["U", 8] : code > 0xff ? ["u", 4] : ["x", 2];
  return `\\${letter}${code.toString(16).padStart(width, "0")}`;
}

/** A name on one line, for attributes and headings. */
function plain(text) {
  return String(text).replace(STEERING.pattern, escaped);
}

/** Nodes of a text: line breaks and tabs stay, what else steers is shown. */
function textNodes(text) {
  const nodes = [];
  let start = 0;
  for (const match of text.matchAll(STEERING.pattern)) {
    if (match[0] === "\n" || match[0] === "\t") continue;
    if (match.index > start) nodes.push(text.slice(start, match.index));
    nodes.push(element("span", { class: "tx-escape" }, escaped(match[0])));
    start = match.index + match[0].length;
  }
  if (start < text.length) nodes.push(text.slice(start));
  return nodes;
}

/** How many characters of a text are shown as escapes. */
function steeringIn(text) {
  return [...(text || "").matchAll(STEERING.pattern)].filter(([c]) => c !== "\n" && c !== "\t").length;
}

/** An element. Strings among the children become text, never mark-up. */
function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value !== null && value !== undefined && value !== false) {
      made.setAttribute(name, value === true ? "" : value);
    }
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return made;
}

function channelName(id) {
  const words = plain(id).replaceAll("_", " ");
  if (id === "off_record") return "Off the record";
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function channelWords(id) {
  return id === "off_record" ? "off the record" : inWords(id);
}

function inWords(id) {
  return plain(id).replaceAll("_", " ");
}

function count(number, one, many) {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many || `${one}s`}`;
}

/** What finds a text in another, case aside. */
function finder(query) {
  return new RegExp(query.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), "giu");
}

/** Mark a text wherever it is shown below an element; what folds it away is opened. */
function markHits(root, query) {
  if (!query) return;
  for (const box of root.querySelectorAll(".tx-text, .tx-label")) {
    const walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
    const nodes = [];
    let whole = "";
    while (walker.nextNode()) {
      nodes.push([whole.length, walker.currentNode]);
      whole += walker.currentNode.data;
    }
    const hits = [...whole.matchAll(finder(query))].reverse();
    for (const [start, node] of nodes) {
      for (const hit of hits) {
        const from = Math.max(hit.index - start, 0);
        const to = Math.min(hit.index + hit[0].length - start, node.data.length);
        if (from >= to) continue;
        const part = node.splitText(from);
        part.splitText(to - from);
        const made = element("mark", { class: "tx-hit" });
        part.replaceWith(made);
        made.append(part);
      }
    }
    if (!hits.length) continue;
    for (let fold = box.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  }
}

const TOKEN = /[\p{L}\p{N}\p{M}]+(?:['’_-][\p{L}\p{N}\p{M}]+)*/gu;
const LARGEST_TABLE = 4_000_000;

/**
 * The ranges of each text whose words the other lacks at that place: a longest common
 * subsequence of words, case aside. Null where the texts are too long to compare.
 */
function wordDifferences(left, right) {
  const sides = [left, right].map((text) => [...text.matchAll(TOKEN)]);
  const words = sides.map((side) => side.map((match) => match[0].toLowerCase()));
  const [rows, columns] = words.map((list) => list.length);
  if (rows * columns > LARGEST_TABLE) return null;
  const width = columns + 1;
  const best = new Uint16Array((rows + 1) * width);
  for (let i = rows - 1; i >= 0; i--) {
    for (let j = columns - 1; j >= 0; j--) {
      best[i * width + j] =
        words[0][i] === words[1][j]
          ? best[(i + 1) * width + j + 1] + 1
          : Math.max(best[(i + 1) * width + j], best[i * width + j + 1]);
    }
  }
  const differs = words.map((list) => list.map(() => true));
  for (let i = 0, j = 0; i < rows && j < columns; ) {
    if (words[0][i] === words[1][j]) {
      differs[0][i++] = differs[1][j++] = false;
    } else if (best[(i + 1) * width + j] >= best[i * width + j + 1]) i++;
    else j++;
  }
  return sides.map((side, which) => ranges(side, differs[which]));
}

/** Neighbouring differing words as one range, so that marks do not flicker. */
function ranges(tokens, differs) {
  const found = [];
  tokens.forEach((token, i) => {
    if (!differs[i]) return;
    const end = token.index + token[0].length;
    if (i > 0 && differs[i - 1]) found[found.length - 1][1] = end;
    else found.push([token.index, end]);
  });
  return found;
}

/** A text's nodes with some ranges marked. */
function markedNodes(text, marks) {
  const nodes = [];
  let start = 0;
  for (const [from, to] of marks || []) {
    nodes.push(...textNodes(text.slice(start, from)));
    nodes.push(element("mark", {}, ...textNodes(text.slice(from, to))));
    start = to;
  }
  nodes.push(...textNodes(text.slice(start)));
  return nodes;
}
