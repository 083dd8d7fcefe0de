// What a tagger says of a sentence, and how probable each tag of a word is.

import { arrows, ask, barOf, element, examples, fill, percent, word } from "./dom.js";
import { t } from "./korean.js";
import { change, state } from "./state.js";

const section = document.getElementById("tags");
const panel = document.getElementById("tagged");
const input = document.getElementById("sentence");
// Colours of style.css; further types have a hue each, far from the last one's.
const COLOURS = 5;
const GOLDEN_ANGLE = 137.5;
let tagger = null;
// Of the model that has the tagger's biLM: they are in its language.
let own = null;

export function startTags(info) {
  ({ tagger } = info);
  own = info.models[tagger?.model]?.examples.tagged;
  document.querySelector("[data-view=tags]").hidden = !tagger;
  section.querySelector("form").addEventListener("submit", (event) => {
    event.preventDefault();
    change({ tagged: input.value, chosen: null });
  });
}

export function renderTags(model) {
  const sentences = own ?? model.examples.tagged;
  if (!state.tagged && sentences.length) {
    change({ tagged: sentences[0] }, { replace: true });
    return;
  }
  if (document.activeElement !== input) input.value = state.tagged;
  examples(section.querySelector(".examples"), sentences, (text) => {
    const button = element("button", { type: "button", dir: "auto", textContent: text });
    button.addEventListener("click", () => change({ tagged: text, chosen: null }));
    return button;
  });
  const asked = { text: state.tagged };
  fill(panel, JSON.stringify(asked), () => ask("tags", asked), drawTags);
}

function drawTags(body, { words, others }) {
  let list = body.querySelector(".tagged");
  if (list?.words !== words) list = build(body, words, others);
  // At first the word that the tagger is least sure of.
  const least = words.reduce((least, each, k) => (sureness(each) < sureness(words[least]) ? k : least), 0);
  list.chosen = words[state.chosen] ? state.chosen : least;
  list.querySelectorAll("button").forEach((button, k) => button.setAttribute("aria-pressed", String(k === list.chosen)));
  list.show(list.chosen);
}

function build(body, words, others) {
  const all = element("div", { className: "marginals", role: "region", ariaLabel: t("Probabilities of all tags") });
  const list = element("ol", { className: "tagged", dir: "auto", words, ariaLabel: t("Words and their tags") });
  list.show = (k) => all.replaceChildren(...marginalsOf(words[k], others));
  words.forEach((each, k) => {
    const { name, type } = tagger.tags[each.tag];
    const [label, bar, number] = barOf(element("span", { className: "tag", textContent: name }), sureness(each), percent(sureness(each)));
    const button = element("button", { type: "button" }, word(each.word), label, number, bar);
    button.addEventListener("click", () => change({ chosen: k }));
    button.addEventListener("focus", () => list.show(k));
    button.addEventListener("mouseenter", () => list.show(k));
    const item = element("li", {}, button);
    item.classList.toggle("joins", each.joins);
    item.classList.toggle("outside", type < 0);
    item.style.setProperty("--tag", colourOf(type));
    list.append(item);
  });
  list.addEventListener("mouseleave", () => list.show(list.chosen));
  arrows(list);
  const note = tagger.crf
    ? t("{0}: a tag’s probability is summed over all sequences of tags that have it (CRF).", tagger.name)
    : t("{0}: each word gets its own likeliest tag (softmax).", tagger.name);
  body.replaceChildren(list, all, element("p", { className: "note", textContent: note }));
  return list;
}

// The probability of the tag that a word has.
function sureness({ tag, marginals }) {
  return marginals.find(([k]) => k === tag)[1];
}

function marginalsOf({ word: text, tag, marginals }, others) {
  const rows = marginals.map(([k, probability]) => {
    const { name, type } = tagger.tags[k];
    const label = element(k === tag ? "b" : "span", { className: "text", textContent: name, title: name });
    const row = element("li", {}, ...barOf(label, probability, percent(probability)));
    row.style.setProperty("--tag", colourOf(type));
    return row;
  });
  if (others) {
    const rest = Math.max(0, 1 - marginals.reduce((sum, [, probability]) => sum + probability, 0));
    const label = element("span", { textContent: others === 1 ? t("1 other tag") : t("{0} other tags", others.toLocaleString("en")) });
    const row = element("li", {}, ...barOf(label, rest, percent(rest)));
    row.style.setProperty("--tag", colourOf(-1));
    rows.push(row);
  }
  return [element("h3", {}, word(text)), element("ol", { className: "bars" }, ...rows)];
}

function colourOf(type) {
  if (type < 0) return "var(--soft)";
  if (type < COLOURS) return `var(--c${type})`;
  return `oklch(var(--lightness) .14 ${Math.round(type * GOLDEN_ANGLE) % 360})`;
}
