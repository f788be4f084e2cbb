// gatepost.times(root): ages, clocks and countdowns in the words of dashboard/wording/text.py, counted by
// the server's clock. Called on each fragment before it is compared, and once a second.
(() => {
  const skew = Date.parse(document.body?.dataset.now || "") - Date.now() || 0;
  const two = (n) => String(n).padStart(2, "0");
  const span = (s) => {
    if (s < 60) return `${s} s`;
    const minutes = Math.round(s / 60);
    if (minutes < 60) return `${minutes} min`;
    if (minutes < 48 * 60) return `${Math.floor(minutes / 60)} h ${two(minutes % 60)}`;
    return `${Math.floor(minutes / 1440)} d`;
  };
  const age = (at, now) => {
    const s = Math.floor((now - at) / 1000);
    return s < 5 ? "now" : span(s);
  };
  const left = (at, now) => {
    const s = Math.floor((at - now) / 1000);
    if (s <= 0) return "over";
    return s < 3600 ? `${Math.floor(s / 60)}:${two(s % 60)}` : span(s);
  };
  const clock = (at, now) => {
    const then = new Date(at);
    if (then.toDateString() === new Date(now).toDateString()) return then.toLocaleTimeString("en-GB");
    const day = then.toLocaleDateString("en-GB", { day: "2-digit", month: "short" });
    return `${day} ${two(then.getHours())}:${two(then.getMinutes())}`;
  };

  gatepost.now = () => Date.now() + skew;
  gatepost.times = (root) => {
    const now = gatepost.now();
    for (const el of root.querySelectorAll("time[data-age], time[data-left], time[data-clock]")) {
      const at = Date.parse(el.dateTime);
      const say = "age" in el.dataset ? age : "left" in el.dataset ? left : clock;
      if (at) write(el, say(at, now));
      if (!el.title) el.title = `${el.dateTime.replace("T", " ").replace("Z", "")} UTC`;
    }
  };
  gatepost.times(document);
  setInterval(() => document.hidden || gatepost.times(document), 1000);
})();
