"use strict";
const all = (selector, from = document) => [...from.querySelectorAll(selector)];

document.getElementById("filter").addEventListener("input", (event) => {
  const words = event.target.value.toLowerCase().split(/[\s,]+/).filter(Boolean);
  for (const row of all("tr.row")) {
    const text = row.dataset.words.toLowerCase();
    row.hidden = words.length > 0 && !words.some((word) => text.includes(word));
  }
});

document.getElementById("view").addEventListener("change", (event) => {
  for (const view of all(".view")) view.hidden = view.dataset.view !== event.target.value;
});

function sort(head, falls) {
  const body = head.closest("table").tBodies[0];
  const column = [...head.parentElement.children].indexOf(head);
  for (const other of head.parentElement.children) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", falls ? "descending" : "ascending");
  const value = (row) => row.children[column].dataset.value;
  const compare = (a, b) => (isNaN(value(a)) ? value(a).localeCompare(value(b)) : value(a) - value(b));
  body.append(...all("tr", body).sort((a, b) => (falls ? compare(b, a) : compare(a, b))));
}

// Figures begin with the best, names and places with the first.
const fallsAtFirst = (name) => !["Entry", "Place"].includes(name);

for (const button of all(".board thead button")) {
  button.addEventListener("click", () => {
    const now = button.parentElement.getAttribute("aria-sort");
    sort(button.parentElement, now ? now === "ascending" : fallsAtFirst(button.textContent));
  });
}

// A phone shows no header row to press.
document.getElementById("order").addEventListener("change", (event) => {
  for (const button of all(".board thead button")) {
    if (button.textContent === event.target.value) sort(button.parentElement, fallsAtFirst(event.target.value));
  }
});
