// The page: which view is shown, and of which model.

import { renderCompare, startCompare } from "./compare.js";
import { ask, element } from "./dom.js";
import { language, t, translate } from "./korean.js";
import { renderMix, startMix } from "./mix.js";
import { renderQuiz } from "./quiz.js";
import { change, onChange, start, state } from "./state.js";
import { renderSurprise, startSurprise } from "./surprise.js";
import { renderTags, startTags } from "./tags.js";
import { renderWord, startWord } from "./word.js";

const views = {
  word: renderWord, compare: renderCompare, surprise: renderSurprise, quiz: renderQuiz, tags: renderTags, mix: renderMix,
};
const status = document.getElementById("status");
const select = document.getElementById("model");
const main = document.querySelector("main");

function render(info) {
  if (!Object.hasOwn(info.models, state.model)) state.model = first(info.models);
  if (!Object.hasOwn(views, state.view) || (state.view === "tags" && !info.tagger)) state.view = "word";
  select.value = state.model;
  for (const name of Object.keys(views)) {
    document.getElementById(name).hidden = name !== state.view;
    const link = document.querySelector(`[data-view=${name}]`);
    if (name === state.view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  views[state.view](info.models[state.model]);
}

// Asks until the server has read its models and texts.
async function models() {
  for (;;) {
    const info = await ask("models");
    if (!info.reading) return info;
    status.textContent = t("Reading {0} and the text ({1} of {2}) …", ...info.reading);
    await new Promise((later) => setTimeout(later, 500));
  }
}

// Of the browser's language, if one is.
function first(models) {
  const names = Object.keys(models);
  return names.find((name) => models[name].language === language) ?? names[0];
}

translate();
try {
  const info = await models();
  select.append(...Object.keys(info.models).map((name) => element("option", { value: name, textContent: name })));
  start();
  for (const begin of [startWord, startCompare, startSurprise, startTags, startMix]) begin(info);
  onChange(() => render(info));
  select.addEventListener("change", () =>
    // Sentences of another language would say little.
    change({
      model: select.value, text: "", at: null, layer: null, pattern: "", first: "", second: "", third: "", question: null,
      likely: "", unlikely: "", tagged: "", chosen: null,
    }));
  status.hidden = true;
  render(info);
} catch (error) {
  status.textContent = error.message;
  status.setAttribute("role", "alert");
}
main.setAttribute("aria-busy", "false");
