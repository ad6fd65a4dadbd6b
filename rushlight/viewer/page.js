"use strict";
// The nodes are rows of a tree of modules, in the order in which they run.  Only the rows in sight are in the document, so that
// a graph of any size opens at once.  The canvas beside them draws which row's value goes to which.
const ROW = 26, LANE = 9, LANES = 12, AROUND = 12;
let gutter = 0;  // the width of the lanes that are in use
const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const make = (tag, text, name) => {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (name) element.className = name;
  return element;
};

const counted = (count) => `${count.toLocaleString("en")} ${count === 1 ? "node" : "nodes"}`;

// -- the graph ------------------------------------------------------------------------------------------------------
const nodes = data.nodes.map(([op, name, module, inputs, outputs, attributes, source], at) => ({
  at, op: data.words[op], name, module: data.words[module], inputs, outputs, attributes,
  source: source && { file: data.words[source[0]], line: source[1], function: data.words[source[2]], text: data.lines[`${source[0]}:${source[1]}`] || "" },
}));
const values = data.values.map(([name, type, kind]) => ({ name, type, kind, from: null, to: [] }));
const KINDS = ["", "input", "stored", "constant"];
const root = { path: "", label: "", parent: null, items: [], open: true, depth: -1, count: 0 };
const groups = [], latest = new Map([["", root]]);
// A module that runs again after others have run is a group of its own: rows stand in the order in which they run.
function goesOn(group) {
  for (; group.parent; group = group.parent) if (group.parent.items[group.parent.items.length - 1] !== group) return false;
  return true;
}
function groupOf(path) {
  let found = latest.get(path);
  if (!found || !goesOn(found)) {
    const cut = path.lastIndexOf("/"), parent = groupOf(cut < 0 ? "" : path.slice(0, cut));
    found = { path, label: path.slice(cut + 1), parent, items: [], open: false, depth: parent.depth + 1, count: 0 };
    parent.items.push(found);
    groups.push(found);
    latest.set(path, found);
  }
  return found;
}
for (const node of nodes) {
  node.group = groupOf(node.module);
  node.depth = node.group.depth + 1;
  node.group.items.push(node);
  for (let group = node.group; group; group = group.parent) group.count++;
  for (const at of node.outputs) values[at].from = node;
  for (const at of node.inputs) values[at].to.push(node);
}
for (const node of nodes) {
  const place = node.source ? `${node.source.file.split(/[\\/]/).pop()}:${node.source.line}` : "";
  node.place = place;
  node.shape = node.outputs.length ? values[node.outputs[0]].type : node.inputs.length && node.op === "Output" ? values[node.inputs[0]].type : "";
  node.words = [node.op, node.name, node.module, node.module.replaceAll("/", "."), place].join("\n").toLowerCase();
  node.more = [node.source ? node.source.text : "", ...node.outputs.map((at) => values[at].name), ...node.inputs.map((at) => values[at].name)].join("\n").toLowerCase();
}
// At first as much is open as makes a page or two.
for (let depth = 0, shown = root.items.length; depth < 12 && shown < 60; depth++) {
  const level = groups.filter((group) => group.depth === depth);
  const more = level.reduce((sum, group) => sum + group.items.length, 0);
  if (!level.length || shown + more > 120) break;
  level.forEach((group) => { group.open = true; });
  shown += more;
}

