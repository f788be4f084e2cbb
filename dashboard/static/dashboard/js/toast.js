// Messages of success at the foot of the page: read aloud, and removed after a while, but not while
// the pointer or the focus is on them.
(() => {
  const MS = 10000;
  const toasts = $$("#toasts > [data-passing]");
  for (const toast of toasts) {
    let timer;
    const rest = () => clearTimeout(timer);
    const go = () => { rest(); timer = setTimeout(() => toast.remove(), MS); };
    for (const name of ["pointerenter", "focusin"]) toast.addEventListener(name, rest);
    for (const name of ["pointerleave", "focusout"]) toast.addEventListener(name, go);
    go();
  }
  // What stands there when a page opens is no news to a screen reader.
  const words = toasts.map((toast) => toast.querySelector("[data-words]").textContent.trim()).join(" ");
  const say = byId("say");
  if (words) setTimeout(() => { if (!say.textContent) say.textContent = words; }, 300);
})();
