// How many requests are open, for people who decide: in the tab's title, and a dot on its icon.
(() => {
  const nav = $("nav[data-count]");
  const icon = $('link[rel="icon"]');
  if (!nav || !icon) return;
  const quiet = icon.getAttribute("href");

  function show() {
    const count = nav.querySelector("#nav-approvals .count");
    const text = count ? count.firstChild.textContent.trim() : "";
    // htmx takes the title of the page that it fetched, so the count may stand in it or not.
    const plain = document.title.replace(/^\([\d,+]+\) /, "");
    const title = text ? `(${text}) ${plain}` : plain;
    if (document.title !== title) document.title = title;
    const href = text ? icon.dataset.dot : quiet;
    if (icon.getAttribute("href") !== href) icon.setAttribute("href", href);
  }
  new MutationObserver(show).observe(nav, { childList: true, subtree: true, characterData: true });
  listen("htmx:afterSettle", show);
  show();
})();
