import { defineConfig } from "vite";

export default defineConfig({
  // Relative addresses: the built page can lie in any folder of a server.
  base: "./",
  build: {
    target: "es2022",
    modulePreload: { polyfill: false },
    rolldownOptions: { input: ["index.html", "connect.html"] },
  },
  server: { host: "127.0.0.1" },
  preview: { host: "127.0.0.1" },
});
