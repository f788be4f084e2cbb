// node invoices.mjs MONTH: an agent in JavaScript, without packages. Its first step is kept, its
// payment waits for a person, and the same command goes on where a killed one stopped. Needs
// GATEPOST_URL and GATEPOST_TOKEN.
import { randomUUID } from "node:crypto";
import { appendFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

const month = process.argv[2];
const ledger = process.env.LEDGER ?? "paid.txt"; // where a payment leaves its line
const seconds = 20; // nobody else takes the thread for so long when this process dies
const BUSY = new Set([429, 502, 503, 504]);

class Refused extends Error {
  constructor(status, problem) {
    super(problem?.detail ?? `HTTP ${status}`);
    this.code = String(problem?.type ?? status).split(":").pop();
  }
}

/** One call of the API; what has no answer is sent again. */
async function call(method, path, body, token) {
  const headers = { Authorization: `Bearer ${process.env.GATEPOST_TOKEN}` };
  if (token) headers["Gatepost-Lease"] = token;
  if (body) headers["Content-Type"] = "application/json";
  // Sent again, a change with this key is done once.
  if (method === "POST") headers["Idempotency-Key"] = randomUUID();
  for (let attempt = 1; ; attempt += 1) {
    try {
      const response = await fetch(`${process.env.GATEPOST_URL}/api/v1${path}`, {
        method,
        headers,
        body: body && JSON.stringify(body),
        signal: AbortSignal.timeout(60_000),
      });
      if (response.ok) return await response.json();
      if (!BUSY.has(response.status) || attempt === 8) {
        throw new Refused(response.status, await response.json().catch(() => null));
      }
      await sleep(1000 * Number(response.headers.get("Retry-After") ?? attempt));
    } catch (error) {
      if (error instanceof Refused || attempt === 8) throw error;
      await sleep(500 * attempt);
    }
  }
}

/** A thread under a lease; `state` is its record. */
class Work {
  constructor(thread) {
    this.thread = thread;
  }

  call(path, body) {
    return call("POST", `/threads/${this.thread}/${path}`, body, this.token);
  }

  /** Wait, without holding anything, until the thread can be worked on; false where it ended. */
  async take() {
    this.token = undefined;
    let after = "";
    let printed = "";
    for (;;) {
      const next = await call("GET", `/threads/${this.thread}/next/?wait=10${after}`);
      if (next.do === "ended") {
        this.status = next.thread.status;
        return false;
      }
      if (next.do === "take") {
        try {
          const body = { name: `node-${process.pid}`, seconds };
          const lease = await call("POST", `/threads/${this.thread}/lease/`, body);
          this.token = lease.token;
          this.state = lease.state;
          this.step = lease.thread.step + 1;
          return true;
        } catch (error) {
          if (!["leased", "not-allowed-now"].includes(error.code)) throw error;
        }
      }
      if (next.reason !== printed) console.error((printed = next.reason));
      // The log says nothing when the lease of a killed process ends.
      if (next.lease === "other" || next.do === "take") await sleep(2000);
      after = next.lease === "other" || next.do === "take" ? "" : `&after=${next.seq}`;
    }
  }

  keepLease() {
    setInterval(() => {
      if (this.token) this.call("lease/renew/", { seconds }).catch((error) => console.error(error.message));
    }, (seconds * 1000) / 3).unref();
  }

  /** Make a step part of the record. */
  async commit(node, result) {
    const delta = { merge: { steps: { [node]: result } } };
    const answer = await this.call("checkpoints/", { step: this.step, nodes: [node], delta });
    this.step = answer.thread.step + 1;
    this.state.steps = { ...this.state.steps, [node]: result };
  }

  /** Do something once; afterwards its result is in the state. */
  async once(node, act) {
    if (this.state.steps && node in this.state.steps) return this.state.steps[node];
    const result = await act();
    await this.commit(node, result);
    return result;
  }

  /** Ask people, then do exactly what they approved, once. */
  async effect(tool, args, title, act) {
    const call = { node: tool, key: tool, kind: "effect", tool };
    for (;;) {
      const gate = { title, risk: "medium" };
      const body = { ...call, step: this.step, args, gate };
      const begun = await this.call("activities/begin/", body);
      if (begun.do === "answer") return begun.result;
      if (begun.do === "refused") throw new Error(`Rejected: ${begun.reason}`);
      if (begun.do === "call") {
        const result = await act(begun.args, begun.idempotency_key);
        await this.call("activities/settle/", { ...call, state: "done", result });
        return result;
      }
      if (!(await this.take())) throw new Error(`The thread is ${this.status}.`);
    }
  }
}

const { id } = await call("POST", "/threads/", {
  agent: "invoices-in-node",
  name: month,
  input: { month },
  external: {
    framework: "node",
    version: 1,
    channels: { steps: "merge" },
    tools: { pay: { idempotent: false } },
  },
});
console.log(`thread: ${id}`);
const work = new Work(id);
if (await work.take()) {
  work.keepLease();
  try {
    const total = await work.once("add_up", async () => {
      console.log(`adding up ${month}`);
      return 42;
    });
    await work.once("pay", () =>
      work.effect("pay", { amount: total }, `Pay ${total} EUR?`, async ({ amount }, key) => {
        appendFileSync(ledger, `${amount} ${key}\n`); // the key lets a bank refuse a second one
        return { paid: amount };
      }),
    );
    await work.call("lease/release/", { as: "succeeded" });
    work.status = "succeeded";
  } catch (error) {
    if (error instanceof Refused && error.code === "lease-lost") throw error;
    await work.call("lease/release/", { as: "failed", reason: String(error.message) });
    console.log(`refused: ${error.message}`);
    process.exit(1);
  }
}
console.log(`ended: ${work.status}`);
