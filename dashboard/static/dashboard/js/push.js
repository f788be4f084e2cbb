// The button that turns on messages in this browser: asks for permission, subscribes at the
// browser's push service and sends the subscription as an ordinary form.
(() => {
  const form = byId("push");
  if (!form || !("serviceWorker" in navigator) || !("PushManager" in window)) return;
  form.hidden = false;
  async function subscribed() {
    const worker = await navigator.serviceWorker.register("/push-worker.js");
    await navigator.serviceWorker.ready;
    const wanted = { userVisibleOnly: true, applicationServerKey: form.dataset.key };
    try {
      return await worker.pushManager.subscribe(wanted);
    } catch {
      // Subscribed before with another key.
      await (await worker.pushManager.getSubscription())?.unsubscribe();
      return worker.pushManager.subscribe(wanted);
    }
  }
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const problem = form.querySelector("[data-problem]");
    problem.textContent = "";
    try {
      if ((await Notification.requestPermission()) !== "granted") {
        problem.textContent = "Your browser does not allow messages of this site.";
        return;
      }
      const { endpoint, keys } = (await subscribed()).toJSON();
      const values = { address: endpoint, p256dh: keys.p256dh, auth: keys.auth };
      for (const [name, value] of Object.entries(values)) form.elements[name].value = value;
      form.submit();
    } catch {
      problem.textContent = "This browser cannot be reached by its push service now.";
    }
  });
})();
