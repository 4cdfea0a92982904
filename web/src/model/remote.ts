import { type Model, fetchModel } from "headstart";
import type { Ask, Told } from "./wire.js";

/** A model behind an address that the user has entered. */
export interface Remote {
  model: Model;
  /** Removes the connection, and the key with it. */
  close(): void;
}

/** A model at any server that speaks chat completions. Only this object holds the key. */
export function remoteModel(baseUrl: string, key: string): Remote {
  const frame = document.createElement("iframe");
  frame.src = "./connect.html";
  frame.hidden = true;
  frame.title = "Connection to the model";
  const ready = new Promise<void>((resolve) => {
    window.addEventListener("message", function onReady(event) {
      if (event.source !== frame.contentWindow || event.data !== "ready") return;
      window.removeEventListener("message", onReady);
      resolve();
    });
  });
  document.body.append(frame);
  const ask: typeof fetch = async (input, init) => {
    await ready;
    const request = new Request(input, init);
    const body = await request.text();
    request.signal.throwIfAborted();
    return through(frame, { url: request.url, method: request.method, headers: [...request.headers], body }, request.signal);
  };
  const model = fetchModel({ provider: "openai", baseUrl, ...(key === "" ? {} : { key }), fetch: ask });
  return { model, close: () => frame.remove() };
}

/** Makes one request through the frame, and gives the response that `fetch` would have given. */
function through(frame: HTMLIFrameElement, ask: Ask, signal: AbortSignal): Promise<Response> {
  const { port1: port, port2 } = new MessageChannel();
  frame.contentWindow?.postMessage(ask, window.location.origin, [port2]);
  return new Promise((resolve, reject) => {
    let body: ReadableStreamDefaultController<Uint8Array> | undefined;
    const fail = (error: unknown) => {
      if (body) body.error(error);
      else reject(error);
      port.close();
    };
    const unwanted = () => {
      port.postMessage("unwanted");
      fail(signal.reason);
    };
    signal.addEventListener("abort", unwanted, { once: true });
    port.onmessage = ({ data }: MessageEvent<Told>) => {
      switch (data.type) {
        case "head": {
          const stream = new ReadableStream<Uint8Array>({
            start: (controller) => void (body = controller),
            cancel: () => {
              body = undefined;
              port.postMessage("unwanted");
            },
          });
          const { status, statusText, headers } = data;
          const hasBody = ![101, 103, 204, 205, 304].includes(status);
          resolve(new Response(hasBody ? stream : null, { status, statusText, headers }));
          break;
        }
        case "bytes":
          body?.enqueue(data.bytes);
          break;
        case "end":
          signal.removeEventListener("abort", unwanted);
          body?.close();
          port.close();
          break;
        case "error":
          signal.removeEventListener("abort", unwanted);
          fail(new TypeError(data.message));
      }
    };
  });
}
