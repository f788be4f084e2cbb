// What was typed into a form that was refused because the person is signed out comes back once the
// same person has signed in again, in the same window. Anything else forgets it.
(() => {
  const SENT = "draft-sent", KEPT = "draft-kept";
  const take = (key) => {
    try {
      const draft = JSON.parse(sessionStorage.getItem(key));
      sessionStorage.removeItem(key);
      return draft;
    } catch { /* forbidden */ }
  };
  const put = (key, draft) => { try { sessionStorage.setItem(key, JSON.stringify(draft)); } catch { /* full or forbidden */ } };
  const person = () => $(".who b")?.textContent || "";

  listen("submit", (event) => {
    const form = event.target;
    if (form.method !== "post" || form.querySelector("[type=password]")) return;
    const values = {};
    for (const el of form.elements) if (el.id && el.value && el.matches("textarea, input[type=text], input[type=number], input:not([type])")) values[el.id] = el.value;
    if (Object.keys(values).length) put(SENT, { path: location.pathname, person: person(), values });
  });

  addEventListener("DOMContentLoaded", () => {
    const sent = take(SENT), page = $("[data-keeps-draft]");
    if (page) {
      if (sent) put(KEPT, sent);
      const words = page.querySelector("[data-draft]");
      if (words) words.hidden = !sent;
      return;
    }
    if (!person()) return;
    const kept = take(KEPT);
    if (kept?.path !== location.pathname || kept.person !== person()) return;
    for (const [id, value] of Object.entries(kept.values)) {
      const field = byId(id);
      if (!field || field.value) continue;
      field.value = value;
      field.dispatchEvent(new Event("input", { bubbles: true }));
    }
    byId("say").textContent = "Your text is back.";
  });
})();
