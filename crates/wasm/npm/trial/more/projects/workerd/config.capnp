using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [(name = "main", worker = .worker)],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);

const worker :Workerd.Worker = (
  modules = [
    (name = "main.mjs", esModule = embed "dist/main.mjs"),
    (name = "headstart/headstart.wasm", wasm = embed "dist/headstart.wasm"),
  ],
  compatibilityDate = "2026-01-01",
);
