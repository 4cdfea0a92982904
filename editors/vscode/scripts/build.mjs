// Bundles the extension and its page. With --test it bundles the tests, too.
import { copyFile, mkdir, readdir, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));
const text = { ".md": "text", ".py": "text", ".toml": "text" };
const common = { absWorkingDir: root, bundle: true, target: "es2022", logLevel: "warning", loader: text };

if (process.argv.includes("--test")) {
  await rm(`${root}out/test`, { recursive: true, force: true });
  const of = async (folder) => (await readdir(`${root}test/${folder}`)).filter((name) => name.endsWith(".test.ts")).map((name) => `test/${folder}/${name}`);
  await build({
    ...common,
    entryPoints: [...(await of("unit")), ...(await of("e2e")), ...(await of("desktop"))],
    outdir: "out/test",
    outbase: "test",
    outExtension: { ".js": ".mjs" },
    format: "esm",
    platform: "node",
    // `vscode` exists only inside an editor, so unit tests get a replacement for it.
    alias: { vscode: "./test/unit/vscode.ts" },
    external: ["playwright-core", "headstart"],
  });
  await build({
    ...common,
    entryPoints: ["test/e2e/memfs/extension.ts"],
    outfile: "out/test/memfs/dist/extension.js",
    format: "cjs",
    platform: "browser",
    external: ["vscode"],
  });
  for (const name of ["package.json", "package.nls.json"]) await copyFile(`${root}test/e2e/memfs/${name}`, `${root}out/test/memfs/${name}`);
} else {
  await rm(`${root}dist`, { recursive: true, force: true });
  await mkdir(`${root}dist`);
  const extension = (entry, outfile, external) =>
    build({
      ...common,
      entryPoints: [entry],
      outfile,
      format: "cjs",
      platform: "browser",
      external: ["vscode", ...external],
      minify: true,
      // The extension reads the wasm from its own folder, so the address of the bundle is never used.
      define: { "import.meta.url": '"headstart:"' },
    });
  await extension("src/desktop.ts", "dist/extension.js", ["node:*"]);
  // A browser has no modules of Node's. They are not external here, so that an import of one fails the build.
  await extension("src/extension.ts", "dist/web.js", []);
  await build({ ...common, entryPoints: ["src/view/page/main.ts"], outfile: "dist/view.js", format: "iife", platform: "browser", minify: true });
  const { resolve } = createRequire(import.meta.url);
  for (const module of ["headstart.wasm", "code-index.wasm"]) await copyFile(resolve(`headstart/${module}`), `${root}dist/${module}`);
}
