// What is shown stands in the address, so that a copy of it shows the same.

const DEFAULTS = {
  view: "word", model: "", text: "", at: null, layer: null, same: false, method: "pca", pattern: "", colour: "cluster",
  first: "", second: "", third: "", question: null, likely: "", unlikely: "", direction: "both",
  tagged: "", chosen: null,
};
const NUMBERS = ["at", "layer", "question", "chosen"];
export const state = { ...DEFAULTS };
const listeners = [];

export function onChange(listener) {
  listeners.push(listener);
}

function read() {
  const given = new URLSearchParams(location.hash.slice(1));
  for (const [name, value] of Object.entries(DEFAULTS)) {
    const text = given.get(name);
    if (text === null) state[name] = name === "view" ? state.view : value;
    else if (NUMBERS.includes(name)) state[name] = /^\d{1,6}$/.test(text) ? +text : null;
    else state[name] = name === "same" ? text === "1" : text;
  }
}

export function change(changes, { replace = false } = {}) {
  Object.assign(state, changes);
  const kept = new URLSearchParams();
  for (const [name, value] of Object.entries(state)) {
    if (value !== DEFAULTS[name] || name === "view") {
      kept.set(name, value === true ? "1" : value);
    }
  }
  try {
    history[replace ? "replaceState" : "pushState"](null, "", `#${kept}`);
  } catch {
    // Too long, or too often, for this browser: the address stays.
  }
  for (const listener of listeners) listener();
}

export function start() {
  const again = () => {
    const before = { ...state };
    read();
    // A link of the navigation names a view alone, and keeps the rest.
    if ([...new URLSearchParams(location.hash.slice(1)).keys()].join() === "view") {
      change({ ...before, view: state.view }, { replace: true });
    } else for (const listener of listeners) listener();
  };
  addEventListener("popstate", again);
  read();
}
