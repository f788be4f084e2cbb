// gatepost.morph(from, to): turn one element into another by touching only what differs.
// Elements with an id are found again wherever they moved. What belongs to the person stays:
// focus, open folds, scrolled boxes, and whatever was typed.
gatepost.morph = (() => {
  // Set by the page or by other scripts, never by the server's fragment.
  const KEEP = new Set(["data-at", "data-mine", "data-updates", "data-off", "data-early", "data-region", "data-topic", "data-refetch"]);
  const FIELD = /^(INPUT|TEXTAREA|SELECT)$/;

  const typed = (el) =>
    el === document.activeElement ||
    ("defaultValue" in el && el.value !== el.defaultValue) ||
    ("defaultChecked" in el && el.checked !== el.defaultChecked);

  // A fold that the person moved stays as they left it; others follow the server.
  listen("click", (event) => {
    event.target.closest("summary")?.parentElement.setAttribute("data-mine", "");
  });

  const same = (a, b) => a.nodeType === b.nodeType && a.nodeName === b.nodeName && (a.id || "") === (b.id || "");

  function attributes(from, to) {
    const mine = from.nodeName === "DIALOG" || from.hasAttribute("data-mine");
    // What verbs.js holds for a second stays off; what the server switches off stays so for longer.
    if (to.hasAttribute("aria-disabled")) from.removeAttribute("data-early");
    const early = from.hasAttribute("data-early");
    const kept = (name) => KEEP.has(name) || (name === "open" && mine) || (name === "aria-disabled" && early);
    for (const { name, value } of [...to.attributes]) {
      if (!kept(name) && from.getAttribute(name) !== value) from.setAttribute(name, value);
    }
    for (const { name } of [...from.attributes]) {
      if (!kept(name) && !to.hasAttribute(name)) from.removeAttribute(name);
    }
  }

  function place(parent, node, before) {
    // moveBefore keeps focus and animations where the browser has it.
    if (parent.moveBefore && node.isConnected) parent.moveBefore(node, before);
    else parent.insertBefore(node, before);
  }

  function children(from, to) {
    const wanted = new Set();
    for (const child of to.children) if (child.id) wanted.add(child.id);
    const known = new Map();
    for (const child of from.children) if (child.id) known.set(child.id, child);
    let at = from.firstChild;
    for (const want of [...to.childNodes]) {
      let have = want.id ? known.get(want.id) : at;
      if (!want.id) while (have && have.id && wanted.has(have.id)) have = have.nextSibling;
      if (have && same(have, want)) {
        if (have === at) at = at.nextSibling;
        else place(from, have, at);
        node(have, want);
      } else {
        from.insertBefore(want, at);
      }
    }
    while (at) {
      const gone = at;
      at = at.nextSibling;
      gone.remove();
    }
  }

  function node(from, to) {
    if (from.isEqualNode(to)) return;
    if (from.nodeType !== Node.ELEMENT_NODE) {
      from.nodeValue = to.nodeValue;
      return;
    }
    if (FIELD.test(from.nodeName) && typed(from)) return;
    // What a person fetched in the place of a link stays while the link is the same.
    if (from.dataset.value && to.querySelector(":scope > a")?.getAttribute("href") === from.dataset.value) return;
    attributes(from, to);
    children(from, to);
  }

  const stops = (row) => [...row.querySelectorAll("a, button, input, select, summary")];

  return (from, to) => {
    const focus = document.activeElement, row = focus?.closest("[data-row]");
    const nth = row ? stops(row).indexOf(focus) : -1;
    if (same(from, to)) node(from, to);
    else from.replaceWith(to);
    // A row that went to another list was made anew there.
    const anew = row && !focus.isConnected && byId(row.id);
    if (anew) (stops(anew)[nth] ?? stops(anew)[0])?.focus({ preventScroll: true });
    else if (focus && focus !== document.activeElement && focus.isConnected && focus !== document.body) {
      focus.focus({ preventScroll: true });
    }
  };
})();