// -- rows -------------------------------------------------------------------------------------------------------------
let rows = [], rowOf = new Map(), lanes = [], chosen = null, hits = new Set(), matches = [], match = -1;
const list = $("list"), space = $("space"), body = $("rows"), canvas = $("flow");
function hue(text) {
  let sum = 0;
  for (const letter of text) sum = (sum * 31 + letter.codePointAt(0)) % 360;
  return sum;
}
function layout() {
  rows = [];
  rowOf = new Map();
  const stack = [[root.items, 0]];
  while (stack.length) {
    const top = stack[stack.length - 1];
    if (top[1] >= top[0].length) { stack.pop(); continue; }
    const item = top[0][top[1]++];
    rowOf.set(item, rows.length);
    rows.push(item);
    if (item.items && item.open) stack.push([item.items, 0]);
  }
  space.style.height = `${Math.max(rows.length, 1) * ROW}px`;
  assignLanes();
  draw();
}
function visible(item) {  // the row that stands for an item: its own, or that of a closed group around it
  let found = item;
  for (let group = item.items ? item.parent : item.group; group; group = group.parent) if (!group.open) found = group;
  return rowOf.get(found);
}
function assignLanes() {
  const spans = new Map();
  for (const value of values) {
    if (!value.from || !value.to.length) continue;
    const start = visible(value.from);
    for (const node of value.to) {
      const end = visible(node);
      if (start === undefined || end === undefined || start === end) continue;
      let span = spans.get(start);
      if (!span) spans.set(start, span = { start, first: start, last: start, ends: new Set() });
      span.ends.add(end);
      span.first = Math.min(span.first, end);
      span.last = Math.max(span.last, end);
    }
  }
  lanes = Array.from({ length: LANES }, () => []);
  for (const span of [...spans.values()].sort((a, b) => a.first - b.first || a.last - b.last)) {
    const lane = lanes.find((each) => !each.length || each[each.length - 1].last <= span.first);
    if (lane) lane.push(span);
  }
  gutter = LANE * Math.max(2, lanes.filter((lane) => lane.length).length) + 16;
}
function draw() {
  const top = list.scrollTop, height = list.clientHeight;
  const first = Math.max(0, Math.floor(top / ROW) - AROUND), last = Math.min(rows.length, Math.ceil((top + height) / ROW) + AROUND);
  const made = document.createDocumentFragment();
  for (let at = first; at < last; at++) made.append(rowElement(rows[at], at));
  body.replaceChildren(made);
  body.style.transform = `translateY(${first * ROW}px)`;
  drawFlow(top, height);
}
function rowElement(item, at) {
  const element = make("div", undefined, "row");
  element.id = `row-${at}`;
  element.setAttribute("role", "treeitem");
  element.setAttribute("aria-level", item.depth + 1);
  element.style.paddingLeft = `${gutter + Math.min(item.depth, 24) * 16}px`;
  if (item.items) {
    element.classList.add("group");
    element.setAttribute("aria-expanded", item.open);
    const kind = data.classes[item.path];
    element.append(make("span", item.open ? "▾" : "▸", "caret"), make("span", item.label), make("span", kind || "", "name"), make("span", counted(item.count), "place"));
  } else {
    const op = make("span", item.op, "op");
    op.style.setProperty("--hue", hue(item.op));
    element.append(make("span", "", "caret"), op, make("span", item.name, "name"), make("span", item.shape, "shape"), make("span", item.place, "place"));
    if (hits.has(item)) element.classList.add("hit");
  }
  element.setAttribute("aria-selected", item === chosen);
  if (item === chosen) element.classList.add("chosen");
  return element;
}
function drawFlow(top, height) {
  const scale = window.devicePixelRatio || 1;
  canvas.width = gutter * scale;
  canvas.height = height * scale;
  canvas.style.width = `${gutter}px`;
  canvas.style.height = `${height}px`;
  canvas.style.marginBottom = `${-height}px`;
  const pen = canvas.getContext("2d");
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.lineWidth = 1.5;
  const y = (row) => row * ROW + ROW / 2 - top, low = top / ROW - 1, high = (top + height) / ROW + 1;
  lanes.forEach((lane, number) => {
    const x = gutter - 10 - number * LANE;
    let from = 0, to = lane.length;  // spans of a lane do not overlap: the first in sight is found by halving
    while (from < to) {
      const middle = (from + to) >> 1;
      if (lane[middle].last < low) from = middle + 1; else to = middle;
    }
    for (; from < lane.length && lane[from].first <= high; from++) {
      const span = lane[from];
      pen.strokeStyle = pen.fillStyle = `hsl(${(number * 67 + 210) % 360} 55% ${dark() ? 65 : 45}%)`;
      pen.globalAlpha = chosen && rowOf.get(chosen) === span.start || chosen && span.ends.has(rowOf.get(chosen)) ? 1 : 0.5;
      pen.beginPath();
      pen.moveTo(x, y(span.first));
      pen.lineTo(x, y(span.last));
      for (const end of [span.start, ...span.ends]) {
        if (end < low || end > high) continue;
        pen.moveTo(x, y(end));
        pen.lineTo(gutter - 3, y(end));
      }
      pen.stroke();
      for (const end of span.ends) {
        if (end < low || end > high) continue;
        pen.beginPath();
        pen.moveTo(gutter, y(end));
        pen.lineTo(gutter - 5, y(end) - 3);
        pen.lineTo(gutter - 5, y(end) + 3);
        pen.fill();
      }
    }
  });
  pen.globalAlpha = 1;
}

