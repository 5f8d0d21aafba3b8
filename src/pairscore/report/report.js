// Search and sorting of the ranking; the page works without them.
"use strict";
const table = document.getElementById("ranking");
const body = table.tBodies[0], rows = Array.from(body.rows);
const search = document.getElementById("search"), matches = document.getElementById("matches");
const names = rows.map(row => row.cells[1].textContent.toLowerCase());

function show() {
  const wanted = search.value.trim().toLowerCase();
  let shown = 0;
  rows.forEach((row, place) => {
    row.hidden = !names[place].includes(wanted);
    shown += !row.hidden;
  });
  const all = rows.length + (rows.length === 1 ? " item" : " items");
  matches.textContent = wanted ? shown + " of " + rows.length + " items" : all;
  fit();
}

// the box ends with a whole row
function fit() {
  const box = table.parentElement, room = Math.min(0.75 * innerHeight, 620);
  let end = 0;
  for (const row of rows) {
    const bottom = row.offsetTop + row.offsetHeight;
    if (!row.hidden && bottom <= room) end = Math.max(end, bottom);
  }
  box.style.maxHeight = end ? end + 2 + "px" : "";
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
  for (const row of rows) {
    const key = value(row, column);
    (Number.isNaN(key) ? unknown : known).push([key, row]);
  }
  known.sort((a, b) => down ? compare(b[0], a[0]) : compare(a[0], b[0]));
  body.append(...known.concat(unknown).map(pair => pair[1]));
  fit();
}

for (const head of table.tHead.rows[0].cells) {
  const button = head.querySelector("button");
  if (button) button.addEventListener("click", () => sort(head));
}
search.addEventListener("input", show);
document.getElementById("tools").hidden = false;
show();
