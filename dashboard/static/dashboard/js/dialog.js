// Dialogs are <dialog> elements: the browser keeps focus inside, closes on Escape and gives focus
// back. data-open opens one, data-close closes it, data-confirm asks before a button acts.
(() => {
  const asked = new WeakSet();

  function open(dialog) {
    for (const field of dialog.querySelectorAll("[data-copies]")) {
      field.value ||= $(field.dataset.copies)?.value || "";
    }
    dialog.showModal();
    dialog.querySelector("[autofocus]")?.focus();
  }

  // The text of a dialog that few open is a page of its own, which no other page carries.
  async function read(part, address) {
    const answer = await fetch(address).catch(() => null);
    const page = answer?.ok && new DOMParser().parseFromString(await answer.text(), "text/html");
    const text = page && page.querySelector(part.dataset.page);
    if (text) part.replaceChildren(text);
    return Boolean(text);
  }

  function confirm(button) {
    const dialog = byId("confirm"), yes = dialog.querySelector("[data-confirm-yes]");
    dialog.querySelector("h2").textContent = button.dataset.confirm;
    dialog.querySelector("[data-confirm-text]").textContent = button.dataset.confirmText || "";
    yes.textContent = button.dataset.confirmYes || "Yes";
    yes.className = `btn ${button.classList.contains("danger") ? "danger solid" : "primary"}`;
    yes.onclick = () => {
      dialog.close();
      if (!button.isConnected) return;
      asked.add(button);
      button.form.requestSubmit(button);
    };
    open(dialog);
    yes.focus();
  }

  listen("click", (event) => {
    const at = event.target;
    if (at.closest("[aria-disabled=true]")) return event.preventDefault();
    for (const menu of $$("details.menu[open]")) if (!menu.contains(at)) menu.open = false;
    if (at.nodeName === "DIALOG" || at.closest("[data-close]")) return at.closest("dialog")?.close();
    const opener = at.closest("[data-open]"), dialog = opener && byId(opener.dataset.open);
    if (dialog) {
      event.preventDefault();
      opener.closest("details.menu")?.removeAttribute("open");
      const part = dialog.querySelector("[data-page]:empty");
      if (!part) return open(dialog);
      return read(part, opener.href).then((there) => there ? open(dialog) : location.assign(opener.href));
    }
    const button = at.closest("[data-confirm]");
    if (button && !asked.has(button)) {
      event.preventDefault();
      confirm(button);
    }
  }, true);

  listen("keydown", (event) => {
    if (event.key === "Escape") for (const menu of $$("details.menu[open]")) { menu.open = false; menu.firstElementChild.focus(); }
  });

  // One click is one request: a form that was sent does not go out twice.
  listen("submit", (event) => {
    const form = event.target;
    if (form.method !== "post") return;
    if (form.dataset.sent || event.submitter?.getAttribute("aria-disabled") === "true") return event.preventDefault();
    form.dataset.sent = "1";
  });
  addEventListener("pageshow", () => { for (const form of document.forms) delete form.dataset.sent; });
})();