// -- choosing -----------------------------------------------------------------------------------------------------------
function choose(item, scroll = true) {
  chosen = item;
  const before = rows.length;
  for (let group = item.items ? item.parent : item.group; group; group = group.parent) group.open = true;
  if (rowOf.get(item) === undefined || rows.length !== before) layout();
  const at = rowOf.get(item);
  if (scroll) {
    const top = at * ROW, height = list.clientHeight;
    if (top < list.scrollTop) list.scrollTop = Math.max(0, top - ROW);
    else if (top + ROW > list.scrollTop + height) list.scrollTop = top + 2 * ROW - height;
  }
  draw();
  list.setAttribute("aria-activedescendant", `row-${at}`);
  describe(item);
}
function toggle(group, open = !group.open) {
  group.open = open;
  layout();
}
function openAll(open) {
  for (const group of groups) group.open = open;
  if (chosen && !open) while (chosen.items ? chosen.parent !== root : chosen.group !== root) chosen = chosen.items ? chosen.parent : chosen.group;
  layout();
  if (chosen) choose(chosen);
}
function describe(item) {
  const panel = $("details");
  panel.replaceChildren();
  if (item.items) {
    panel.append(make("h2", item.label), make("p", `${data.classes[item.path] || "module"}, ${counted(item.count)}`), make("p", item.path.replaceAll("/", ".")));
    const counts = new Map(), waiting = [item];
    while (waiting.length) for (const each of waiting.pop().items) if (each.items) waiting.push(each); else counts.set(each.op, (counts.get(each.op) || 0) + 1);
    table("Operations", [...counts].sort((a, b) => b[1] - a[1]).map(([op, count]) => [op, `${count}`]));
    return;
  }
  panel.append(make("h2", item.op), make("p", item.name));
  if (item.module) panel.append(make("p", `in ${item.module.replaceAll("/", ".")}`));
  if (item.source) {
    panel.append(make("h3", "Source"), make("p", `${item.source.file}, line ${item.source.line}, in ${item.source.function}`));
    if (item.source.text) panel.append(make("pre", item.source.text));
  }
  ends("Inputs", item.inputs, (value) => (value.from ? [value.from] : []));
  ends("Outputs", item.outputs, (value) => value.to);
  table("Attributes", item.attributes);
}
function ends(title, numbers, others) {
  table(title, numbers.map((at) => {
    const value = values[at], cell = make("span");
    cell.append(make("div", [value.type, KINDS[value.kind]].filter(Boolean).join(", ")));
    others(value).slice(0, 20).forEach((node) => {
      const link = make("a", `${node.op} ${node.name}`);
      link.tabIndex = 0;
      link.onclick = () => choose(node);
      link.onkeydown = (event) => { if (event.key === "Enter") choose(node); };
      const line = make("div", title === "Inputs" ? "from " : "to ");
      line.append(link);
      cell.append(line);
    });
    if (others(value).length > 20) cell.append(make("div", `and ${others(value).length - 20} more`));
    return [value.name, cell];
  }));
}
function table(title, pairs) {
  if (!pairs.length) return;
  const made = make("table");
  for (const [key, value] of pairs) {
    const row = made.insertRow();
    row.insertCell().textContent = key;
    row.insertCell().append(value);
  }
  $("details").append(make("h3", title), made);
}

