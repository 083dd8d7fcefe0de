// How much of each layer a trained model takes.

import { ask, element, fill } from "./dom.js";
import { t } from "./korean.js";

const section = document.getElementById("mix");
const panel = document.getElementById("mixes");
// Shown while the user has named none: means of three seeds, as in docs/results.md.
let mixes = [
  { task: t("Sample: elmo-en, parts of speech (UD EWT)"), weights: [0.352, 0.422, 0.226] },
  { task: t("Sample: elmo-en, sentiment (SST-5)"), weights: [0.311, 0.264, 0.426] },
  { task: t("Sample: elmo-ko, sentiment (NSMC)"), weights: [0.165, 0.148, 0.687] },
];
let uploads = 0;

export function startMix(info) {
  if (info.mixes.length) mixes = info.mixes;
  const input = section.querySelector("[type=file]");
  input.addEventListener("change", () => {
    const [file] = input.files;
    if (file) fill(panel, `upload ${++uploads}`, () => upload(file), drawMixes);
    // The same file can be chosen again.
    input.value = "";
  });
}

async function upload(file) {
  if (file.size > 4 << 20) throw new Error(t("A CSV file may have 4 MiB."));
  const found = await ask("mix", { csv: await file.text(), name: file.name });
  mixes = [...found.mixes, ...mixes];
  return mixes;
}

export function renderMix() {
  // A file that is being read is drawn when it has been.
  if (panel.getAttribute("aria-busy") !== "true") fill(panel, `${mixes.length} mixes`, async () => mixes, drawMixes);
}

function drawMixes(body, all) {
  const count = Math.max(...all.map(({ weights }) => weights.length));
  const legend = element("ul", { className: "legend" });
  for (let k = 0; k < count; k++) {
    legend.append(element("li", {}, element("span", { className: `swatch layer-${k % 5}`, ariaHidden: "true" }), t("layer {0}", k)));
  }
  const rows = all.map(({ task, weights }) => {
    const bar = element("div", { className: "stack", ariaHidden: "true" });
    const list = element("ul", { className: "shares" });
    weights.forEach((weight, k) => {
      const part = element("span", { className: `layer-${k % 5}` });
      part.style.width = `${100 * weight}%`;
      bar.append(part);
      list.append(element("li", { textContent: t("layer {0}: {1} %", k, (100 * weight).toFixed(1)) }));
    });
    return element("div", { className: "mix" }, element("h3", { dir: "auto", textContent: task }), bar, list);
  });
  body.replaceChildren(legend, ...rows);
}
