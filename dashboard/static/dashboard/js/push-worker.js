// Shows a message that came by web push; a click opens the page that it is about.
addEventListener("push", (event) => {
  let message = {};
  try {
    message = event.data.json();
  } catch {
    // An empty or strange message still has to be shown: browsers demand it.
  }
  const { title = "Gatepost", body = "", url = "/" } = message;
  event.waitUntil(self.registration.showNotification(title, { body, tag: url, data: { url } }));
});

addEventListener("notificationclick", (event) => {
  event.notification.close();
  const wanted = new URL(event.notification.data.url, location.origin);
  // Only pages of ours, whatever a message says.
  const page = wanted.origin === location.origin ? wanted.href : location.origin;
  const open = async () => {
    const pages = await clients.matchAll({ type: "window", includeUncontrolled: true });
    const shown = pages.find((one) => one.url === page);
    return shown ? shown.focus() : clients.openWindow(page);
  };
  event.waitUntil(open());
});
