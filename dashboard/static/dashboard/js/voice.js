// Talking: what is said goes out by number, one after the other, and again until it is acknowledged.
(() => {
  const box = byId("voice"), form = box.querySelector("form"), field = form.elements.words;
  const part = (name) => box.querySelector(`[data-${name}]`), button = part("record"), hears = part("hears");
  let queue = [], socket, next, sent, tries = 1, recorder, audio, over;

  const show = (text) => { part("line").textContent = text; };
  const post = (message) => socket.send(JSON.stringify(message));
  function flush() {
    part("queue").textContent = queue.map(({ text }) => text || "Recording").join("\n");
    if (tries || sent || !queue.length) return;
    const [{ text, audio: file }] = queue, number = (sent = next);
    if (file) {
      post({ type: "record", number, media_type: file.type });
      socket.send(file);
    }
    post({ type: "say", number, text });
  }
  const take = {
    joined(message) {
      // What was cut off keeps its number: it may be there already.
      [tries, next, sent] = [0, sent || message.next, 0];
      show("Connected");
    },
    buffered({ number }) {
      [next, sent] = [number + 1, 0];
      queue.shift();
    },
    refused({ detail, expected, code }) {
      show(detail);
      if (!expected && !["invalid", "conflict"].includes(code)) return setTimeout(() => socket.close(), 2000);
      [next, sent] = [expected || sent, 0]; // in another window something was said meanwhile
      if (expected || !queue.length) return;
      const one = queue.shift();
      field.value ||= one.text;
      audio = one.audio;
    },
    closed({ reason }) { show(over = reason); },
  };
  function connect() {
    socket = new WebSocket(box.dataset.socket);
    socket.onopen = () => post({ type: "join", from: 2 ** 52, answers: 2 ** 52 }); // the page has what was said
    socket.onmessage = ({ data }) => {
      const message = JSON.parse(data);
      take[message.type]?.(message);
      flush();
    };
    socket.onclose = () => {
      if (over) return;
      show("Not connected; your words wait here");
      setTimeout(connect, Math.min(8000, 250 * 2 ** tries++));
    };
  }
  form.onsubmit = (event) => {
    event.preventDefault();
    const text = field.value.trim();
    if (!text && !(audio && hears)) return field.focus();
    queue.push({ text, audio });
    audio = field.value = "";
    flush();
  };
  button.onclick = async () => {
    if (recorder) return recorder.stop();
    try {
      const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
      recorder = new MediaRecorder(stream);
      recorder.ondataavailable = ({ data }) => {
        for (const track of stream.getTracks()) track.stop();
        [audio, recorder, button.ariaPressed] = [data, null, "false"];
        hears ? form.requestSubmit() : show("Recorded. Type the words.");
        field.focus();
      };
      recorder.start();
      button.ariaPressed = "true";
    } catch (error) {
      show(`No microphone: ${error.message}`);
    }
  };
  connect();
})();
