// Runs before first paint, so that a chosen theme neither flashes nor fades in. Without a choice
// the system's wish holds, which tokens.css knows by itself. What all scripts share begins here.
const gatepost = {}, byId = (id) => document.getElementById(id);
const $ = (what) => document.querySelector(what), $$ = (what) => [...document.querySelectorAll(what)];
const write = (el, text) => { if (el && el.textContent !== text) el.textContent = text; };
const listen = (...args) => document.addEventListener(...args);
(() => {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  try {
    const chosen = localStorage.getItem("theme");
    if (chosen === "light" || chosen === "dark") root.dataset.theme = chosen;
  } catch { /* storage may be forbidden; the system's wish holds then */ }
  listen("click", (event) => {
    if (!event.target.closest("[data-theme-toggle]")) return;
    const now = root.dataset.theme || (dark.matches ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
    try { localStorage.setItem("theme", root.dataset.theme); } catch { /* this page only, then */ }
  });
})();
