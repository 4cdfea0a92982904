// The first code that runs in the worker of one test file. It removes interfaces that tests of a library do not need,
// then loads the file. This is not what keeps a test from the network: the page's content security policy does, which
// this worker inherits.

const NOT_FOR_TESTS = [
  "fetch", "XMLHttpRequest", "WebSocket", "WebSocketStream", "WebTransport", "EventSource", "importScripts", "indexedDB", "caches",
  "BroadcastChannel", "Worker", "SharedWorker",
];

const post = self.postMessage.bind(self);
for (const name of NOT_FOR_TESTS) {
  if (name in self) Object.defineProperty(self, name, { value: undefined });
}

for (const level of ["log", "info", "debug", "warn", "error"]) {
  console[level] = (...values) => post({ line: values.map((value) => (typeof value === "string" ? value : inspect(value))).join(" ") });
}

function inspect(value) {
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value);
  }
}

function told(error) {
  if (!(error instanceof Error)) return { name: "Error", message: String(error), stack: "" };
  return { name: error.name, message: error.message, stack: error.stack ?? "" };
}

self.addEventListener("unhandledrejection", (event) => {
  event.preventDefault();
  post({ broken: told(event.reason) });
});

self.onmessage = async ({ data }) => {
  try {
    const { runAll } = await import(data.test);
    await import(data.entry);
    await runAll(post);
  } catch (error) {
    post({ broken: told(error) });
  }
  post({ done: true });
};
