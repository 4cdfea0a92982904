import type { Ask, Told } from "./wire.js";

// Runs in the frame. Makes one request for each message of the page, and passes the response on in pieces.

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
      // A redirect is an error, because the key must not be sent to another server.
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
