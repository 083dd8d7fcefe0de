// Elements, requests, and panels that load.

import { said, t } from "./korean.js";

export function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

export function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

// Control characters as their pictures, so that they are seen.
export function shown(text) {
  return text
    .replace(/[\u0000-\u001f]/g, (c) => String.fromCharCode(0x2400 + c.charCodeAt(0)))
    .replace(/[\u007f-\u009f]/g, "\ufffd");
}

// A piece of text whose direction is its own. (A `bdi` would not count for the direction
// of what it stands in.)
export function word(text) {
  return element("span", { className: "text", textContent: shown(text) });
}

// Makes buttons of examples; those that are there stay, and keep the focus.
export function examples(place, given, button) {
  if (place.given === given) return;
  place.given = given;
  place.replaceChildren(...given.map(button));
}

// Left and right go from one child to the next, in the direction of the text.
export function arrows(group) {
  group.addEventListener("keydown", (event) => {
    const forward = getComputedStyle(group).direction === "rtl" ? "ArrowLeft" : "ArrowRight";
    const back = forward === "ArrowLeft" ? "ArrowRight" : "ArrowLeft";
    const step = { [forward]: 1, [back]: -1 }[event.key];
    // With these, the browser goes back or forward.
    if (!step || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const all = [...group.querySelectorAll("button")];
    all[(all.indexOf(document.activeElement) + step + all.length) % all.length].focus();
  });
}

export function percent(probability) {
  return `${(100 * probability).toFixed(probability < 0.0995 ? 1 : 0)} %`;
}

// A bar, full where the share is 1, between a label and a number.
export function barOf(label, share, number) {
  const bar = element("span", { className: "bar", ariaHidden: "true" });
  bar.style.setProperty("--share", `${100 * Math.max(0, share)}%`);
  return [label, bar, element("span", { className: "percent", textContent: number })];
}

export async function ask(method, body = {}) {
  let answer;
  try {
    answer = await fetch(`api/${method}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  } catch {
    throw new Error(t("The server does not answer. Is keras-elmo explore still running?"));
  }
  let found;
  try {
    found = await answer.json();
  } catch {
    throw new Error(t("The server answered with status {0}.", answer.status));
  }
  if (!answer.ok) throw new Error(said(found.error));
  return found;
}

const loaded = new WeakMap();
// What was loaded lately: going back asks nothing.
const answers = new Map();
const KEPT = 100;

// Changes what a panel shows. Whoever was in it with the keyboard stays in it.
function redraw(body, change) {
  const held = body.contains(document.activeElement);
  change();
  if (held && !body.contains(document.activeElement)) body.querySelector("button:enabled, [tabindex='0']")?.focus();
}

// Draws what `load` returns; what has the same key is there already.
export async function fill(panel, key, load, draw) {
  const body = panel.querySelector(".body");
  const last = loaded.get(panel);
  if (last?.key === key) {
    if (last.data) redraw(body, () => draw(body, last.data));
    return;
  }
  const mine = { key };
  loaded.set(panel, mine);
  const name = `${panel.id} ${key}`;
  panel.setAttribute("aria-busy", String(!answers.has(name)));
  try {
    const data = answers.get(name) ?? (await load());
    if (loaded.get(panel) !== mine) return;
    mine.data = data;
    answers.set(name, data);
    if (answers.size > KEPT) answers.delete(answers.keys().next().value);
    redraw(body, () => draw(body, data));
  } catch (error) {
    if (loaded.get(panel) !== mine) return;
    mine.data = null;
    const retry = element("button", { type: "button", textContent: t("Try again") });
    retry.addEventListener("click", () => {
      loaded.delete(panel);
      fill(panel, key, load, draw);
    });
    const sentence = element("p", { textContent: shown(error.message) });
    sentence.setAttribute("role", "alert");
    redraw(body, () => body.replaceChildren(element("div", { className: "error" }, sentence, retry)));
  }
  panel.setAttribute("aria-busy", "false");
}

export function clear(panel, ...children) {
  loaded.delete(panel);
  panel.setAttribute("aria-busy", "false");
  panel.querySelector(".body").replaceChildren(...children);
}
