// data-copy: put an id or a hash on the clipboard and say so.
listen("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const text = button.dataset.copy;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Plain http on another host has no clipboard: select the text instead.
    const field = Object.assign(document.createElement("textarea"), { value: text, className: "sr" });
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
  const use = button.querySelector("use");
  const draw = (name) => use?.setAttribute("href", use.getAttribute("href").replace(/#.*/, `#i-${name}`));
  draw("check");
  setTimeout(() => draw("copy"), 1200);
  byId("say").textContent = "Copied";
});
