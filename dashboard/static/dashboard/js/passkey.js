// Passkeys: what the browser creates or signs goes out in an ordinary form.
(() => {
  // Browsers that convert the server's JSON themselves; others have the code beside it.
  const kind = window.PublicKeyCredential;
  if (!kind?.parseCreationOptionsFromJSON) return;

  async function answered(box) {
    const options = JSON.parse(box.dataset.options), creates = box.dataset.passkey === "create";
    const publicKey = creates ? kind.parseCreationOptionsFromJSON(options) : kind.parseRequestOptionsFromJSON(options);
    return JSON.stringify(await navigator.credentials[creates ? "create" : "get"]({ publicKey }));
  }

  for (const note of $$("[data-no-passkey]")) note.hidden = true;
  for (const box of $$("[data-passkey]")) {
    const form = box.closest("form");
    const field = box.querySelector("input[type=hidden]");
    const problem = box.querySelector("[data-problem]");
    box.hidden = false;
    const send = async (event) => {
      if (!field.disabled) return; // it goes out now
      event.preventDefault();
      problem.textContent = "";
      try {
        field.value = await answered(box);
      } catch (error) {
        problem.textContent = error.name === "InvalidStateError"
          ? "This device has a passkey here already."
          : "No passkey was used. Try again, or reload the page.";
        return;
      }
      field.disabled = false;
      form.noValidate = true; // the code beside it is empty
      delete form.dataset.sent; // dialog.js marks it at the first try, which went nowhere
      form.requestSubmit();
    };
    if (box.dataset.passkey === "create") form.addEventListener("submit", send);
    else box.querySelector("button").addEventListener("click", send);
  }
})();
