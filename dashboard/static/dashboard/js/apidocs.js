// Swagger UI's dark colours hang on a class: the chosen theme sets it, else the system's wish.
(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  function paint() {
    let chosen = null;
    try { chosen = localStorage.getItem("theme"); } catch { /* storage may be forbidden */ }
    document.documentElement.classList.toggle("dark-mode", chosen ? chosen === "dark" : dark.matches);
  }
  dark.addEventListener("change", paint);
  paint();
})();
