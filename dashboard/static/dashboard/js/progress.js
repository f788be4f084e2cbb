// gatepost.progress: how far a step is, straight into #thread-progress; not history, so it has no
// sequence number. data-updates counts what arrived. What a model has said so far (`stream`) stands
// in a box per node until it has ended. gatepost.say: one polite sentence a second,
// and what was told about the last click goes when the thread has moved on since.
window.gatepost ??= {};
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
  const box = document.getElementById("thread-progress");
  if (!box || box.dataset.topic !== topic) return;
  if (stream !== undefined) {
    box.dataset.updates = Number(box.dataset.updates || 0) + 1;
    return gatepost.stream(box, node, stream);
  }
  const bar = box.querySelector("progress"), number = (n) => Number(n).toLocaleString("en-US");
  box.dataset.updates = Number(box.dataset.updates || 0) + 1;
  box.querySelector("[data-progress]").hidden = false;
  box.querySelector("[data-progress-text]").textContent = text || "Working";
  box.querySelector("[data-progress-count]").textContent = number(done) + (total ? ` of ${number(total)}` : "");
  if (total) {
    bar.max = total;
    bar.value = done;
  } else {
    bar.removeAttribute("value");
  }
};
gatepost.say = (() => {
  let waiting = null;
  return (id, said) => {
    const now = document.getElementById(id)?.dataset.say;
    if (!now || said.get(id) === now) return;
    if (said.has(id)) for (const note of document.querySelectorAll("[data-passing]:not(:has(form))")) note.remove();
    said.set(id, now);
    if (!waiting) setTimeout(() => { document.getElementById("say").textContent = waiting; waiting = null; }, 1000);
    waiting = now;
  };
})();
