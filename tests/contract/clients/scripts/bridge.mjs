// Sends the requests that come as lines of JSON with node's own fetch; prints each answer as a line.
import { createInterface } from "node:readline";

for await (const line of createInterface({ input: process.stdin })) {
  const { method, url, headers, body } = JSON.parse(line);
  const response = await fetch(url, { method, headers, body: body ?? undefined });
  const text = await response.text();
  const named = Object.fromEntries(response.headers);
  console.log(JSON.stringify({ status: response.status, headers: named, text }));
}
