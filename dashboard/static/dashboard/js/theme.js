// Runs before first paint, so that a chosen theme neither flashes nor fades in. Without a choice
// the system's wish holds, which tokens.css knows by itself.
(() => {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  try {
    const chosen = localStorage.getItem("theme");
    if (chosen === "light" || chosen === "dark") root.dataset.theme = chosen;
  } catch { /* storage may be forbidden; the system's wish holds then */ }
  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-theme-toggle]")) return;
    const now = root.dataset.theme || (dark.matches ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
    try { localStorage.setItem("theme", root.dataset.theme); } catch { /* this page only, then */ }
  });
})();
