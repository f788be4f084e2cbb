// gatepost.progress: how far a step is; data-updates counts what arrived. A model's answer so far
// (`stream`) is shown in a box per node. gatepost.say: one polite sentence a second; it removes the
// message about the last click once the thread has changed.
gatepost.stream = (box, node, stream) => {
  let shown = [...box.querySelectorAll("[data-stream]")].find((one) => one.dataset.stream === node);
  if (!stream) return shown?.remove();
  if (!shown) {
    shown = box.querySelector("template").content.firstElementChild.cloneNode(true);
    shown.dataset.stream = node;
    shown.querySelector("[data-stream-node]").textContent = node;
    box.append(shown);
  }
  const words = shown.querySelector("[data-stream-text]");
  words.textContent = stream;
  words.scrollTop = words.scrollHeight;
};
gatepost.progress = ({ topic, done, total, text, node, stream }) => {
  const box = byId("thread-progress");
  if (!box || box.dataset.topic !== topic) return;
  box.dataset.updates = Number(box.dataset.updates || 0) + 1;
  if (stream !== undefined) return gatepost.stream(box, node, stream);
  const bar = box.querySelector("progress"), number = (n) => Number(n).toLocaleString("en-US");
  box.querySelector("[data-progress]").hidden = false;
  box.querySelector("[data-progress-text]").textContent = text || "Working";
  box.querySelector("[data-progress-count]").textContent = number(done) + (total ? ` of ${number(total)}` : "");
  if (total) Object.assign(bar, { max: total, value: done });
  else bar.removeAttribute("value");
};
gatepost.say = (() => {
  let waiting = null;
  return (id, said) => {
    const now = byId(id)?.dataset.say;
    if (!now || said.get(id) === now) return;
    if (said.has(id)) for (const note of $$("[data-passing]:not(:has(form))")) note.remove();
    said.set(id, now);
    if (!waiting) setTimeout(() => { byId("say").textContent = waiting; waiting = null; }, 1000);
    waiting = now;
  };
})();
