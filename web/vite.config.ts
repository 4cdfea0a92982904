import { realpathSync } from "node:fs";
import { defineConfig } from "vite";

export default defineConfig({
  // Relative addresses: the built page can lie in any folder of a server.
  base: "./",
  build: {
    target: "es2022",
    // One module for a page that needs all of it at once: mostly the editor.
    chunkSizeWarningLimit: 700,
    modulePreload: { polyfill: false },
    rolldownOptions: { input: ["index.html", "connect.html"] },
  },
  // The package is a link to where `cargo xtask wasm` puts it.
  server: { host: "127.0.0.1", fs: { allow: [".", realpathSync("node_modules/headstart")] } },
  preview: { host: "127.0.0.1" },
});
