// Two or three sentences: the cosine of each word of the first with each of the others.

import { ask, barOf, element, examples, fill, word } from "./dom.js";
import { t } from "./korean.js";
import { drawLayers, layerOf } from "./layers.js";
import { change, state } from "./state.js";

const section = document.getElementById("compare");
const panel = document.getElementById("heat");
const NAMES = ["first", "second", "third"];
// Words that are compared by their numbers.
const MOST = 3;
const dark = matchMedia("(prefers-color-scheme: dark)");

export function startCompare() {
  section.querySelector("form").addEventListener("submit", (event) => {
    event.preventDefault();
    change(Object.fromEntries(NAMES.map((name) => [name, section.querySelector(`#${name}`).value])));
  });
  dark.addEventListener("change", () => change({}, { replace: true }));
}

export function renderCompare(model) {
  if (!state.first && !state.second && model.examples.pairs.length) {
    const [first, second, third = ""] = model.examples.pairs[0];
    change({ first, second, third }, { replace: true });
    return;
  }
  drawLayers(section.querySelector(".layers"), model.layers);
  pairs(section, model.examples.pairs, NAMES);
  const asked = ["second", "third"]
    .filter((name) => name === "second" || state[name])
    .map((name) => ({ model: state.model, first: state.first, second: state[name] }));
  const compared = () => Promise.all(asked.map((each) => ask("compare", each)));
  fill(panel, JSON.stringify(asked), compared, drawCompared);
}

// The inputs of sentences, and buttons for the examples.
export function pairs(place, given, names) {
  for (const name of names) {
    const input = place.querySelector(`#${name}`);
    if (document.activeElement !== input) input.value = state[name];
  }
  examples(place.querySelector(".examples"), given, (example) => {
    const button = element("button", { type: "button", dir: "auto", textContent: example.join(" ↔ ") });
    button.addEventListener("click", () => change(Object.fromEntries(names.map((name, k) => [name, example[k] ?? ""]))));
    return button;
  });
}

function drawCompared(body, compared) {
  const [two, three] = compared;
  const tables = [heatTable(two, t("Rows: the first sentence. Columns: the second."))];
  if (three) tables.push(heatTable(three, t("Rows: the first sentence. Columns: the third.")), shared(two, three));
  body.replaceChildren(...tables);
}

// Is a word of all three sentences nearer to the second or to the third?
function shared(two, three) {
  const folded = ({ first, second }) => [first, second].map((tokens) => tokens.map((token) => token.toLowerCase()));
  const [first, second] = folded(two);
  const [, third] = folded(three);
  const cosinesOf = ({ k, columns }, layer) => [two, three].map(({ layers }, n) => layers.at(layer)[k][columns[n]]);
  // By the top layer, so that the slider keeps the words.
  const gap = (row) => Math.abs(cosinesOf(row, -1)[0] - cosinesOf(row, -1)[1]);
  const rows = first
    .map((token, k) => ({ token, k, columns: [second.indexOf(token), third.indexOf(token)] }))
    .filter(({ token, columns, k }) => /\p{L}/u.test(token) && !columns.includes(-1) && first.indexOf(token) === k)
    .sort((one, other) => gap(other) - gap(one))
    .slice(0, MOST);
  const list = element("ul", { className: "shared" });
  for (const row of rows) {
    const item = element("li", {}, element("b", {}, word(two.first[row.k])));
    cosinesOf(row, layerOf(two.layers.length)).forEach((cosine, n) => {
      const name = n ? t("to the third") : t("to the second");
      item.append(...barOf(element("span", { textContent: name }), cosine, cosine.toFixed(2)));
    });
    list.append(item);
  }
  const none = t("No word stands in all three sentences.");
  const title = t("How near is a word of the first sentence?");
  return element("div", {}, element("h4", { textContent: title }), rows.length ? list : element("p", { className: "hint", textContent: none }));
}

function heatTable({ first, second, layers }, caption) {
  const cosines = layers[layerOf(layers.length)];
  const table = element("table", { className: "heat" });
  table.append(element("caption", { textContent: caption }));
  const head = element("tr", {}, element("td"));
  for (const each of second) head.append(element("th", { scope: "col" }, word(each)));
  table.append(element("thead", {}, head));
  const rows = element("tbody");
  first.forEach((each, k) => {
    const row = element("tr", {}, element("th", { scope: "row" }, word(each)));
    for (const cosine of cosines[k]) {
      const cell = element("td", { textContent: cosine.toFixed(2).replace("0.", ".") });
      const [background, ink] = heat(cosine);
      Object.assign(cell.style, { background, color: ink });
      row.append(cell);
    }
    rows.append(row);
  });
  table.append(rows);
  const scroll = element("div", { className: "scroll", tabIndex: 0 }, table);
  scroll.setAttribute("role", "region");
  scroll.setAttribute("aria-label", caption);
  return scroll;
}

// From the paper to blue, and the ink that is read best on it.
export function heat(share, to = dark.matches ? [86, 180, 233] : [0, 114, 178]) {
  const from = dark.matches ? [30, 36, 43] : [255, 255, 255];
  const part = Math.max(0, Math.min(1, share));
  const color = from.map((c, k) => Math.round(c + part * (to[k] - c)));
  const [r, g, b] = color.map((c) => ((c / 255 + 0.055) / 1.055) ** 2.4);
  const light = 0.2126 * r + 0.7152 * g + 0.0722 * b;
  return [`rgb(${color})`, light > 0.179 ? "#000" : "#fff"];
}
