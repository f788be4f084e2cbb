// Replays a thread by the page's own links, so that all of the page moves and the address says where.
// The buttons are replaced with each step: what is playing, and how fast, is kept here.
(() => {
  let playing = false, speed = 1, timer = 0;
  const part = (name) => $(`[data-replay="${name}"]`);

  function show() {
    const button = part("play"), select = part("speed");
    if (!button) return;
    button.setAttribute("aria-pressed", String(playing));
    button.setAttribute("aria-label", playing ? "Pause" : "Play");
    const use = button.querySelector("use");
    use.setAttribute("href", use.getAttribute("href").replace(/#.*/, playing ? "#i-pause" : "#i-play"));
    select.value = String(speed);
  }
  function stop() {
    playing = false;
    clearTimeout(timer);
    show();
  }
  function step(name = "next") {
    if (!playing) return;
    const link = part(name);
    // At the newest checkpoint, or where another thread continues.
    if (!link?.href || link.getAttribute("hx-boost") === "false") return stop();
    link.click();
  }

  addEventListener("click", (event) => {
    const name = event.target.closest?.("[data-replay]")?.dataset.replay;
    if (name === "play") {
      if (playing) return stop();
      playing = true;
      show();
      step(part("next")?.href ? "next" : "first");
    } else if (name !== "speed" && event.isTrusted && playing) {
      stop(); // a person steps, or goes elsewhere
    }
  }, true);
  addEventListener("change", (event) => {
    if (event.target.matches('[data-replay="speed"]')) speed = Number(event.target.value) || 1;
  });
  listen("htmx:afterSettle", (event) => {
    show();
    clearTimeout(timer);
    if (playing && event.target.id === "main") timer = setTimeout(step, 1000 / speed);
  });
  for (const failure of ["htmx:responseError", "htmx:sendError"]) listen(failure, stop);
})();
