// A word in its sentence: neighbours, substitutes, and its map.

import { arrows, ask, barOf, clear, element, examples, fill, percent, word } from "./dom.js";
import { said, t } from "./korean.js";
import { drawLayers, layerOf } from "./layers.js";
import { download, drawMap } from "./map.js";
import { change, state } from "./state.js";

const section = document.getElementById("word");
const find = (selector) => section.querySelector(selector);
const panels = ["map", "neighbours", "substitutes"].map((id) => document.getElementById(id));
let playing = null;

export function startWord(info) {
  find("form").addEventListener("submit", (event) => {
    event.preventDefault();
    change({ text: find("#text").value, at: null, pattern: "" });
  });
  find(".pattern").addEventListener("change", (event) => change({ pattern: event.target.value.trim() }));
  find(".colour").addEventListener("change", (event) => change({ colour: event.target.value }));
  find(".download").addEventListener("click", () => download(panels[0]));
  find(".same").addEventListener("change", (event) => change({ same: event.target.checked }));
  find(".umap").hidden = !info.umap;
  find(".umap input").addEventListener("change", (event) =>
    change({ method: event.target.checked ? "umap" : "pca" }));
  find(".play").addEventListener("click", play);
}

function play() {
  clearInterval(playing);
  let layer = 0;
  change({ layer }, { replace: true });
  const last = +find(".layers input").max;
  playing = setInterval(() => {
    // It ends, too, when somebody moves the slider or leaves the view.
    if (layer >= last || state.layer !== layer || state.view !== "word") clearInterval(playing);
    else change({ layer: ++layer }, { replace: true });
  }, 1400);
}

export function renderWord(model) {
  if (!state.text && model.examples.words.length) {
    const { text, position } = model.examples.words[0];
    change({ text, at: position }, { replace: true });
    return;
  }
  if (document.activeElement !== find("#text")) find("#text").value = state.text;
  find(".same").checked = state.same;
  find(".umap input").checked = state.method === "umap";
  drawLayers(find(".layers"), model.layers);
  examples(find(".examples"), model.examples.words, ({ text, position }) => {
    const parts = text.split(" ");
    const button = element("button", { type: "button", dir: "auto" });
    button.append(`${parts.slice(0, position).join(" ")} `,
      element("b", { textContent: parts[position] }), ` ${parts.slice(position + 1).join(" ")}`);
    button.addEventListener("click", () => change({ text, at: position, pattern: "" }));
    return button;
  });
  const asked = { model: state.model, text: state.text };
  const key = JSON.stringify(asked);
  fill(document.getElementById("tokens"), key, () => ask("tokens", asked), drawTokens);
  panels[2].hidden = !model.predicts;
  if (state.at === null) {
    const hint = () => element("p", { className: "hint", textContent: t("Choose a word of the sentence.") });
    for (const panel of panels) clear(panel, hint());
    return;
  }
  const place = { ...asked, position: state.at };
  const forms = state.pattern ? { ...place, pattern: state.pattern } : place;
  const near = { ...forms, same_word: state.same };
  const mapped = { ...forms, method: state.method };
  fill(panels[1], JSON.stringify(near), () => ask("neighbours", near), drawNeighbours);
  if (model.predicts) {
    fill(panels[2], JSON.stringify(place), () => ask("substitutes", place), drawSubstitutes);
  }
  // Last, for it may take longest.
  fill(panels[0], JSON.stringify(mapped), () => ask("map", mapped), (body, data) => {
    find(".pattern").value = data.pattern;
    find(".colour").parentElement.hidden = !data.senses.length;
    find(".colour").value = state.colour;
    drawMap(body, data);
  });
}

function drawTokens(body, { tokens, warning }) {
  let group = body.querySelector(".tokens");
  if (group?.tokens !== tokens) {
    group = element("div", { className: "tokens", tokens, dir: "auto" });
    group.setAttribute("role", "group");
    group.setAttribute("aria-label", t("Words of the sentence"));
    tokens.forEach((token, k) => {
      const button = element("button", { type: "button" }, word(token));
      button.addEventListener("click", () => change({ at: k, pattern: "" }));
      group.append(button);
    });
    arrows(group);
    body.replaceChildren(group);
    if (warning) body.append(element("p", { className: "note", textContent: said(warning) }));
  }
  [...group.children].forEach((button, k) =>
    button.setAttribute("aria-pressed", String(k === state.at)));
}

function drawNeighbours(body, { layers }) {
  const rows = layers[layerOf(layers.length)];
  if (!rows.length) {
    const text = t("The text does not have this word elsewhere.");
    body.replaceChildren(element("p", { className: "hint", textContent: text }));
    return;
  }
  const list = element("ol", { className: "kwic" });
  for (const row of rows) {
    const middle = element("button", { type: "button", title: t("Look at this one") }, word(row.word));
    middle.addEventListener("click", () => change({ text: row.text, at: row.position, pattern: "" }));
    list.append(element("li", { dir: "auto" },
      element("span", { className: "cosine", textContent: row.cosine.toFixed(2) }),
      element("span", { className: "before" }, word(row.before)),
      element("span", { className: "middle" }, middle),
      element("span", { className: "after" }, word(row.after))));
  }
  body.replaceChildren(list);
}

const GIVEN = { both: "given both sides", forward: "given what comes before", backward: "given what comes after" };

function drawSubstitutes(body, found) {
  // One scale for the three lists.
  const most = Math.max(...Object.keys(GIVEN).map((name) => found[name][0]?.probability ?? 0)) || 1;
  body.replaceChildren(element("div", { className: "substitutes" },
    ...Object.entries(GIVEN).map(([name, title]) => {
      const rows = found[name].map(({ word: text, probability }) =>
        element("li", {}, ...barOf(word(text), probability / most, percent(probability))));
      return element("div", {}, element("h4", { textContent: t(title) }), element("ol", { className: "bars" }, ...rows));
    })));
}
