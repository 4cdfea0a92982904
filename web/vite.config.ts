import { readFileSync, realpathSync } from "node:fs";
import { type Plugin, defineConfig } from "vite";

/**
 * Has the browser fetch the first part of the module together with the page, so that it need not wait for the code that
 * asks for it. In development the module is in one piece.
 */
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

/** Adds the licences of the parts of the module. The licences of the code beside it are written by `build.license`. */
const licences: Plugin = {
  name: "licences",
  generateBundle() {
    this.emitFile({ type: "asset", fileName: "licences-module.md", source: readFileSync("node_modules/headstart/THIRD-PARTY.md") });
  },
};

/**
 * The address of the repository that `cargo xtask release address` has written. Before that it is the placeholder that
 * the docs use, too.
 */
const { repository } = JSON.parse(readFileSync("node_modules/headstart/package.json", "utf8")) as { repository?: { url: string } };
const home = repository?.url.replace(/^git\+|\.git$/g, "") ?? "https://github.com/OWNER/headstart";
/** The address at which the page is published, because a preview picture needs an absolute address. */
const [, owner, name] = /^https:\/\/github\.com\/([^/]+)\/([^/]+)$/.exec(home) ?? [];
const published = repository && owner ? `https://${owner.toLowerCase()}.github.io/${name}/playground/` : "./";

/** Puts the addresses into the page, and adds the picture that other sites show beside a link to it. */
const addresses: Plugin = {
  name: "addresses",
  transformIndexHtml: { order: "pre", handler: (text) => text.replaceAll("%REPOSITORY%", home).replaceAll("%PAGE%", published) },
  generateBundle() {
    this.emitFile({ type: "asset", fileName: "share.png", source: readFileSync("../docs/playground.png") });
  },
};

export default defineConfig({
  plugins: [addresses, preloadModule, licences],
  // Addresses are relative, so that the built page works in any folder of a server.
  base: "./",
  build: {
    target: "es2022",
    // The limit is raised because one module, which is mostly the editor, is needed as a whole.
    chunkSizeWarningLimit: 700,
    modulePreload: { polyfill: false },
    license: { fileName: "licences-code.md" },
    rolldownOptions: { input: ["index.html", "connect.html"] },
  },
  // The folder of the package is allowed because the package is a link to where `cargo xtask wasm` puts it.
  server: { host: "127.0.0.1", fs: { allow: [".", realpathSync("node_modules/headstart")] } },
  preview: { host: "127.0.0.1" },
});
