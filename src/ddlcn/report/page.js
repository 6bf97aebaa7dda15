"use strict";
// Sort the table of classes by a column: first ascending, then descending.
const natural = new Intl.Collator(undefined, { numeric: true });
for (const header of document.querySelectorAll("#class-table thead th")) {
  header.firstElementChild.addEventListener("click", () => {
    const body = header.closest("table").tBodies[0];
    const down = header.getAttribute("aria-sort") === "ascending";
    for (const other of header.parentNode.cells) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", down ? "descending" : "ascending");
    const value = (row) => row.cells[header.cellIndex].dataset.value ?? row.cells[header.cellIndex].textContent;
    const compare = (a, b) => (header.className === "number" ? value(a) - value(b) : natural.compare(value(a), value(b)));
    body.append(...[...body.rows].sort((a, b) => (down ? -1 : 1) * compare(a, b)));
  });
}

// Show only the classes or mistakes that contain the search text.
for (const find of document.querySelectorAll("[data-find]")) {
  find.addEventListener("input", () => {
    const wanted = find.value.trim().toLowerCase();
    const items = [...document.querySelectorAll(find.dataset.find)];
    for (const item of items) item.hidden = !item.textContent.toLowerCase().includes(wanted);
    const shown = items.filter((item) => !item.hidden).length;
    find.closest("p").querySelector("output").textContent = wanted ? `${shown} of ${items.length}` : "";
  });
}

// Lay evidence over the original; a slider moves from one to the other.
for (const compare of document.querySelectorAll(".compare")) {
  const card = compare.closest("[data-view]");
  const { src } = card.querySelector(".before") ?? card.querySelector(".original img");
  const { className } = card.querySelector(".original img");
  if (!compare.querySelector(".before")) compare.prepend(Object.assign(new Image(), { src, alt: "", className: `before ${className}` }));
}
document.addEventListener("input", ({ target }) => {
  if (target.matches(".wipe input")) target.closest("[data-view]").style.setProperty("--cut", `${target.value}%`);
});

// Show a mistake or figure larger: a copy of it in a dialog. The arrow keys show the one before and the one after.
const viewer = document.getElementById("viewer");
let viewed;
const neighbours = () => [...viewed.parentNode.children].filter((each) => each.matches("[data-view]:not([hidden])"));
function view(item) {
  viewed = item;
  const copy = item.cloneNode(true);
  for (const button of copy.querySelectorAll("button.view")) {
    const box = Object.assign(document.createElement("div"), { className: button.className });
    box.append(...button.childNodes);
    button.replaceWith(box);
  }
  document.getElementById("view").replaceChildren(copy);
  const all = neighbours();
  document.getElementById("position").textContent = `${all.indexOf(item) + 1} of ${all.length}`;
  for (const id of ["previous", "position", "next"]) document.getElementById(id).hidden = all.length < 2;
  if (!viewer.open) viewer.showModal();
  viewer.scrollTop = 0;
}
const step = (way) => {
  const all = neighbours();
  view(all[(all.indexOf(viewed) + way + all.length) % all.length]);
};
for (const button of document.querySelectorAll("button.view")) button.addEventListener("click", () => view(button.closest("[data-view]")));
document.getElementById("previous").addEventListener("click", () => step(-1));
document.getElementById("next").addEventListener("click", () => step(1));
document.getElementById("close").addEventListener("click", () => viewer.close());
viewer.addEventListener("click", (event) => event.target === viewer && viewer.close()); // outside of it
viewer.addEventListener("close", () => viewed.querySelector("button.view").focus());
viewer.addEventListener("keydown", (event) => {
  const way = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (way && !event.target.matches("input")) step(way);
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
