// Live progress: text and a bar of the runs on this page. Without it the page loads itself again.
"use strict";
(function () {
  const rows = new Map();
  for (const row of document.querySelectorAll("[data-run]")) rows.set(row.dataset.run, row);
  const typing = () => document.activeElement && document.activeElement.matches("input, select");
  function changed() {
    const note = document.getElementById("changed");
    const chosen = document.querySelector("input[type=checkbox]:checked");
    if (note && (typing() || chosen)) note.hidden = false;
    else location.reload();
  }
  function show(row, run) {
    const place = row.matches("tr") ? row : document;
    const words = place.querySelector("[data-words]");
    const bar = place.querySelector("progress");
    const state = place.querySelector("[data-state]");
    if (state) state.textContent = run.state_words;
    if (words) words.textContent = run.words;
    if (bar && run.share !== null) { bar.hidden = false; bar.value = run.share; }
  }
  const source = new EventSource("/live");
  source.onmessage = (event) => {
    const message = JSON.parse(event.data);
    const problem = document.getElementById("problem");
    if (problem) { problem.hidden = !message.problem; problem.textContent = message.problem; }
    const list = document.querySelector("table[data-live]");
    for (const run of message.runs) {
      const row = rows.get(message.store + ":" + run.run);
      if (!row) {
        const first = !location.search;
        if (list && first && run.state === "in progress") { changed(); return; }
        continue;
      }
      if (run.state !== row.dataset.was) { changed(); return; }
      show(row, run);
    }
  };
})();
