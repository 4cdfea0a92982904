import { readFileSync, realpathSync } from "node:fs";
import { type Plugin, defineConfig } from "vite";

/** What of the module a conversation begins with begins to be fetched with the page, and not when its code has come. For developers it is in one piece. */
const preloadModule: Plugin = {
  name: "preload-module",
  transformIndexHtml: {
    order: "post",
    handler(_, { bundle, path }) {
      const modules = Object.keys(bundle ?? {}).filter((name) => /headstart-[^/]*\.wasm$/.test(name));
      const module = modules.find((name) => name.includes("headstart-start-")) ?? modules[0];
      if (module === undefined || path !== "/index.html") return [];
      return [{ tag: "link", attrs: { rel: "preload", as: "fetch", type: "application/wasm", crossorigin: "", href: `./${module}` }, injectTo: "head" }];
    },
  },
};

/** The licences of what the module is made of; those of the code beside it are written by `build.license`. */
const licences: Plugin = {
  name: "licences",
  generateBundle() {
    this.emitFile({ type: "asset", fileName: "licences-module.md", source: readFileSync("node_modules/headstart/THIRD-PARTY.md") });
  },
};

/** Where the repository is, as `cargo xtask release address` has written it; until then what stands for it in the docs, too. */
const { repository } = JSON.parse(readFileSync("node_modules/headstart/package.json", "utf8")) as { repository?: { url: string } };
const home = repository?.url.replace(/^git\+|\.git$/g, "") ?? "https://github.com/OWNER/headstart";
/** Where the page is published: a picture to be shared needs a whole address. */
const [, owner, name] = /^https:\/\/github\.com\/([^/]+)\/([^/]+)$/.exec(home) ?? [];
const published = repository && owner ? `https://${owner.toLowerCase()}.github.io/${name}/playground/` : "./";

/** The addresses in the page, and the picture of it that others show beside a link. */
const addresses: Plugin = {
  name: "addresses",
  transformIndexHtml: { order: "pre", handler: (text) => text.replaceAll("%REPOSITORY%", home).replaceAll("%PAGE%", published) },
  generateBundle() {
    this.emitFile({ type: "asset", fileName: "share.png", source: readFileSync("../docs/playground.png") });
  },
};

export default defineConfig({
  plugins: [addresses, preloadModule, licences],
  // Relative addresses: the built page can lie in any folder of a server.
  base: "./",
  build: {
    target: "es2022",
    // One module for a page that needs all of it at once: mostly the editor.
    chunkSizeWarningLimit: 700,
    modulePreload: { polyfill: false },
    license: { fileName: "licences-code.md" },
    rolldownOptions: { input: ["index.html", "connect.html"] },
  },
  // The package is a link to where `cargo xtask wasm` puts it.
  server: { host: "127.0.0.1", fs: { allow: [".", realpathSync("node_modules/headstart")] } },
  preview: { host: "127.0.0.1" },
});
