// Rows don't move while a pointer or keys are used over their list: they are patched in place; new,
// removed and moved rows wait behind a button. A focused row stays, greyed out, after it left the list.
(() => {
  const HAND_MS = 1500, KEYS_MS = 4000;
  const waiting = new Map(); // region id -> the newest fragment
  let moved = 0, keyed = 0;
  addEventListener("pointermove", () => { moved = performance.now(); }, { passive: true });
  addEventListener("keydown", () => { keyed = performance.now(); });

  const aimed = (el) => {
    const now = performance.now();
    return (now - moved < HAND_MS && el.matches(":hover")) || (now - keyed < KEYS_MS && el.contains(document.activeElement));
  };
  const order = (el) => [...el.querySelectorAll("[data-row], [data-was]")].map((row) => row.id);

  // Put the focused row into the fragment where it stood, if the fragment lacks it.
  gatepost.stay = (region, next) => {
    const row = document.activeElement?.closest("[data-row]");
    if (!row || !region.contains(row) || next.querySelector(`#${CSS.escape(row.id)}`)) return;
    const lane = row.closest("tbody"), copy = row.cloneNode(true);
    copy.setAttribute("data-gone", "");
    let host = lane && next.querySelector(`#${CSS.escape(lane.id)}`);
    if (!host) {
      if (!lane) return;
      if (!next.querySelector("table")) {
        next.replaceChildren(...[...region.childNodes].map((child) => child.cloneNode(true)));
        for (const other of next.querySelectorAll("tbody")) other.remove();
      }
      const table = next.querySelector("table");
      host = lane.cloneNode(false);
      host.append(lane.querySelector("tr.lane")?.cloneNode(true) ?? "");
      table.append(host);
    }
    let near = row.previousElementSibling;
    while (near && !host.querySelector(`:scope > #${CSS.escape(near.id)}`)) near = near.previousElementSibling;
    const after = near && host.querySelector(`:scope > #${CSS.escape(near.id)}`);
    if (after) after.after(copy);
    else host.append(copy);
  };

  function forget(id) {
    waiting.delete(id);
    byId(`${id}-new`)?.remove();
  }
  function release(id) {
    const region = byId(id), next = waiting.get(id);
    forget(id);
    if (!region || !next) return;
    gatepost.keep?.(region, next);
    gatepost.stay(region, next);
    gatepost.morph(region, next);
  }

  // True when the fragment was taken into keeping; the caller then leaves the region alone.
  gatepost.hold = (region, next) => {
    const before = order(region), after = order(next);
    if (before.join() === after.join() || !aimed(region)) {
      forget(region.id);
      return false;
    }
    waiting.set(region.id, next.cloneNode(true));
    for (const row of next.querySelectorAll("[data-row]")) {
      const have = byId(row.id);
      if (have && region.contains(have)) gatepost.morph(have, row.cloneNode(true));
    }
    const fresh = after.filter((id) => !before.includes(id)).length;
    let pill = byId(`${region.id}-new`);
    if (!pill) {
      pill = document.createElement("button");
      Object.assign(pill, { id: `${region.id}-new`, type: "button", className: "newpill" });
      pill.addEventListener("click", () => release(region.id));
      region.before(pill);
    }
    pill.textContent = fresh ? `${fresh} new, show` : "Order changed, show";
    return true;
  };
  setInterval(() => {
    for (const id of waiting.keys()) {
      const region = byId(id);
      if (!region || !aimed(region)) release(id);
    }
  }, 500);
})();
