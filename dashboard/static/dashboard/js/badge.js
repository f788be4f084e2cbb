// gatepost.badge: what the page knows about its connection, and what may not be pressed meanwhile.
gatepost.badge = (() => {
  const badge = byId("live-badge");
  if (!badge) return null;

  // While offline nothing that changes something can be pressed; data-off marks what we switched.
  // Without a socket a form may still get through; where nothing answers, none can.
  const VERBS = "[data-live-action]", FORMS = "form[method=post] :is(button, input):is([type=submit], :not([type]))";
  let which = VERBS;
  function actions(off) {
    for (const el of $$(off ? which : "[data-off]")) {
      if (off && el.hasAttribute("aria-disabled")) continue;
      el.toggleAttribute("data-off", off);
      for (const [name, value] of [["aria-disabled", "true"], ["title", "Needs a connection"]]) off ? el.setAttribute(name, value) : el.removeAttribute(name);
    }
  }
  function show(state, text, about = "", off = VERBS) {
    which = off;
    badge.dataset.state = state;
    badge.title = about;
    write(badge.firstElementChild, text);
    actions(state === "offline");
  }

  return {
    show,
    state: () => badge.dataset.state,
    again: () => badge.dataset.state === "offline" && actions(true),
    offline: (d) => show("offline", `Offline since ${d.toLocaleTimeString("en-GB")}`),
    silent: (seconds) => show("offline", `No answer for ${seconds} s`, "The server doesn't answer. What you typed stays here.", `${VERBS}, ${FORMS}`),
    closed(reason) {
      show("offline", "Signed out");
      const note = byId("closed"), link = note.querySelector("[data-sign-in]");
      note.querySelector("[data-closed-reason]").textContent = reason || "You were signed out.";
      link.search = new URLSearchParams({ next: location.pathname + location.search });
      note.hidden = false;
    },
  };
})();
