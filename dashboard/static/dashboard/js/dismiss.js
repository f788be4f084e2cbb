// A strip that a person has dismissed stays away in this browser. It runs where the strip stands,
// so that a dismissed one is never seen.
(() => {
  const strip = document.currentScript.parentElement;
  const key = `dismissed:${strip.id}`;
  try {
    if (localStorage.getItem(key)) { strip.remove(); return; }
  } catch { return; /* storage may be forbidden: it stays, without a button */ }
  const button = strip.querySelector("[data-dismiss]");
  button.hidden = false;
  button.addEventListener("click", () => { localStorage.setItem(key, "1"); strip.remove(); });
})();
