// Ticks on the rows of the board, and the bar that takes ticked threads to the page for many. The
// server sends rows without them: a board holds many. Without scripts the page has its own ticks.
(() => {
  const bar = byId("ticked"), form = byId("act");
  if (!bar) return; // not a person who may act
  const on = new Set(); // ids of threads, wherever their rows are by now
  const { all } = gatepost.ticks("#board-lanes", (boxes, ticked) => {
    if (!ticked && boxes.length === all().length) on.clear();
    for (const box of boxes) ticked ? on.add(box.value) : on.delete(box.value);
    show();
  });
  function show() {
    const here = all(), away = on.size - here.filter((box) => on.has(box.value)).length;
    for (const box of here) box.checked = on.has(box.value);
    bar.hidden = !on.size;
    write(bar.querySelector("[data-ticked]"), `${on.size} ticked${away ? `, ${away} not on this page` : ""}`);
  }
  // Called with each fragment before it is compared, so that a row keeps its box.
  gatepost.tickable = (root) => {
    for (const cell of root.querySelectorAll("#board-lanes tr[data-row] > .c-th")) {
      if (cell.querySelector("[data-tick]")) continue;
      const label = document.createElement("label"), box = document.createElement("input"), id = cell.parentElement.id.slice("thread-".length);
      label.className = "tick";
      Object.assign(box, { type: "checkbox", value: id, checked: on.has(id) });
      box.setAttribute("aria-label", `Tick ${cell.querySelector(".title").textContent.trim()}`);
      box.dataset.tick = "";
      label.append(box);
      cell.prepend(label);
    }
  };
  const anew = () => { gatepost.tickable(document); show(); };
  listen("htmx:afterSettle", anew);
  new MutationObserver(show).observe(byId("board-lanes").parentElement, { childList: true, subtree: true });
  anew();

  form.addEventListener("submit", ({ submitter }) => {
    for (const field of form.querySelectorAll("[data-chosen]")) field.remove();
    if (!bar.contains(submitter)) return;
    const put = (name, value) => {
      const field = document.createElement("input");
      Object.assign(field, { type: "hidden", name, value });
      field.dataset.chosen = "";
      form.append(field);
    };
    put("board", location.search.slice(1));
    // The page reads each thread anew: the version that is acted on is the one it shows.
    for (const id of on) put("thread", `${id}:0`);
  });
  // In front of the keys of the page: with ticks `a` means these.
  addEventListener("keydown", (event) => {
    if (gatepost.busy(event) || event.repeat) return;
    const row = document.activeElement.closest("#board-lanes [data-row]") || $('#board-lanes [data-at="true"]');
    const what = event.key === "a" && on.size ? bar.querySelector("[name=do]") : event.key === "x" && row?.querySelector("[data-tick]");
    if (!what) return;
    event.preventDefault();
    what.click();
  }, true);
})();
