"use strict";
// Sort the table of classes by a column: first ascending, then descending.
const table = document.getElementById("class-table");
const body = table.tBodies[0];
const value = (row, column) => row.cells[column].dataset.value ?? row.cells[column].textContent;
const natural = new Intl.Collator(undefined, { numeric: true });
for (const header of table.tHead.rows[0].cells) {
  header.firstElementChild.addEventListener("click", () => {
    const down = header.getAttribute("aria-sort") === "ascending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", down ? "descending" : "ascending");
    const order = (a, b) => natural.compare(value(a, header.cellIndex), value(b, header.cellIndex));
    const number = (a, b) => value(a, header.cellIndex) - value(b, header.cellIndex);
    const compare = header.className === "number" ? number : order;
    body.append(...[...body.rows].sort((a, b) => (down ? -1 : 1) * compare(a, b)));
  });
}

// Show only the classes whose row contains the search text.
const find = document.getElementById("find");
find.addEventListener("input", () => {
  const wanted = find.value.trim().toLowerCase();
  let shown = 0;
  for (const row of body.rows) {
    row.hidden = !row.textContent.toLowerCase().includes(wanted);
    shown += !row.hidden;
  }
  document.getElementById("found").textContent = wanted ? `${shown} of ${body.rows.length}` : "";
});

// Name the cell of the confusion matrix under the pointer, or the one that the arrow keys select.
const heat = document.getElementById("heat");
if (heat) {
  const names = JSON.parse(heat.dataset.names);
  const counts = JSON.parse(heat.dataset.counts);
  const cell = document.getElementById("cell");
  const mark = document.getElementById("mark");
  const mistakes = Object.keys(counts).map((key) => key.split(",").map(Number)).filter(([row, column]) => row !== column);
  const tell = (row, column) => {
    const n = counts[`${row},${column}`] ?? 0;
    cell.textContent = row === column ? `${names[row]}: ${n} correct` : `${names[row]} classified as ${names[column]}: ${n}`;
  };
  const point = (event) => {
    const box = heat.getBoundingClientRect();
    const at = (where, start, size) => Math.min(names.length - 1, Math.max(0, Math.floor(((where - start) / size) * names.length)));
    mark.hidden = true;
    tell(at(event.clientY, box.top, box.height), at(event.clientX, box.left, box.width));
  };
  let here = -1;
  heat.addEventListener("pointermove", point);
  heat.addEventListener("pointerdown", point);
  heat.addEventListener("keydown", (event) => {
    const way = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!way || !mistakes.length) return;
    event.preventDefault();
    here = here < 0 && way < 0 ? mistakes.length - 1 : (here + way + mistakes.length) % mistakes.length;
    const [row, column] = mistakes[here];
    mark.hidden = false;
    mark.style.top = `${(100 * (row + 0.5)) / names.length}%`;
    mark.style.left = `${(100 * (column + 0.5)) / names.length}%`;
    tell(row, column);
  });
}
