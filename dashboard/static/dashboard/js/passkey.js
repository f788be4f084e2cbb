// Passkeys: what the browser creates or signs goes out in an ordinary form.
(() => {
  if (!window.PublicKeyCredential || !navigator.credentials) return;
  const bytes = (text) =>
    Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
  const text = (buffer) =>
    btoa(String.fromCharCode(...new Uint8Array(buffer)))
      .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  const known = (list) => (list ?? []).map((one) => ({ ...one, id: bytes(one.id) }));

  async function answered(box) {
    const options = JSON.parse(box.dataset.options);
    const publicKey = { ...options, challenge: bytes(options.challenge) };
    const creates = box.dataset.passkey === "create", list = creates ? "excludeCredentials" : "allowCredentials";
    publicKey[list] = known(options[list]);
    if (creates) publicKey.user = { ...options.user, id: bytes(options.user.id) };
    const result = await navigator.credentials[creates ? "create" : "get"]({ publicKey });
    const parts = ["clientDataJSON", ...(creates ? ["attestationObject"] : ["authenticatorData", "signature"])];
    const response = Object.fromEntries(parts.map((part) => [part, text(result.response[part])]));
    return JSON.stringify({ id: result.id, rawId: text(result.rawId), type: result.type, response });
  }

  for (const note of document.querySelectorAll("[data-no-passkey]")) note.hidden = true;
  for (const box of document.querySelectorAll("[data-passkey]")) {
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
