// Keyboard: a key acts only outside of fields and dialogs, and without a modifier.
(() => {
  let at = -1, prefix = "";
  const rows = () => $$("[data-row]").filter((row) => row.checkVisibility());
  // A tick takes no text: keys act beside it.
  const TYPES = "input:not([type=checkbox], [type=radio], [type=button], [type=submit]), textarea, select";
  const busy = (event) =>
    event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || event.isComposing ||
    event.target.isContentEditable || event.target.matches?.(TYPES) || $("dialog[open]");
  const focus = (row) => (row.querySelector("a[href]") || row).focus();
  Object.assign(gatepost, { busy, focus, rows });

  function go(step) {
    const all = rows();
    if (!all.length) return false;
    const focused = all.findIndex((row) => row.contains(document.activeElement));
    const now = focused < 0 ? all.findIndex((row) => row.dataset.at === "true") : focused;
    // From a row that somebody else decided, on to its neighbours.
    const was = now < 0 && $('[data-was][data-at="true"]');
    if (was) {
      const next = all.findIndex((row) => was.compareDocumentPosition(row) & Node.DOCUMENT_POSITION_FOLLOWING);
      at = (next < 0 ? all.length : next) - (step > 0 ? 1 : 0);
      delete was.dataset.at;
    }
    at = Math.max(0, Math.min(all.length - 1, (now < 0 ? at : now) + step));
    for (const row of all) delete row.dataset.at;
    all[at].dataset.at = "true";
    focus(all[at]);
    return true;
  }

  addEventListener("keydown", (event) => {
    if (busy(event)) return;
    if (prefix === "g") {
      prefix = "";
      const goal = { b: "/", a: $('.top nav a[href^="/approvals/"]')?.href || "/approvals/" }[event.key];
      if (goal) { event.preventDefault(); location.assign(goal); return; }
    }
    if (event.key === "g") { prefix = "g"; setTimeout(() => { prefix = ""; }, 1000); return; }
    if (event.repeat && !"jk".includes(event.key)) return;
    const hit = $$(`[data-key="${CSS.escape(event.key)}"]`).find((el) => el.checkVisibility());
    const step = { j: 1, k: -1 }[event.key], q = byId("q");
    if (hit) hit.click();
    else if (step) { if (!go(step)) return; }
    else if (event.key === "/" && q) q.select();
    else if (event.key === "?") $("[data-open=keys]")?.click();
    else return;
    event.preventDefault();
  });

  // Back on a list, the row that was left has the focus again.
  addEventListener("click", ({ target }) => {
    const row = target.closest?.("[data-row]");
    if (row) history.replaceState({ ...history.state, row: row.id }, "");
  });
  const left = byId(history.state?.row);
  if (left) focus(left);
})();
