// gatepost.badge: what the page knows about its connection, and what may not be pressed meanwhile.
window.gatepost ??= {};
gatepost.badge = (() => {
  const badge = document.getElementById("live-badge");
  if (!badge) return null;
  const two = (n) => String(n).padStart(2, "0");

  // While offline nothing that changes something can be pressed; data-off marks what we switched.
  function actions(off) {
    const which = off ? "[data-live-action]:not([aria-disabled])" : "[data-off]";
    for (const el of document.querySelectorAll(which)) {
      el.toggleAttribute("data-off", off);
      if (off) el.setAttribute("aria-disabled", "true");
      else el.removeAttribute("aria-disabled");
      if (off) el.title = "Needs a connection";
      else el.removeAttribute("title");
    }
  }
  function show(state, text, about = "") {
    badge.dataset.state = state;
    badge.title = about;
    if (badge.textContent !== text) badge.firstElementChild.textContent = text;
    actions(state === "offline");
  }

  return {
    show,
    state: () => badge.dataset.state,
    again: () => badge.dataset.state === "offline" && actions(true),
    offline: (d) => show("offline", `Offline since ${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`),
    closed(reason) {
      show("offline", "Signed out");
      const note = document.getElementById("closed"), link = note.querySelector("[data-sign-in]");
      note.querySelector("[data-closed-reason]").textContent = reason || "You were signed out.";
      link.search = new URLSearchParams({ next: location.pathname + location.search });
      note.hidden = false;
    },
  };
})();
