// Two sentences: the cosine of each word with each.

import { ask, element, examples, fill, word } from "./dom.js";
import { t } from "./korean.js";
import { drawLayers, layerOf } from "./layers.js";
import { change, state } from "./state.js";

const section = document.getElementById("compare");
const panel = document.getElementById("heat");
const dark = matchMedia("(prefers-color-scheme: dark)");

export function startCompare() {
  section.querySelector("form").addEventListener("submit", (event) => {
    event.preventDefault();
    change({ first: section.querySelector("#first").value, second: section.querySelector("#second").value });
  });
  dark.addEventListener("change", () => change({}, { replace: true }));
}

export function renderCompare(model) {
  if (!state.first && !state.second && model.examples.pairs.length) {
    const [first, second] = model.examples.pairs[0];
    change({ first, second }, { replace: true });
    return;
  }
  drawLayers(section.querySelector(".layers"), model.layers);
  pairs(section, model.examples.pairs, ["first", "second"]);
  const asked = { model: state.model, first: state.first, second: state.second };
  fill(panel, JSON.stringify(asked), () => ask("compare", asked), drawHeat);
}

// The inputs of two sentences, and buttons for the examples.
export function pairs(place, given, names) {
  for (const name of names) {
    const input = place.querySelector(`#${name}`);
    if (document.activeElement !== input) input.value = state[name];
  }
  examples(place.querySelector(".examples"), given, (pair) => {
    const button = element("button", { type: "button", dir: "auto", textContent: pair.join(" ↔ ") });
    button.addEventListener("click", () => change({ [names[0]]: pair[0], [names[1]]: pair[1] }));
    return button;
  });
}

function drawHeat(body, { first, second, layers }) {
  const cosines = layers[layerOf(layers.length)];
  const table = element("table", { className: "heat" });
  table.append(element("caption", { textContent: t("Rows: the first sentence. Columns: the second.") }));
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
  scroll.setAttribute("aria-label", t("Cosines"));
  body.replaceChildren(scroll);
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
