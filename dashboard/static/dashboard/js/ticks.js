// gatepost.ticks(list, changed): the boxes with data-tick inside of a list. Shift ticks a range, and
// what has data-untick clears all. `changed` is called after each click with the boxes and their state.
gatepost.ticks = (list, changed) => {
  const all = () => $$(`${list} [data-tick]`);
  let last = null;
  function set(boxes, on) {
    for (const box of boxes) box.checked = on;
    changed(boxes, on);
  }
  listen("click", (event) => {
    const box = event.target;
    if (box.closest("[data-untick]")) return set(all(), false);
    if (!box.matches(`${list} [data-tick]`)) return;
    // The last one is known by its value: its row may have been made anew elsewhere.
    const seen = all().filter((one) => one.checkVisibility());
    const from = seen.findIndex((one) => one.value === last), to = seen.indexOf(box);
    const range = event.shiftKey && from >= 0 ? seen.slice(Math.min(from, to), Math.max(from, to) + 1) : [box];
    last = box.value;
    set(range, box.checked);
  });
  return { all, set };
};