// -- searching ------------------------------------------------------------------------------------------------------------
function search(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const having = (text) => (words.length ? nodes.filter((node) => words.every((word) => text(node).includes(word))) : []);
  matches = having((node) => node.words);
  if (!matches.length) matches = having((node) => node.words + node.more);  // else in lines of the program and names of values
  hits = new Set(matches);
  match = -1;
  $("found").textContent = words.length ? `${matches.length.toLocaleString("en")} found` : "";
  if (matches.length) step(1); else draw();
}
function step(by) {
  if (!matches.length) return;
  match = (match + by + matches.length) % matches.length;
  $("found").textContent = `${(match + 1).toLocaleString("en")} of ${matches.length.toLocaleString("en")}`;
  choose(matches[match]);
}

// -- keys, the mouse, printing ----------------------------------------------------------------------------------------------
function dark() {
  const chosenTheme = document.documentElement.dataset.theme;
  return chosenTheme ? chosenTheme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}
function theme() {
  document.documentElement.dataset.theme = dark() ? "light" : "dark";
  draw();
}
list.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !rows.length) return;
  const at = chosen ? rowOf.get(chosen) : -1, page = Math.max(1, Math.floor(list.clientHeight / ROW) - 1);
  const moves = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: rows.length - 1 };
  if (event.key in moves) choose(rows[Math.min(rows.length - 1, Math.max(0, moves[event.key]))]);
  else if (event.key === "ArrowRight" && chosen && chosen.items) if (chosen.open) choose(chosen.items[0]); else toggle(chosen, true);
  else if (event.key === "ArrowLeft" && chosen) {
    if (chosen.items && chosen.open) toggle(chosen, false);
    else if ((chosen.items ? chosen.parent : chosen.group) !== root) choose(chosen.items ? chosen.parent : chosen.group);
  } else if ((event.key === "Enter" || event.key === " ") && chosen && chosen.items) toggle(chosen);
  else return;
  event.preventDefault();
});
document.addEventListener("keydown", (event) => {
  if (event.target === $("search")) {
    if (event.key === "Enter") { event.preventDefault(); step(event.shiftKey ? -1 : 1); }
    if (event.key === "Escape") { $("search").value = ""; search(""); list.focus(); }
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const keys = { "/": () => $("search").focus(), e: () => openAll(true), c: () => openAll(false), t: theme, n: () => step(1), p: () => step(-1) };
  if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
});
body.addEventListener("click", (event) => {
  const element = event.target.closest(".row");
  if (!element) return;
  const item = rows[Number(element.id.slice(4))];
  if (item.items) item.open = !item.open;
  chosen = item;
  if (item.items) layout();
  choose(item, false);
});
let timer = 0;
$("search").addEventListener("input", (event) => { clearTimeout(timer); timer = setTimeout(search, 80, event.target.value); });
$("expand").onclick = () => openAll(true);
$("collapse").onclick = () => openAll(false);
$("theme").onclick = theme;
list.addEventListener("scroll", draw, { passive: true });
new ResizeObserver(draw).observe(list);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
addEventListener("beforeprint", () => {  // on paper every open row stands
  const made = make("table"), head = made.insertRow();
  for (const title of ["Operation", "Name", "Gives", "Line"]) head.append(make("th", title));
  for (const item of rows) {
    const row = made.insertRow();
    const first = row.insertCell();
    first.style.paddingLeft = `${item.depth * 10}px`;
    first.textContent = item.items ? item.label : item.op;
    for (const text of item.items ? [data.classes[item.path] || "", counted(item.count), ""] : [item.name, item.shape, item.place]) row.insertCell().textContent = text;
    if (item.items) row.className = "group";
  }
  $("print").replaceChildren(made);
});
for (const [key, value] of data.facts) {
  const pair = make("div");
  pair.append(make("dt", key), make("dd", value));
  $("facts").append(pair);
}
layout();
if (rows.length) choose(rows[0]);
list.focus({ preventScroll: true });
