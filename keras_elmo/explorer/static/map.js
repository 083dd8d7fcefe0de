// The occurrences of a word as points that move from layer to layer.

import { element, svg, word } from "./dom.js";
import { t } from "./korean.js";
import { layerOf } from "./layers.js";
import { state } from "./state.js";

const [WIDTH, HEIGHT, MARGIN] = [420, 340, 26];
const CROSS = "M-6-2H-2V-6H2V-2H6V2H2V6H-2V2H-6Z";
// One shape a group: colours alone would not do for everyone.
const SHAPES = [
  "M0-5A5 5 0 1 1 0 5A5 5 0 1 1 0-5Z",
  "M0-6L6 5H-6Z",
  "M-5-5H5V5H-5Z",
  "M0-7L6 0L0 7L-6 0Z",
  "M-6-5H6L0 6Z",
];

export function drawMap(body, data) {
  let chart = body.querySelector("svg");
  const groups = data.senses.length && state.colour === "sense" ? "sense" : "cluster";
  if (chart?.data !== data || chart.groups !== groups) chart = build(body, data, groups);
  const layer = layerOf(data.layers.length);
  const plane = data.layers[layer];
  for (const point of chart.querySelectorAll(".point")) {
    point.style.transform = `translate(${place(...plane[point.index]).join("px, ")}px)`;
  }
  const wide = Math.max(...plane.flat().map(Math.abs));
  const count = data.points.length;
  let note = t("{0} of {1} occurrences in the text, and this one (ringed).", count - 1, data.total);
  if (count < 3) note = t("The text has too few other sentences with this word for a map.");
  else if (wide < 0.25) note += t(" In layer {0} the word has much the same vector everywhere.", layer);
  body.querySelector(".note").textContent = note;
}

function place(x, y) {
  return [WIDTH / 2 + x * (WIDTH / 2 - MARGIN), HEIGHT / 2 - y * (HEIGHT / 2 - MARGIN)].map((at) => at.toFixed(1));
}

// A picture of its own, which no style sheet goes with.
export function download(panel) {
  const shown = panel.querySelector("svg");
  if (!shown) return;
  const copy = shown.cloneNode(true);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  const originals = [shown, ...shown.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((part, k) => {
    const style = getComputedStyle(originals[k]);
    for (const name of ["fill", "fill-opacity", "stroke", "stroke-width"]) part.setAttribute(name, style.getPropertyValue(name));
    if (originals[k].index !== undefined) {
      part.setAttribute("transform", part.style.transform.replaceAll("px", ""));
      part.removeAttribute("style");
    }
  });
  const { backgroundColor } = getComputedStyle(shown);
  copy.prepend(svg("rect", { width: WIDTH, height: HEIGHT, fill: backgroundColor }));
  const url = URL.createObjectURL(new Blob([copy.outerHTML], { type: "image/svg+xml" }));
  element("a", { href: url, download: `${shown.data.pattern.replace("*", "")}.svg` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

function build(body, data, groups) {
  const chart = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "group" });
  chart.setAttribute("aria-label", t("Map of the occurrences; arrow keys go from one to the next"));
  Object.assign(chart, { data, groups });
  chart.append(svg("path", { class: "static", d: CROSS, transform: `translate(${place(0, 0)})` }));
  const readout = element("p", { className: "readout" });
  readout.setAttribute("aria-live", "polite");
  const pick = (point) => {
    chart.querySelector(".picked")?.classList.remove("picked");
    point.classList.add("picked");
    const { before, word: middle, after } = data.points[point.index];
    readout.replaceChildren(element("span", { dir: "auto", className: "context" },
      word(before), " ", element("b", {}, word(middle)), " ", word(after)));
  };
  // The word itself is drawn last, above the others.
  [...data.points.keys()].reverse().forEach((index) => {
    const { [groups]: group, before, word, after } = data.points[index];
    const point = mark("g", group, `${nameOf(data, groups, group)}: ${before} ${word} ${after}`);
    point.setAttribute("tabindex", -1);
    point.index = index;
    if (!index) {
      point.classList.add("own");
      point.append(svg("circle", { r: 11 }));
    }
    point.addEventListener("mouseenter", () => pick(point));
    point.addEventListener("focus", () => pick(point));
    chart.append(point);
  });
  const points = [...chart.querySelectorAll(".point")].sort((a, b) => order(data, groups, a) - order(data, groups, b));
  points[0].setAttribute("tabindex", 0);
  chart.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    // With these, the browser goes back or forward.
    if (!step || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const at = points.indexOf(document.activeElement);
    const next = points[(at + step + points.length) % points.length];
    chart.querySelector("[tabindex='0']").setAttribute("tabindex", -1);
    next.setAttribute("tabindex", 0);
    next.focus();
  });
  const legend = element("ul", { className: "legend" });
  const add = (symbol, ...texts) => legend.append(element("li", {}, symbol, ...texts));
  const box = { viewBox: "-8 -8 16 16" };
  if (groups === "cluster" && data.clusters.length === 1) {
    if (data.points.length > 2) legend.append(element("li", { textContent: t("No groups stand out.") }));
  } else {
    const entries = groups === "sense" ? data.senses : data.clusters;
    entries.forEach(({ size, name, words = [] }, k) => {
      const beside = words.length ? t("beside {0}", words.join(", ")) : "";
      add(mark("svg", k, nameOf(data, groups, k), box), element("b", { textContent: size }), ` ${name ?? beside}`);
    });
    const rest = data.points.filter((point) => point[groups] < 0).length;
    if (rest) add(mark("svg", -1, t("no sense given"), box), element("b", { textContent: rest }), ` ${t("no sense given")}`);
  }
  if (data.points.length > 2) {
    const cross = svg("svg", box, svg("path", { class: "static", d: CROSS }));
    cross.setAttribute("aria-hidden", "true");
    add(cross, t("a static vector: the mean, one point for all"));
  }
  body.replaceChildren(chart, legend, readout, element("p", { className: "note" }));
  pick(points.find((point) => point.index === 0));
  return chart;
}

function mark(tag, group, label, attributes = {}) {
  const made = svg(tag, { class: `point cluster-${group}`, role: "img", "aria-label": label, ...attributes });
  made.append(svg("path", { d: SHAPES[Math.max(group, 0) % SHAPES.length] }));
  return made;
}

function nameOf(data, groups, group) {
  if (groups === "cluster") return t("Cluster {0}", group + 1);
  return data.senses[group]?.name ?? t("no sense given");
}

// Groups one after the other, the word itself first.
function order(data, groups, point) {
  return point.index ? 1000 * (2 + data.points[point.index][groups]) + point.index : 0;
}
