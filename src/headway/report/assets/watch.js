"use strict";
const SVG = "http://www.w3.org/2000/svg";
const HISTORY = 240;
const history = new Map();
let before = null;

const ms = (ns) => {
  if (ns === null || ns === undefined) return "–";
  const value = ns / 1e6;
  return value >= 1000 ? `${(value / 1000).toFixed(2)} s` : `${value.toFixed(value < 10 ? 2 : 1)} ms`;
};
const whole = (value) => value.toLocaleString("en");
const percent = (share) => `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;

function make(tag, text, className) {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (className) element.className = className;
  return element;
}

function shape(tag, attributes) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

function curve(points, output) {
  const width = 300, height = 60;
  const svg = shape("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none" });
  const values = points.filter((value) => value !== null);
  const most = Math.max(...values, output.deadline, output.bound ?? 0) * 1.1 || 1;
  const x = (place) => (place / Math.max(1, HISTORY - 1)) * width;
  const y = (value) => height - (value / most) * height;
  const level = (value, className) => svg.append(shape("line",
    { x1: 0, x2: width, y1: y(value), y2: y(value), class: className }));
  if (output.deadline) level(output.deadline, "deadline-line");
  if (output.bound) level(output.bound, "bound-line");
  const first = HISTORY - points.length;
  const path = points.map((value, place) => value === null ? null : `${x(first + place)},${y(value)}`)
    .filter((point) => point !== null).join(" ");
  if (path) svg.append(shape("polyline", { points: path, class: "line" }));
  return svg;
}

function outputTile(output) {
  const points = history.get(output.output) ?? [];
  points.push(output.latency_max);
  history.set(output.output, points.slice(-HISTORY));
  const state = output.missed ? "bad" : output.tuples ? "good" : "";
  const tile = make("article", undefined, `tile ${state}`);
  tile.dataset.output = output.output;
  const title = make("h3", output.output);
  if (output.tuples)
    title.append(make("span", output.missed ? `✗ ${whole(output.missed)} missed` : "✓",
      output.missed ? "broken" : "kept"));
  tile.append(title, make("p", ms(output.latency_99), "big"));
  const limits = `deadline ${ms(output.deadline)}${output.bound ? `, bound ${ms(output.bound)}` : ""}`;
  tile.append(make("p", output.tuples ? `99 % of the last tuples; median ${ms(output.latency_median)}, ` +
    `longest ${ms(output.latency_max)}; ${limits}` : limits, "muted"));
  tile.append(make("p", output.tuples ? `${whole(output.tuples)} tuples` : "no tuple yet"));
  tile.append(curve(history.get(output.output), output));
  return tile;
}

function meter(load) {
  const svg = shape("svg", { viewBox: "0 0 300 12", preserveAspectRatio: "none", style: "height:.7rem" });
  svg.append(shape("rect", { x: 0, y: 0, width: 300, height: 12, class: "meter-back" }));
  svg.append(shape("rect", { x: 0, y: 0, width: 300 * Math.min(1, load), height: 12,
    class: load > 1 ? "meter-used over" : "meter-used" }));
  return svg;
}

function nodeTile(node) {
  const lost = node.state === "failed" || node.state === "lost";
  const tile = make("article", undefined, `tile ${lost ? "bad" : "good"}`);
  tile.dataset.node = node.node;
  const title = make("h3", node.node);
  title.append(make("span", node.state, lost ? "broken" : "muted"));
  tile.append(title);
  if (node.load !== null) tile.append(make("p", `${percent(node.load)} busy at declared costs`), meter(node.load));
  if (node.waiting !== null) tile.append(make("p", `${whole(node.waiting)} jobs wait`, "muted"));
  for (const [peer, how] of node.peers)
    tile.append(make("p", `hears ${peer}: ${how}`, how === "lost" ? "broken" : "muted"));
  return tile;
}

function operatorTable(state) {
  const table = document.getElementById("operators");
  const head = make("tr");
  for (const name of ["Operator", "Node", "In", "Out", "A second", "Waiting", "Late", "Shed", "Failed"])
    head.append(make("th", name, name === "Operator" || name === "Node" ? "" : "number"));
  const rows = state.operators.map((one) => {
    const row = make("tr");
    row.append(make("td", one.operator), make("td", one.node));
    for (const value of [one.taken, one.given, rate(one, state), one.waiting, one.late, one.shed, one.failed])
      row.append(make("td", value ? whole(value) : "–", "number"));
    return row;
  });
  table.replaceChildren(head, ...rows);
}

function rate(operator, state) {
  if (!before) return 0;
  const was = before.operators.find((one) => one.operator === operator.operator);
  const seconds = (state.passed - before.passed) / 1e9;
  return was && seconds > 0 ? Math.max(0, Math.round((operator.taken - was.taken) / seconds)) : 0;
}

function markPlan(state) {
  const plan = document.getElementById("plan");
  if (!plan) return;
  for (const one of state.operators) {
    const item = plan.querySelector(`[data-key="stream:${CSS.escape(one.operator)}"]`);
    const box = item && item.querySelector("rect");
    if (!box) continue;
    let text = item.querySelector(".live-count");
    if (!text) {
      text = shape("text", { "text-anchor": "end" });
      item.append(text);
    }
    text.setAttribute("class", one.waiting > 10 ? "live-count busy" : "live-count");
    text.setAttribute("x", Number(box.getAttribute("x")) + Number(box.getAttribute("width")) - 4);
    text.setAttribute("y", Number(box.getAttribute("y")) - 3);
    text.textContent = `${whole(rate(one, state))}/s${one.waiting ? `, ${whole(one.waiting)} wait` : ""}`;
  }
}

function eventLine(event) {
  const line = make("li");
  line.append(make("time", `${(event.at / 1e9).toFixed(1)} s`), make("b", event.where),
    document.createTextNode(event.what));
  return line;
}

function show(state) {
  const missed = state.outputs.reduce((sum, one) => sum + one.missed, 0);
  const status = document.getElementById("status");
  const given = state.outputs.some((one) => one.tuples);
  const word = state.running ? "running for" : "ended after";
  status.textContent = `${word} ${(state.passed / 1e9).toFixed(0)} s on ${state.engine}: ` +
    (missed ? `✗ ${whole(missed)} deadlines missed` : given ? "✓ no deadline missed" : "no output has a tuple yet");
  status.className = `verdict ${missed ? "broken" : given ? "kept" : "muted"}`;
  document.getElementById("outputs").replaceChildren(...state.outputs.map(outputTile));
  const media = state.media.map((one) => nodeTile(
    { node: one.medium, state: "bus or link", load: one.load, waiting: null, peers: [] }));
  document.getElementById("nodes").replaceChildren(...state.nodes.map(nodeTile), ...media);
  document.getElementById("nodes-part").hidden = !state.nodes.length;
  document.getElementById("operators-part").hidden = !state.operators.length;
  if (state.operators.length) operatorTable(state);
  markPlan(state);
  const log = document.getElementById("events");
  log.replaceChildren(...[...state.events].reverse().map(eventLine));
  before = state;
}

const source = new EventSource("events");
source.onmessage = (message) => {
  document.body.classList.remove("stale");
  show(JSON.parse(message.data));
};
source.addEventListener("gone", (message) => {
  const status = document.getElementById("status");
  status.textContent = message.data;
  document.body.classList.add("stale");
});
source.onerror = () => document.body.classList.add("stale");
