// The inbox: ticks of all equal requests, the bar that counts them, and keys on the row that is
// reached. What a key does is the row's own button or link.
(() => {
  const PLACE = "gatepost.inbox.at";
  const { focus, rows } = gatepost, ticks = gatepost.ticks("#inbox-list", count);
  document.documentElement.classList.add("js");
  // With this script a dialog has asked before the form goes out.
  $("[data-confirmed]").value = "1";

  function count() {
    const n = ticks.all().filter((box) => box.checked).length;
    write($("[data-ticked]"), `${n} ticked`);
    for (const all of $$("[data-ticks-all]")) {
      const own = [...all.closest("li").querySelectorAll("[data-tick]")], on = own.filter((box) => box.checked).length;
      all.checked = on > 0 && on === own.length;
      all.indeterminate = on > 0 && on < own.length;
    }
  }

  listen("click", ({ target }) => {
    if (target.matches("[data-ticks-all]")) ticks.set(target.closest("li").querySelectorAll("[data-tick]"), target.checked);
  });
  listen("change", (event) => {
    if (event.target.matches("[data-submits]")) event.target.form.requestSubmit();
  });
  // Rows come and go with the server: what is ticked is counted anew.
  new MutationObserver(count).observe($(".inbox-page"), { childList: true, subtree: true });
  addEventListener("pageshow", count);

  const reached = () => document.activeElement.closest("[data-row]") || $('[data-row][data-at="true"]');
  const open = (row, hash) => {
    const link = row.querySelector("a.go");
    if (!link) row.parentElement.open = true;
    else {
      link.hash = hash;
      link.click();
    }
  };
  addEventListener("keydown", (event) => {
    if (gatepost.busy(event) || event.repeat) return;
    const row = reached();
    if (!row || !"xareq".includes(event.key) || event.key.length !== 1) return;
    event.preventDefault();
    if (event.key === "x") {
      (row.querySelector("[data-tick]") || row.closest(".alike-row")?.querySelector("[data-ticks-all]"))?.click();
    } else if (event.key === "e" || event.key === "q") {
      open(row, event.key === "e" ? "#edit" : "#ask");
    } else {
      const button = row.querySelector(`[data-do="${event.key}"]`);
      if (!button) return open(row, "");
      sessionStorage.setItem(PLACE, JSON.stringify([location.search, rows().indexOf(row)]));
      button.click();
    }
  });
  // After a decision by key the next row stands where the decided one stood.
  const [where, at] = JSON.parse(sessionStorage.getItem(PLACE) || "[]");
  sessionStorage.removeItem(PLACE);
  const row = where === location.search ? rows()[Math.min(at, rows().length - 1)] : null;
  if (row) {
    row.dataset.at = "true";
    focus(row);
  }
  count();
})();
