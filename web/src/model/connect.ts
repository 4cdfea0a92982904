import type { Ask, Told } from "./wire.js";

// The frame's side: makes one request for each message and passes the answer on, piece by piece.

window.addEventListener("message", (event: MessageEvent<Ask>) => {
  const [port] = event.ports;
  if (event.source !== window.parent || event.origin !== window.location.origin || !port) return;
  void answer(event.data, port);
});
window.parent.postMessage("ready", window.location.origin);

async function answer({ url, method, headers, body }: Ask, port: MessagePort): Promise<void> {
  const tell = (told: Told) => port.postMessage(told);
  const unwanted = new AbortController();
  port.onmessage = () => unwanted.abort();
  try {
    const response = await fetch(url, {
      method,
      headers,
      body,
      signal: unwanted.signal,
      credentials: "omit",
      referrerPolicy: "no-referrer",
      // A key must not follow to wherever a server points.
      redirect: "error",
    });
    tell({ type: "head", status: response.status, statusText: response.statusText, headers: [...response.headers] });
    const reader = response.body?.getReader();
    for (let piece = await reader?.read(); piece && !piece.done; piece = await reader?.read()) {
      tell({ type: "bytes", bytes: piece.value });
    }
    tell({ type: "end" });
  } catch (error) {
    tell({ type: "error", message: (error as Error).message });
  }
}
