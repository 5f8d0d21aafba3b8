"""The style and the script of a report: all that the page needs, and nothing from elsewhere."""

STYLE = """
:root {
  color-scheme: light dark;
  --ink: #1c2126; --soft: #5a646e; --line: #dfe3e7; --page: #f5f6f8;
  --card: #fff; --own: #0067a3; --other: #c14f00; --good: #00734f; }
@media screen and (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ec; --soft: #a3adb7; --line: #39424b; --page: #14181c; --card: #1d2329; --own: #5ab8ef; --other: #f0a050; --good: #4cc79c; }
}
* { box-sizing: border-box; }
[hidden] { display: none !important; }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 1180px; margin: 0 auto; padding: 20px 16px 48px; }
h1 { font-size: 1.7rem; margin: .2em 0; }
h2 { font-size: 1.25rem; margin: 1.8em 0 .4em; }
h3 { font-size: 1rem; margin: 0 0 .3em; }
p { margin: .4em 0; max-width: 75ch; }
.soft, figcaption, .rule { color: var(--soft); font-size: .9rem; }
.answer { border-left: 4px solid var(--own); padding: 4px 0 4px 16px; font-size: 1.08rem; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 420px), 1fr)); gap: 16px; align-items: start; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 14px; margin: 0; min-width: 0; }
svg { display: block; width: 100%; height: auto; max-width: 620px; margin: 4px auto; }
svg text { font: 12.5px system-ui, sans-serif; fill: var(--soft); }
svg .small { font-size: 10px; }
svg .tag { fill: var(--ink); font-weight: 600; }
.grid { stroke: var(--line); }
.zero { stroke: var(--soft); stroke-width: 1.3; }
.limit { stroke: var(--soft); stroke-dasharray: 4 4; }
.reach { stroke: var(--own); stroke-width: 2.4; opacity: .55; fill: none; }
.reach.thin { stroke-width: 1; opacity: .35; }
.other-line { stroke: var(--other); }
.curve { fill: none; stroke: var(--own); stroke-width: 2; }
.bar { fill: var(--own); opacity: .45; }
.own { fill: var(--own); }
.faint { opacity: .45; }
.other { fill: var(--card); stroke: var(--other); stroke-width: 2; }
.key-own::before, .key-other::before { content: "●"; color: var(--own); margin-right: .3em; }
.key-other::before { content: "○"; color: var(--other); }
.box { overflow: auto; max-height: min(75vh, 620px); background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
.low { max-height: 640px; border: 0; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; font-variant-numeric: tabular-nums; }
th, td { padding: 4px 10px; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { color: var(--soft); font-weight: 600; white-space: normal; vertical-align: bottom; }
.box:not(.low) thead th { position: sticky; top: 0; background: var(--card); z-index: 1; }
.text { text-align: left; white-space: normal; overflow-wrap: anywhere; min-width: 9em; }
.low th, .low td { padding: 3px 6px; }
th.text { overflow-wrap: normal; }
.low .text { min-width: 8.5em; }
#ranking .text { width: 30%; }
#ranking bdi { display: -webkit-inline-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2; overflow: hidden; vertical-align: bottom; }
.mark { color: var(--other); font-size: .85em; white-space: nowrap; }
th button { all: unset; cursor: pointer; }
th button:focus-visible { outline: 2px solid var(--own); }
th[aria-sort=ascending] button::after { content: " ▲"; }
th[aria-sort=descending] button::after { content: " ▼"; }
.bars { position: relative; width: 130px; min-width: 90px; }
.bars i { position: absolute; top: 50%; height: 3px; margin-top: -1px; background: var(--own); opacity: .5; border-radius: 2px; }
.bars b { position: absolute; top: 50%; width: 7px; height: 7px; margin: -3.5px; border-radius: 50%; background: var(--own); }
.tools { display: flex; flex-wrap: wrap; gap: 10px; align-items: center; margin: 10px 0; }
input { font: inherit; padding: 5px 10px; border: 1px solid var(--line); border-radius: 6px; background: var(--card);
  color: var(--ink); width: min(100%, 320px); }
.check { border-left: 4px solid var(--good); }
.check.look { border-left-color: var(--other); }
.check p { margin: 0; }
.verdict { font-weight: 600; color: var(--good); }
.look .verdict { color: var(--other); }
summary { cursor: pointer; color: var(--soft); }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: var(--page); border: 1px solid var(--line);
  border-radius: 6px; padding: 8px 12px; font-size: .88rem; margin: .4em 0; }
.only-print { display: none; }
bdi, dd, dt { overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 2px 16px; margin: .4em 0; }
dt { color: var(--soft); }
dd { margin: 0; }
@media (max-width: 640px) {
  .maybe { display: none; }
  th, td { padding: 4px; }
  .text { min-width: 5em; }
  .span { white-space: normal; }
  #ranking { font-size: .85rem; }
  #ranking bdi { -webkit-line-clamp: 3; }
  .low table { font-size: .8rem; }
  .low th, .low td { padding: 3px 2px; white-space: normal; }
  .low .text { min-width: 5.2em; }
  svg text { font-size: 14.5px; }
  svg .small { font-size: 12px; }
  dl { grid-template-columns: 1fr; }
  dt { margin-top: 4px; }
}
@media print {
  body { background: none; font-size: 10pt; }
  .box { max-height: none; overflow: visible; }
  .tools { display: none; }
  .only-print { display: block; }
  #ranking tbody tr:nth-child(n+51) { display: none; }
  table { font-size: 8pt; }
  th, td { padding: 1px 4px; }
  .bars { width: 80px; min-width: 60px; }
  .low table { font-size: 7pt; }
  .low .text { min-width: 6em; }
  .low td { white-space: normal; }
  .card, .check, tr { break-inside: avoid; }
  h2 { break-after: avoid; }
  .cards { grid-template-columns: 1fr 1fr; }
}
"""

SCRIPT = """
"use strict";
const table = document.getElementById("ranking"), body = table.tBodies[0], rows = Array.from(body.rows);
const search = document.getElementById("search"), found = document.getElementById("found");
const names = rows.map(row => row.cells[1].textContent.toLowerCase());

function show() {
  const wanted = search.value.trim().toLowerCase();
  let shown = 0;
  rows.forEach((row, place) => {
    row.hidden = !names[place].includes(wanted);
    shown += !row.hidden;
  });
  found.textContent = wanted ? shown + " of " + rows.length + " items" : rows.length + (rows.length === 1 ? " item" : " items");
}

function value(row, column) {
  const text = row.cells[column].dataset.value || row.cells[column].textContent.trim();
  const number = parseFloat(text.replace(/,/g, ""));
  return column === 1 ? text : number;
}

function compare(a, b) {
  if (typeof a === "string") return a.localeCompare(b, undefined, { numeric: true });
  if (Number.isNaN(a) || Number.isNaN(b)) return 0;
  return a - b;
}

function sort(head) {
  const column = head.cellIndex, down = head.getAttribute("aria-sort") === "ascending";
  for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const known = [], unknown = [];
  for (const row of rows) (Number.isNaN(value(row, column)) ? unknown : known).push([value(row, column), row]);
  known.sort((a, b) => down ? compare(b[0], a[0]) : compare(a[0], b[0]));
  body.append(...known.concat(unknown).map(pair => pair[1]));
}

for (const head of table.tHead.rows[0].cells) {
  const button = head.querySelector("button");
  if (button) button.addEventListener("click", () => sort(head));
}
search.addEventListener("input", show);
document.getElementById("tools").hidden = false;
show();
"""
