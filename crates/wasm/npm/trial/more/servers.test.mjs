// Tests of bundlers and runtimes for servers. Each bundle runs in a folder that has nothing of the package near it, and
// must have the same outcome as in Node.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { copyFileSync, cpSync, mkdtempSync, mkdirSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { nodeResolve } from "@rollup/plugin-node-resolve";
import * as esbuild from "esbuild";
import { rollup } from "rollup";
import { node, printed, webpacked } from "../runs.mjs";

const here = import.meta.dirname;
const program = join(here, "projects/server/main.mjs");
const module = createRequire(import.meta.url).resolve("headstart/headstart.wasm");
const expected = node(join(here, "../projects/node-esm/main.mjs"));
const elsewhere = mkdtempSync(join(tmpdir(), "headstart-bundles-"));
after(() => rmSync(elsewhere, { recursive: true }));
const tool = (name) => join(here, "node_modules/.bin", name);

for (const format of ["esm", "cjs"]) {
  const bundle = (entry, outfile, conditions) =>
    esbuild.build({ entryPoints: [entry], bundle: true, platform: "node", format, conditions, outfile, logLevel: "error" });
  const suffix = format === "esm" ? "mjs" : "cjs";

  test(`esbuild --platform=node --format=${format}`, async () => {
    const outfile = join(elsewhere, `esbuild.${suffix}`);
    await bundle(program, outfile);
    assert.deepEqual(node(outfile), expected);
  });

  test(`esbuild --platform=node --format=${format} without the condition "module": the error says what to do, and that helps`, async () => {
    const outfile = join(elsewhere, `lost.${suffix}`);
    await bundle(join(here, "projects/lost/main.mjs"), outfile, ["custom"]);
    const { told, outcome } = node(outfile, module);
    assert.equal(told.code, "not_loaded");
    assert.match(told.message, /let the bundler use the condition "module".*pass init\(\) what your tools make of headstart\/headstart\.wasm/);
    assert.deepEqual(outcome, expected);
  });
}

test("webpack, target node", async () => {
  await webpacked({ target: "node", entry: program, output: { path: elsewhere, filename: "webpack.cjs" } });
  assert.deepEqual(node(join(elsewhere, "webpack.cjs")), expected);
});

test("Rollup with node-resolve", async () => {
  const bundle = await rollup({ input: program, plugins: [nodeResolve({ exportConditions: ["node"] })], onwarn: assert.fail });
  await bundle.write({ file: join(elsewhere, "rollup.mjs"), inlineDynamicImports: true });
  assert.deepEqual(node(join(elsewhere, "rollup.mjs")), expected);
});

test("Deno runs it without a permission, and bundles it", () => {
  const env = { ...process.env, DENO_NO_UPDATE_CHECK: "1", NO_COLOR: "1" };
  assert.deepEqual(printed(tool("deno"), ["run", "--no-prompt", program], { cwd: here, env }), expected);
  const bundle = join(elsewhere, "deno.mjs");
  execFileSync(tool("deno"), ["bundle", "--platform", "deno", "-o", bundle, program], { cwd: here, env, stdio: "pipe" });
  assert.deepEqual(printed(tool("deno"), ["run", "--no-prompt", bundle], { cwd: elsewhere, env }), expected);
});

test("Bun runs it, and bundles it", () => {
  // The installation does not run scripts of packages. This script has to be run, because it puts the program in its
  // place.
  execFileSync(process.execPath, [join(here, "node_modules/bun/install.js")], { cwd: join(here, "node_modules/bun"), stdio: "pipe" });
  assert.deepEqual(printed(tool("bun"), ["run", program], { cwd: here }), expected);
  for (const options of [["--target=bun"], ["--target=node", "--conditions=module"]]) {
    const bundle = join(elsewhere, `bun${options.length}.mjs`);
    execFileSync(tool("bun"), ["build", ...options, "--outfile", bundle, program], { cwd: here, stdio: "pipe" });
    assert.deepEqual(printed(tool("bun"), ["run", bundle], { cwd: elsewhere }), expected, options.join(" "));
  }
  assert.deepEqual(node(join(elsewhere, "bun2.mjs")), expected);
});

test("workerd", { timeout: 120_000 }, async () => {
  const folder = join(elsewhere, "workerd");
  cpSync(join(here, "projects/workerd"), folder, { recursive: true });
  mkdirSync(join(folder, "dist"));
  // The options are those of Cloudflare's own tool: these conditions, and modules are left to the runtime.
  await esbuild.build({
    entryPoints: [join(here, "projects/workerd/main.mjs")],
    bundle: true,
    format: "esm",
    conditions: ["workerd", "worker", "browser"],
    external: ["*.wasm"],
    outfile: join(folder, "dist/main.mjs"),
    logLevel: "error",
  });
  copyFileSync(module, join(folder, "dist/headstart.wasm"));
  // The program is started directly, because npm's wrapper around it would outlive its end, or keep the port to itself.
  const [platform] = readdirSync(join(here, "node_modules/@cloudflare")).filter((name) => name.startsWith("workerd-"));
  const workerd = join(here, "node_modules/@cloudflare", platform, "bin/workerd");
  const server = spawn(workerd, ["serve", join(folder, "config.capnp"), "--control-fd=1"], { stdio: ["ignore", "pipe", "inherit"] });
  try {
    const said = await new Promise((resolve, reject) => {
      server.stdout.once("data", (line) => resolve(JSON.parse(String(line).split("\n")[0])));
      server.once("exit", (code) => reject(new Error(`workerd ended with ${code}`)));
    });
    const response = await fetch(`http://127.0.0.1:${said.port}/`);
    assert.equal(response.status, 200);
    assert.deepEqual(await response.json(), expected);
  } finally {
    server.kill();
  }
});

test("a bundle for servers has the module in it once", () => {
  const code = readFileSync(join(elsewhere, "esbuild.mjs"), "utf8");
  assert.equal(code.match(/"[A-Za-z0-9+/=]{100000,}"/g)?.length, 1);
});
