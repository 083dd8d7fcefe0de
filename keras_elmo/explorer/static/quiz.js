// In which sense is the word meant? The reader's answer beside the model's.

import { ask, barOf, clear, element, fill, word } from "./dom.js";
import { t } from "./korean.js";
import { change, state } from "./state.js";

const panel = document.getElementById("question");
// By the model and the number of a question: what was chosen, what is right, what the model says.
const answered = new Map();

export function renderQuiz(model) {
  if (!model.questions) {
    const text = t("The quiz asks about the sample sentences, whose senses are known. Start keras-elmo explore without --text.");
    clear(panel, element("p", { className: "hint", textContent: text }));
    return;
  }
  const number = (state.question ?? 0) % model.questions;
  const asked = { model: state.model, number };
  const key = JSON.stringify(asked);
  fill(panel, key, () => ask("quiz", asked), (body, data) => {
    if (body.firstChild?.data !== data) drawQuestion(body, data, key, number + 1);
  });
}

function drawQuestion(body, data, key, next) {
  const { tokens, position, senses } = data;
  const sentence = element("p", { className: "sentence", dir: "auto" });
  tokens.forEach((token, k) => {
    sentence.append(k === position ? element("mark", {}, word(token)) : word(token), " ");
  });
  const choices = element("div", { className: "choices" });
  choices.setAttribute("role", "group");
  choices.setAttribute("aria-label", t("Senses"));
  const result = element("div", { className: "result" });
  result.setAttribute("role", "status");
  const following = element("button", { type: "button", className: "next", textContent: t("Next question") });
  following.addEventListener("click", () => change({ question: next }));
  const show = () => drawResult(result, choices, data, answered.get(key));
  for (const { name } of senses) {
    const button = element("button", { type: "button", textContent: name, name });
    button.addEventListener("click", () => {
      answered.set(key, { chosen: name, answer: data.answer, guess: data.guess });
      show();
      following.focus();
    });
    choices.append(button);
  }
  const question = element("div", { data }, sentence, choices, result, element("p", {}, following));
  body.replaceChildren(question);
  if (answered.has(key)) show();
}

function drawResult(result, choices, { answer, guess, senses, nearest }, { chosen }) {
  for (const button of choices.children) {
    button.disabled = true;
    button.setAttribute("aria-pressed", String(button.name === chosen));
    button.classList.toggle("right", button.name === answer);
  }
  const lines = [
    element("p", { className: "verdict", textContent: chosen === answer ? t("Right: {0}.", answer) : t("It is {0}.", answer) }),
    element("p", { textContent: guess === answer ? t("The model is right, too: {0}.", guess) : t("The model says {0}.", guess) }),
  ];
  if (chosen !== answer && guess === answer) lines[1].textContent = t("The model knew it.");
  const list = element("ul", { className: "cosines" });
  for (const { name, cosine } of senses) {
    list.append(element("li", {}, ...barOf(element("span", { className: "text", textContent: name }), cosine, cosine.toFixed(2))));
  }
  lines.push(element("h4", { textContent: t("Cosine to the mean of each sense’s other sentences") }), list,
    element("p", { className: "note" }, t("The sentence that is nearest to the model: "), word(nearest)));
  const all = [...answered.values()];
  const right = (who) => all.filter((each) => each[who] === each.answer).length;
  lines.push(element("p", { className: "tally", textContent: t("Of {0} answered you have {1} right, the model {2}.", all.length, right("chosen"), right("guess")) }));
  result.replaceChildren(...lines);
}
