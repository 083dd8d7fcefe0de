// How unlikely the language model finds each word.

import { ask, clear, element, fill, word } from "./dom.js";
import { heat, pairs } from "./compare.js";
import { t } from "./korean.js";
import { change, state } from "./state.js";

const section = document.getElementById("surprise");
const panel = document.getElementById("bits");
// Bits at which the colour is full.
const MOST = 20;
const VERMILLION = [213, 94, 0];

export function startSurprise() {
  section.querySelector("form").addEventListener("submit", (event) => {
    event.preventDefault();
    change({ likely: section.querySelector("#likely").value, unlikely: section.querySelector("#unlikely").value });
  });
  for (const radio of section.querySelectorAll("[type=radio]")) {
    radio.addEventListener("change", () => change({ direction: radio.value }));
  }
}

export function renderSurprise(model) {
  if (!model.predicts) {
    const text = t("This model predicts no words: it has no softmax (export one with --language-model).");
    clear(panel, element("p", { className: "hint", textContent: text }));
    return;
  }
  if (!state.likely && !state.unlikely && model.examples.minimal_pairs.length) {
    const [likely, unlikely] = model.examples.minimal_pairs[0];
    change({ likely, unlikely }, { replace: true });
    return;
  }
  pairs(section, model.examples.minimal_pairs, ["likely", "unlikely"]);
  for (const radio of section.querySelectorAll("[type=radio]")) {
    radio.checked = radio.value === state.direction;
  }
  const asked = { model: state.model, first: state.likely, second: state.unlikely };
  fill(panel, JSON.stringify(asked), () => ask("score", asked), drawBits);
}

function drawBits(body, { sentences }) {
  const direction = Object.hasOwn(sentences[0].bits, state.direction) ? state.direction : "both";
  const blocks = sentences.map(({ tokens, unknown, bits }, which) => {
    const other = sentences[1 - which];
    const found = bits[direction];
    const line = element("ol", { className: "bits", dir: "auto" });
    tokens.forEach((token, k) => {
      const value = found.tokens[k];
      const item = element("li");
      const column = element("span", { className: "column", ariaHidden: "true" });
      const bar = element("span");
      bar.style.height = `${100 * Math.min(1, Math.max(0.02, value / MOST))}%`;
      bar.style.background = heat(0.25 + (0.75 * value) / MOST, VERMILLION)[0];
      column.append(bar);
      item.append(column, element("span", { className: "value", textContent: value.toFixed(1) }), word(token));
      if (other && other.tokens.length === tokens.length && other.tokens[k] !== token) item.className = "other";
      if (unknown.includes(token)) {
        item.classList.add("unknown");
        item.title = t("Not in the vocabulary: taken to be as rare as the rarest word in it");
      }
      line.append(item);
    });
    const total = element("p", { textContent: t("Together {0} bits", found.sentence.toFixed(1)) });
    if (unknown.length) total.append(t("; unknown: "), word(unknown.join(", ")));
    return element("div", { className: "scroll", tabIndex: 0, role: "region", ariaLabel: t("Sentence {0}", which + 1) }, line, total);
  });
  if (sentences.length === 2) {
    const lengths = sentences.map(({ tokens }) => tokens.length);
    const sums = sentences.map(({ bits }) => bits[direction].sentence);
    // Given both sides, only sums of as many words compare.
    const share = direction === "both" && lengths[0] !== lengths[1];
    const [a, b] = sums.map((sum, k) => (share ? sum / lengths[k] : sum));
    const names = (a <= b ? ["first", "second"] : ["second", "first"]).map((name) => t(name));
    const gap = Math.abs(a - b);
    const ratio = (2 ** gap).toLocaleString("en", { maximumSignificantDigits: 2 });
    const times = gap > 30 ? t("a billion times and more") : t("{0} times", ratio);
    let text = t("The {0} sentence is {1} as likely as the {2}: {3} bits less.", names[0], times, names[1], gap.toFixed(1));
    if (ratio === "1") text = t("Both sentences are about as likely.");
    if (share) text = t("Of different lengths: the {0} sentence has {1} bits less a word than the {2}.", names[0], gap.toFixed(1), names[1]);
    blocks.push(element("p", { className: "verdict", textContent: text }));
  }
  body.replaceChildren(...blocks);
}
