// The slider of the layers.

import { element } from "./dom.js";
import { t } from "./korean.js";
import { change, state } from "./state.js";

const MEANING = ["the word alone", "in its sentence"];

export function drawLayers(place, count) {
  let slider = place.querySelector("input");
  if (!slider || +slider.max !== count - 1) {
    const label = element("label", { textContent: `${t("Layer")} ` }, element("output"));
    slider = element("input", { type: "range", min: 0, max: count - 1, step: 1 });
    const ticks = element("div", { className: "ticks", ariaHidden: "true" });
    for (let k = 0; k < count; k++) ticks.append(element("span", { textContent: k }));
    slider.addEventListener("input", () => change({ layer: +slider.value }, { replace: true }));
    label.append(slider);
    place.replaceChildren(label, ticks);
  }
  const layer = layerOf(count);
  slider.value = layer;
  const text = `${layer}: ${t(MEANING[+(layer > 0)])}`;
  slider.setAttribute("aria-valuetext", text);
  place.querySelector("output").textContent = text;
}

export function layerOf(count) {
  return Math.min(state.layer ?? count - 1, count - 1);
}
