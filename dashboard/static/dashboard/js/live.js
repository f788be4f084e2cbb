// The page follows the server: pushes over one socket, and a slow poll as the fallback. Decisions are
// forms. data-region marks a region, data-topic what it follows, data-refetch what is fetched, not pushed.
(() => {
  const POLL_MS = 1000 * (Number(document.body.dataset.poll) || 5);
  const PING_MS = 2000, SILENT_MS = 5000, FETCH_MS = 10000;
  const badge = gatepost.badge;
  if (!badge) return; // nobody is signed in
  const seqs = new Map(); // topic -> newest sequence number seen
  const said = new Map(); // region id -> its data-say
  const held = new Map(); // region id -> html that comes when the person's switch is off
  let sent = {}; // topic and region id -> html that this socket brought
  let frames = new Map(); // region id -> html, until the next animation frame
  let socket = null, tries = 0, opened = false, over = false, resting = false;
  let slow = false, lastFrame = 0, lastAsk = 0, downSince = null, failures = 0, refetch = new Set();
  let lastHeard = 0, unanswered = null; // when the oldest question without an answer was asked
  let inflates = "DecompressionStream" in window;

  const regions = () => $$("[data-region]");
  const isOpen = () => socket?.readyState === WebSocket.OPEN;

  const silence = () => unanswered === null ? 0 : performance.now() - unanswered;
  const down = () => !over && !resting && !isOpen() && downSince && silence() < SILENT_MS && badge.offline(downSince);
  // Without Valkey nothing is pushed: the page polls, and says so.
  const fine = () => slow
    ? badge.show("slow", `Degraded: every ${POLL_MS / 1000} s`, "Live updates are degraded: Valkey does not answer. Nothing is lost, and everything can still be done.")
    : badge.show("live", "Live");
  // A frozen server or a half-dead mobile link keeps a socket open.
  function heard() {
    const was = silence() >= SILENT_MS;
    lastHeard = performance.now();
    unanswered = null;
    if (was && !over) isOpen() ? fine() : badge.show("resync", "Catching up");
  }
  function beat() {
    if (over || resting || document.hidden) { unanswered = null; return; }
    const now = performance.now();
    if (isOpen() && now - lastHeard >= PING_MS && unanswered === null) {
      unanswered = now;
      socket.send('{"type":"ping"}');
    }
    if (silence() >= SILENT_MS) badge.silent(Math.round(silence() / 1000));
  }
  function end(reason) {
    over = true;
    socket?.close();
    badge.closed(reason);
  }

  function patch(id, html) {
    if ($(`[data-holds="${id}"]:checked`)) { held.set(id, html); return; }
    const region = byId(id);
    const holder = document.createElement("template");
    holder.innerHTML = html;
    const next = holder.content.firstElementChild;
    if (!region || !next) return;
    gatepost.times(holder.content);
    gatepost.tickable?.(holder.content);
    gatepost.keep?.(region, next);
    if (region.hasAttribute("data-steady") && gatepost.hold(region, next)) return;
    gatepost.stay?.(region, next);
    gatepost.morph(region, next);
    window.htmx?.process(byId(id));
    gatepost.say(id, said);
  }
  function paint() {
    const now = frames;
    frames = new Map();
    now.forEach((html, id) => patch(id, html));
    badge.again();
  }
  function queue(id, html) {
    if (!frames.size) document.hidden ? setTimeout(paint) : requestAnimationFrame(paint);
    frames.set(id, html);
  }

  // dashboard/live/frames.py says what a deflated frame is: each region follows a block of what it was.
  async function inflate(data) {
    let at = data.indexOf(10) + 1;
    const message = JSON.parse(new TextDecoder().decode(data.slice(0, at))), ids = Object.keys(message.parts);
    const blocks = ids.flatMap((id) => {
      const size = message.parts[id], had = new TextEncoder().encode(`${size > 0 ? sent[message.topic + id] : ""}\0`), n = had.length;
      return [Uint8Array.of(0, n, n >> 8, ~n, ~n >> 8), had, data.slice(at, at += Math.abs(size))];
    });
    const stream = new Blob([...blocks, data.slice(at)]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    const texts = (await new Response(stream).text()).split("\0");
    message.regions = Object.fromEntries(ids.map((id, i) => [id, texts[2 * i + 1]]));
    return message;
  }
  function onFrame({ topic, seq, regions: html }) {
    for (const id in html) sent[topic + id] = html[id];
    if (seq < (seqs.get(topic) ?? -1)) return;
    seqs.set(topic, seq);
    const shown = regions().filter((el) => el.dataset.topic === topic);
    for (const { id, dataset } of shown) if (id in html && !("refetch" in dataset)) queue(id, html[id]);
    const stale = shown.filter((el) => "refetch" in el.dataset);
    if (!stale.length) return;
    if (!refetch.size) setTimeout(() => { const ids = refetch; refetch = new Set(); ask([...ids]); }, 300);
    for (const el of stale) refetch.add(el.id);
  }

  // The workspace of this page: after a switch in another window it is none of ours any more.
  const workspace = document.body.dataset.workspace || "";
  // On a page where people decide: the hash of what this person has looked at.
  const seen = () => {
    const hash = $("[data-seen]")?.dataset.seen;
    return hash ? { "X-Gatepost-Seen": hash } : {};
  };

  // GET this very address for some regions; the answer is what the page would show now.
  async function ask(ids = regions().map((el) => el.id)) {
    if (!ids.length || over) return true;
    const before = new Map(seqs), at = location.href;
    lastAsk = performance.now();
    unanswered ??= lastAsk;
    try {
      const answer = await fetch(at, { signal: AbortSignal.timeout(FETCH_MS), headers: { "X-Gatepost-Regions": ids.join(","), Accept: "application/json", "X-Gatepost-Workspace": workspace, ...seen() }, cache: "no-store" });
      heard();
      if (answer.redirected || answer.status === 401 || answer.status === 403) return end();
      if (!answer.ok) throw new Error(answer.status);
      const { seq, regions: html } = await answer.json();
      if (location.href !== at) return true; // of the checkpoint or query that was shown before
      for (const id in html) {
        // What was pushed while we asked is newer than the answer.
        const topic = byId(id)?.dataset.topic, known = seqs.get(topic) ?? -1;
        if (known <= (seq[topic] ?? before.get(topic) ?? known)) queue(id, html[id]);
      }
      for (const topic in seq) seqs.set(topic, Math.max(seq[topic], seqs.get(topic) ?? -1));
      failures = 0;
      return true;
    } catch {
      failures += 1;
      if (failures > 1) socket?.close(); // it may only look open
      return false;
    }
  }

  function join() {
    const { topic: own, seq: made, mark } = byId("main").dataset;
    for (const el of regions()) {
      const { topic } = el.dataset;
      if (!seqs.has(topic)) seqs.set(topic, topic === own ? Number(made) : 0);
      if (el.dataset.say) said.set(el.id, el.dataset.say);
    }
    const pushed = regions().filter((el) => !("refetch" in el.dataset));
    const topics = new Set(regions().map((el) => el.dataset.topic));
    if (isOpen()) socket.send(JSON.stringify({
      type: "join",
      workspace,
      inflates,
      mark,
      // A region has the mark of what the page brought until something newer is painted.
      regions: pushed.map((el) => ({ id: el.id, topic: el.dataset.topic, mark: el.dataset.mark })),
      topics: Object.fromEntries([...topics].map((topic) => [topic, seqs.get(topic)])),
    }));
  }
  function connect() {
    if (over || resting || socket) return;
    if (badge.state() !== "offline") badge.show("resync", "Catching up");
    slow = false; // the next answer says so again
    const mine = (socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws/live/`));
    let turn = Promise.resolve();
    sent = {};
    mine.binaryType = "arraybuffer";
    mine.onopen = async () => {
      if (mine !== socket) return mine.close(); // the page was left meanwhile
      tries = 0;
      lastFrame = performance.now();
      heard();
      join();
      if (opened) { badge.show("resync", "Catching up"); await ask(); }
      opened = true;
      if (mine === socket && isOpen() && !over) { downSince = null; fine(); }
    };
    mine.onmessage = ({ data }) => {
      heard();
      // One after the other. After one that cannot be inflated, the next socket gets plain text.
      turn = turn.then(() => data.byteLength ? inflate(new Uint8Array(data)) : JSON.parse(data)).then(take, () => { sent = inflates = null; mine.close(); });
    };
    const take = (message) => {
      if (message.type === "pong") return; // no news: the poll below it stays due
      lastFrame = performance.now();
      if (message.type === "frame") onFrame(message);
      else if (message.type === "progress") gatepost.progress(message);
      else if (message.type === "speed") {
        slow = message.slow;
        if (["live", "slow"].includes(badge.state())) fine();
      }
      else if (message.type === "closed") end(message.reason);
    };
    mine.onclose = () => {
      if (mine !== socket) return;
      socket = null;
      if (over || resting) return;
      downSince ??= new Date();
      setTimeout(down, Math.max(0, 2000 - (Date.now() - downSince)));
      const wait = Math.min(8000, 500 * 2 ** tries++);
      setTimeout(connect, wait * (0.5 + Math.random() / 2));
    };
  }
  // Due when nothing was pushed or asked for one poll's length.
  async function poll() {
    const due = Math.max(isOpen() ? lastFrame : 0, lastAsk) + POLL_MS - performance.now();
    if (due <= 0 && !document.hidden) await ask();
    if (!over) setTimeout(poll, Math.min(POLL_MS, Math.max(50, due)));
  }

  let rest = 0;
  listen("visibilitychange", () => {
    clearTimeout(rest);
    if (document.hidden) rest = setTimeout(() => { resting = true; socket?.close(); socket = null; }, 20000);
    else if (resting) { resting = false; downSince = null; connect(); }
  });
  addEventListener("online", connect);
  addEventListener("offline", () => socket?.close());
  // One that still connects goes with the page: closed now, it would complain in the console.
  addEventListener("pagehide", () => { resting = true; if (isOpen()) socket.close(); socket = null; });
  addEventListener("pageshow", (event) => { if (event.persisted) { resting = false; connect(); } });
  // What was pushed for the page before is painted on it, never on the next one.
  listen("htmx:beforeSwap", () => frames.size && paint());
  listen("htmx:afterSettle", () => { gatepost.times(document); join(); });
  listen("change", ({ target }) => {
    const id = target.dataset?.holds;
    if (!id || target.checked || !held.has(id)) return;
    queue(id, held.get(id));
    held.delete(id);
  });
  gatepost.ask = ask;
  connect();
  setTimeout(poll, POLL_MS);
  setInterval(beat, 1000);
})();
