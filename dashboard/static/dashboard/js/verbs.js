// A verb that decides is off for a second after it, or its request, appears: the second of two quick taps
// or keys meets nothing that is live. dialog.js ignores what is aria-disabled.
(() => {
  const WAIT_MS = 1000, VERBS = "[data-decide]", timers = new WeakMap();

  function rest(verb) {
    if (!verb.hasAttribute("data-early")) {
      if (verb.hasAttribute("aria-disabled")) return; // off for another reason, and stays so
      verb.setAttribute("data-early", "");
      verb.setAttribute("aria-disabled", "true");
    }
    clearTimeout(timers.get(verb));
    timers.set(verb, setTimeout(() => {
      if (!verb.hasAttribute("data-early")) return; // the server has switched it off meanwhile
      verb.removeAttribute("data-early");
      verb.removeAttribute("aria-disabled");
      gatepost.badge?.again(); // off again where the page is offline
    }, WAIT_MS));
  }
  function hold(root) {
    if (root.matches?.(VERBS)) rest(root);
    for (const verb of root.querySelectorAll(VERBS)) rest(verb);
  }

  hold(document);
  addEventListener("pageshow", (event) => event.persisted && hold(document));
  listen("visibilitychange", () => document.hidden || hold(document));
  new MutationObserver((records) => {
    for (const { type, target, addedNodes } of records) {
      // data-card names the request as it stands; a dialog or menu shows its verbs when it opens.
      if (type === "attributes") hold(target);
      else for (const node of addedNodes) if (node.nodeType === Node.ELEMENT_NODE) hold(node);
    }
  }).observe(document.body, { subtree: true, childList: true, attributes: true, attributeFilter: ["open", "data-card"] });
})();
