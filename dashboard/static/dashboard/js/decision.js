// The decision page: live.js sends data-seen, what the person has looked at; countdowns
// follow the server's clock.
(() => {
  // Somebody else decided meanwhile: what this person had written goes into the new fragment.
  const NOTES = ["dialog[open] textarea", "#comment", "#reject-reason", "#ask-text", "#kept-note"];
  gatepost.keep = (region, next) => {
    const kept = region.id === "approval-side" && next.querySelector("#kept-note");
    if (!kept) return;
    const typed = NOTES.map((one) => region.querySelector(one)?.value.trim()).find(Boolean);
    if (typed) kept.textContent = typed;
  };

  listen("click", (event) => {
    const link = event.target.closest("[data-looked]");
    if (!link || !gatepost.ask) return; // without scripts it is a link to the page anew
    event.preventDefault();
    $("[data-seen]").dataset.seen = link.dataset.looked;
    gatepost.ask(["approval-changed", "approval-side"]);
  });

  // From the inbox, `e` and `q` on a row lead here with the wish in the address.
  addEventListener("DOMContentLoaded", () => {
    const wish = { "#edit": "edit", "#ask": "ask-back" }[location.hash];
    if (!wish) return;
    history.replaceState(null, "", location.pathname + location.search);
    byId(wish)?.click();
  });

  function tick() {
    const now = gatepost.now();
    for (const bar of $$("progress[data-since]")) {
      const since = Date.parse(bar.dataset.since), whole = Date.parse(bar.dataset.until) - since;
      if (whole > 0) bar.value = Math.max(0, Math.min(100, (100 * (now - since)) / whole));
    }
    for (const el of $$("button[data-until], form[data-until]")) el.hidden = now >= Date.parse(el.dataset.until);
    for (const el of $$("[data-show-at]")) if (now >= Date.parse(el.dataset.showAt)) el.hidden = false;
  }
  // times.js, which gives the server's clock, comes later: it has run by then.
  addEventListener("DOMContentLoaded", () => setInterval(() => document.hidden || tick(), 500));
})();
