"use strict";
// Sorting and searching of tables, and details on hover. Values are added to the page as text, never as markup.

// The tables are visible without this script; controls that need it are shown by it.
for (const table of document.querySelectorAll("table[data-sortable]")) {
  table.tHead.rows[0].querySelectorAll("th").forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => sort(table, head, column));
  });
}

function sort(table, head, column) {
  const downwards = head.getAttribute("aria-sort") === "ascending";
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", downwards ? "descending" : "ascending");
  const text = new Intl.Collator(undefined, { numeric: true });
  const keyed = Array.from(table.tBodies[0].rows, (row) => {
    const cell = row.cells[column];
    const value = cell.dataset.value;
    return { row, value: value === undefined ? null : Number(value), text: cell.textContent.trim() };
  });
  const numbers = keyed.some((each) => each.value !== null);
  keyed.sort((a, b) => {
    if (!numbers) return (downwards ? -1 : 1) * text.compare(a.text, b.text);
    // Rows without a number come last in both directions.
    if (a.value === null || b.value === null) return (a.value === null) - (b.value === null);
    return (downwards ? -1 : 1) * (a.value - b.value);
  });
  table.tBodies[0].append(...keyed.map((each) => each.row));
}

for (const tools of document.querySelectorAll(".tools")) {
  const field = tools.querySelector("input");
  const matches = tools.querySelector("output");
  const rows = Array.from(tools.parentElement.querySelectorAll("tbody tr"), (row) => ({
    row,
    text: row.textContent.toLowerCase(),
  }));
  tools.hidden = false;
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let found = 0;
    for (const each of rows) {
      const shown = words.every((word) => each.text.includes(word));
      each.row.hidden = !shown;
      found += shown;
    }
    matches.textContent = words.length ? `${found} of ${rows.length} rows` : "";
  });
}

// A page opened from a file may not be allowed to use the clipboard; then the text is selected for manual copying.
for (const button of document.querySelectorAll("button.copy-button")) {
  const source = document.getElementById(button.dataset.copy);
  button.hidden = false;
  button.addEventListener("click", async () => {
    const range = document.createRange();
    range.selectNodeContents(source);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    let copied = false;
    try {
      await navigator.clipboard.writeText(source.textContent);
      copied = true;
    } catch {
      copied = document.execCommand("copy");
    }
    button.textContent = copied ? "Copied" : "Selected";
  });
}

const tip = document.querySelector(".tip");

document.addEventListener("pointerover", (event) => {
  const mark = event.target.closest("[data-tip]");
  tip.hidden = !mark;
  if (mark) {
    tip.textContent = mark.dataset.tip;
    place(event);
  }
});
document.addEventListener("pointermove", (event) => {
  if (!tip.hidden) place(event);
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") tip.hidden = true;
});

function place(event) {
  const room = 12;
  const left = Math.min(event.clientX + room, innerWidth - tip.offsetWidth - room);
  const below = event.clientY + room + tip.offsetHeight < innerHeight;
  tip.style.left = `${Math.max(left, room)}px`;
  tip.style.top = `${below ? event.clientY + room : event.clientY - room - tip.offsetHeight}px`;
}
