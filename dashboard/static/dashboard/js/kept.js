// A request that somebody else decides stays in place, greyed out and with its outcome.
(() => {
  const MOST = 100, PAUSE_MS = 50;
  const page = $("[data-ended]");
  const rowsOf = (el) => [...el.querySelectorAll('li.irow[id^="approval-"]')];
  const kept = new Set(); // ids of rows, the oldest first
  let asked = new Set();

  function drop(id) {
    kept.delete(id);
    const row = byId(id);
    if (!row?.hasAttribute("data-was")) return; // somebody took their decision back
    row.remove();
    const card = byId("inbox-was");
    if (card && !card.querySelector("li")) card.remove();
  }
  function close(row) {
    row.removeAttribute("data-row");
    row.setAttribute("data-was", "");
    row.classList.add("was");
    const tick = row.querySelector(".tick");
    tick?.classList.add("none");
    tick?.replaceChildren();
    row.querySelector(".quick")?.remove();
    kept.delete(row.id);
    kept.add(row.id);
    if (kept.size > MOST) drop(kept.values().next().value);
    if (!asked.size) setTimeout(look, PAUSE_MS);
    asked.add(row.id);
  }
  // Only the server knows why a row is gone: decided, or still open and elsewhere.
  async function look() {
    const ids = [...asked];
    asked = new Set();
    const query = ids.map((id) => `id=${id.slice("approval-".length)}`).join("&");
    let ended = {};
    try {
      const answer = await fetch(`${page.dataset.ended}?${query}`, { headers: { Accept: "application/json" }, cache: "no-store" });
      if (answer.ok) ({ ended } = await answer.json());
    } catch { /* Without an answer its row is removed. */ }
    for (const id of ids) {
      const outcome = ended[id.slice("approval-".length)], row = byId(id);
      if (!outcome) drop(id);
      else if (row?.hasAttribute("data-was")) show(row, outcome);
    }
  }
  // In place of its time, which no longer matters.
  function show(row, outcome) {
    const text = document.createElement("span"), times = row.querySelector(".go").lastElementChild;
    Object.assign(text, { className: "end", textContent: outcome });
    times.replaceChildren(...times.querySelectorAll(":scope > b"), text);
  }

  // Equal ones are named by their first, which may be gone: the fold stays the one that stood open.
  function same(row, near, next) {
    const was = row.closest(".alike-row"), is = near.closest(".alike-row");
    if (!was || !is || was.id === is.id || next.querySelector(`#${CSS.escape(was.id)}`)) return;
    is.querySelector("summary").id = was.querySelector("summary").id;
    is.id = was.id;
  }

  function put(row, all, next) {
    const have = (one) => next.querySelector(`#${CSS.escape(one.id)}`);
    const folds = row.parentElement.matches(".members"), i = all.indexOf(row);
    const top = (el) => el.closest("ul.inbox > li");
    const find = (rows, own) => rows.find((one) => (!own || one.parentElement === row.parentElement) && have(one));
    const back = all.slice(0, i).reverse(), on = all.slice(i + 1), copy = row.cloneNode(true);
    // Beside the nearest row of its own list, else of any.
    for (const own of [true, false]) for (const [rows, side] of [[back, "after"], [on, "before"]]) {
      const near = find(rows, own), inside = own && folds;
      if (!near) continue;
      if (inside) same(row, have(near), next);
      return (inside ? have(near) : top(have(near)))[side](copy);
    }
    const card = document.createElement("div");
    Object.assign(card, { id: "inbox-was", className: "card", innerHTML: '<ul class="inbox"></ul>' });
    card.firstChild.append(copy);
    next.prepend(card);
  }

  // Called with each fragment before it is compared: what left the list is put back into it.
  gatepost.keep = (region, next) => {
    if (!page || region.id !== "inbox-list") return;
    for (const stale of next.querySelectorAll("[data-was], #inbox-was")) stale.remove();
    const all = rowsOf(region), stays = new Set(rowsOf(next).map((row) => row.id));
    for (const row of all) {
      if (stays.has(row.id)) { kept.delete(row.id); continue; }
      if (!row.hasAttribute("data-was")) {
        if (!row.checkVisibility()) continue; // of folded equal ones the number tells
        close(row);
      }
      if (kept.has(row.id)) put(row, all, next);
    }
  };
})();
