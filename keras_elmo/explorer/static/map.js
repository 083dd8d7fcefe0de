// The occurrences of a word as points that move from layer to layer.

import { element, svg, word } from "./dom.js";
import { layerOf } from "./layers.js";

const [WIDTH, HEIGHT, MARGIN] = [420, 340, 26];
// One shape a cluster: colours alone would not do for everyone.
const SHAPES = [
  "M0-5A5 5 0 1 1 0 5A5 5 0 1 1 0-5Z",
  "M0-6L6 5H-6Z",
  "M-5-5H5V5H-5Z",
  "M0-7L6 0L0 7L-6 0Z",
  "M-6-5H6L0 6Z",
];

export function drawMap(body, data) {
  let chart = body.querySelector("svg");
  if (chart?.data !== data) chart = build(body, data);
  const layer = layerOf(data.layers.length);
  const plane = data.layers[layer];
  const points = [...chart.querySelectorAll(".point")];
  points.forEach((point) => {
    const [x, y] = plane[point.index];
    const px = WIDTH / 2 + x * (WIDTH / 2 - MARGIN);
    const py = HEIGHT / 2 - y * (HEIGHT / 2 - MARGIN);
    point.style.transform = `translate(${px.toFixed(1)}px, ${py.toFixed(1)}px)`;
  });
  const wide = Math.max(...plane.flat().map(Math.abs));
  const count = data.points.length;
  let note = `${count - 1} of ${data.total} occurrences in the text, and this one (ringed).`;
  if (count < 3) note = "The text has too few other sentences with this word for a map.";
  else if (wide < 0.25) note += ` In layer ${layer} the word has much the same vector everywhere.`;
  body.querySelector(".note").textContent = note;
}

function build(body, data) {
  const chart = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "group" });
  chart.setAttribute("aria-label", "Map of the occurrences; arrow keys go from one to the next");
  chart.data = data;
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
    const { cluster, before, word, after } = data.points[index];
    const point = svg("g", { class: `point cluster-${cluster}`, tabindex: -1, role: "img" });
    point.setAttribute("aria-label", `Cluster ${cluster + 1}: ${before} ${word} ${after}`);
    point.index = index;
    point.append(svg("path", { d: SHAPES[cluster % SHAPES.length] }));
    if (!index) {
      point.classList.add("own");
      point.append(svg("circle", { r: 11 }));
    }
    point.addEventListener("mouseenter", () => pick(point));
    point.addEventListener("focus", () => pick(point));
    chart.append(point);
  });
  const points = [...chart.querySelectorAll(".point")].sort((a, b) => order(data, a) - order(data, b));
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
  data.clusters.forEach(({ size, words }, k) => {
    const mark = svg("svg", { viewBox: "-8 -8 16 16", class: `point cluster-${k}`, role: "img" });
    mark.setAttribute("aria-label", `Cluster ${k + 1}`);
    mark.append(svg("path", { d: SHAPES[k % SHAPES.length] }));
    const beside = words.length ? `beside ${words.join(", ")}` : "";
    legend.append(element("li", {}, mark, element("b", { textContent: size }), ` ${beside}`));
  });
  body.replaceChildren(chart, legend, readout, element("p", { className: "note" }));
  pick(points.find((point) => point.index === 0));
  return chart;
}

// Clusters one after the other, the word itself first.
function order(data, point) {
  return point.index ? 1000 * (1 + data.points[point.index].cluster) + point.index : 0;
}
