// Makes the package from what `cargo xtask wasm` left in MODULES/ENTRY (the module and wasm-bindgen's glue):
// `node build.mjs MODULES OUTPUT [--dev] [--repository=ADDRESS]`. Start it through `cargo xtask wasm`.
import { execFile, execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { brotliCompressSync, constants } from "node:zlib";
import { build } from "esbuild";
import { filesOf, published } from "./manifest.mjs";
import { namedInOrder } from "./order.mjs";
import { laterData } from "./parts/linked.mjs";
import { split } from "./parts/split.mjs";
import { needed, watched } from "./parts/watched.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const repository = join(here, "../../..");
const [modules, output] = process.argv.slice(2, 4).map((path) => resolve(path));
const dev = process.argv.includes("--dev");
const manifest = JSON.parse(readFileSync(join(here, "package.json"), "utf8"));

/** The entries: `headstart`, and those that are smaller, each with a module of its own; for developers with the code of the whole one. */
const entries = ["headstart", "core", "gate", "code-index"].map((name) => ({
  name,
  source: name === "headstart" ? "index.ts" : `${name}.ts`,
  made: dev ? "headstart" : name,
}));

/** Entries without a module, one file for all. */
const plain = ["attach", "controller", "folder", "messages", "react", "sessions"].map((name) => ({ name, source: `${name}.ts` }));

rmSync(output, { recursive: true, force: true });
mkdirSync(output, { recursive: true });
writeTypes();
// The optimiser has one thread. Two modules are not shipped: they only tell how large the grammar and the index are.
const ready = entries.map(async (entry) => {
  const module = await shipped(entry.made);
  copyFileSync(module, join(output, `${entry.name}.wasm`));
  await writeCode(entry, packed(module));
  if (isInParts(entry)) await writeParts(entry, module);
});
await Promise.all([...ready, ...plain.map(writePlainCode), ...(dev ? [] : ["grammar", "core-and-index"].map(shipped))]);
writeRest();

/** Whether a page fetches the module of this entry in two parts: the one that is large, and not for developers. */
function isInParts({ name }) {
  return name === "headstart" && !dev;
}

/** Beside a module the two parts that a page fetches in its place: what a conversation begins with, and the rest. */
async function writeParts({ name, made }, module) {
  const bytes = readFileSync(module);
  const { start, rest } = filesOf({ name }).parts;
  const [first, second] = [start, rest].map((file) => join(modules, made, file));
  const later = laterData(readFileSync(join(modules, `${made}.map`), "utf8"));
  const parts = split(bytes, await begins(bytes, made), later);
  await Promise.all([ordered(parts.rest, second), ordered(parts.start, first)]);
  copyFileSync(first, join(output, start));
  copyFileSync(second, join(output, rest));
}

/** Of each function whether it runs until a conversation has begun. */
async function begins(bytes, made) {
  const { module, marks, count } = watched(bytes);
  const file = join(modules, made, "watched.wasm");
  writeFileSync(file, module);
  const given = [join(here, "parts/begin.mjs"), join(output, "node.cjs"), file, marks, count];
  const { stdout } = await promisify(execFile)(process.execPath, given.map(String));
  rmSync(file);
  return needed(bytes, new Set(JSON.parse(stdout)));
}

/** Writes a module with its functions in the order in which gzip makes it smallest, and without what nothing in it uses. */
async function ordered(bytes, to) {
  writeFileSync(to, bytes);
  await optimise(["--remove-unused-module-elements", to, "-o", to]);
  writeFileSync(to, namedInOrder(readFileSync(to)));
  await optimise(["--reorder-functions-by-name", "--strip-debug", to, "-o", to]);
}

/** The file of a module as it is shipped: for developers as it is, else optimised for size. */
async function shipped(module) {
  const from = join(modules, module, "glue_bg.wasm");
  if (dev) return from;
  const to = join(modules, module, "small.wasm");
  // The folder is made anew when the module has changed.
  if (existsSync(to)) return to;
  // Packed memory makes the file smaller and what gzip makes of it larger. The section of target features stays:
  // without it the optimiser of a bundler would not know what it may use.
  // `--flatten --rereloop` before them would save 2 KiB more and take more than twice as long.
  const passes = ["-Oz", "-Oz", "--skip-pass=memory-packing", "--strip-debug", "--strip-producers"];
  await optimise([...passes, from, "-o", `${to}.new`]);
  writeFileSync(`${to}.new`, namedInOrder(readFileSync(`${to}.new`)));
  await optimise(["--reorder-functions-by-name", "--strip-debug", `${to}.new`, "-o", `${to}.new`]);
  renameSync(`${to}.new`, to);
  return to;
}

/** The file of a module as bundles for Node have it in their code. */
function packed(module) {
  const to = `${module}.br`;
  if (existsSync(to)) return to;
  const bytes = readFileSync(module);
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: dev ? 3 : constants.BROTLI_MAX_QUALITY,
    [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
    [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
  };
  writeFileSync(`${to}.new`, brotliCompressSync(bytes, { params }));
  renameSync(`${to}.new`, to);
  return to;
}

/**
 * One file for browsers and bundlers, and one for bundles that run in Node; for Node itself one in CommonJS, which the ES module
 * passes on: so there is one instance.
 */
async function writeCode({ name, source, made }, packed) {
  const { browser, node, bundled } = filesOf({ name });
  const parts = isInParts({ name }) ? filesOf({ name }).parts : undefined;
  const write = (file, platform, options) => {
    const glue = join(modules, made, "glue_bg.js");
    const alias = { "#glue": glue, "#glue-code-index": glue, "#platform": join(here, `src/init-${platform}.ts`), "#packed": packed };
    const define = { MODULE_FILE: JSON.stringify(`./${name}.wasm`), ...fileNames(parts), VERSION: JSON.stringify(manifest.version) };
    return bundle(source, file, { define, loader: { ".br": "base64" }, ...options, alias });
  };
  const exports = await write(browser, parts ? "parts" : "browser", { format: "esm" });
  await write(bundled, "bundled", { format: "esm", platform: "node" });
  await write(`${node}.cjs`, "node", { format: "cjs", platform: "node" });
  passOn(node, exports);
}

/** What the code calls the parts. */
function fileNames(parts) {
  return parts && { START_FILE: JSON.stringify(`./${parts.start}`), REST_FILE: JSON.stringify(`./${parts.rest}`) };
}

/** As {@link writeCode}, without what is about a module. */
async function writePlainCode({ name, source }) {
  const { browser, node } = filesOf({ name });
  const exports = await bundle(source, browser, { format: "esm", platform: name === "folder" ? "node" : "neutral", external: ["react"] });
  await bundle(source, `${node}.cjs`, { format: "cjs", platform: "node", external: ["react"] });
  passOn(node, exports);
}

/** Writes a file of the package from a source, and gives the names that it exports. */
async function bundle(source, file, options) {
  const outfile = join(output, file);
  const { metafile } = await build({
    entryPoints: [join(here, "src", source)],
    bundle: true,
    charset: "utf8",
    target: "es2022",
    metafile: true,
    sourcemap: true,
    legalComments: "none",
    logLevel: "warning",
    ...options,
    alias: { ...options.alias, "#tables": join(here, "../../followup-state/tables.json") },
    outfile,
  });
  nameSources(`${outfile}.map`);
  return Object.values(metafile.outputs).find(({ entryPoint }) => entryPoint !== undefined).exports;
}

/** The ES module that passes on what a file in CommonJS has. */
function passOn(node, exports) {
  writeFileSync(join(output, `${node}.js`), `export {\n  ${exports.join(",\n  ")},\n} from "./${node}.cjs";\n`);
}

/** A map names its sources, whose text is in it, by where they are in the project, and not on this machine. */
function nameSources(file) {
  const map = JSON.parse(readFileSync(file, "utf8"));
  map.sources = map.sources.map((source) => (source.endsWith(".ts") ? `headstart/src/${source.split("/npm/src/").at(-1)}` : `headstart/${basename(source)}`));
  writeFileSync(file, JSON.stringify(map));
}

/** The declarations that an entry reaches, as ES modules and as CommonJS. */
function writeTypes() {
  const all = join(modules, "types");
  rmSync(all, { recursive: true, force: true });
  // The glue is where the caller's target folder is; an editor finds it in the usual one.
  const paths = {
    "#glue": [join(modules, "headstart/glue.d.ts")],
    "#glue-code-index": [join(modules, dev ? "headstart" : "code-index", "glue.d.ts")],
    "#platform": [join(here, "src/init-browser.ts")],
    "#tables": [join(here, "../../followup-state/tables.json")],
  };
  const config = join(modules, "tsconfig.json");
  const compilerOptions = { paths, rootDir: join(here, "src"), typeRoots: [join(here, "node_modules/@types")], noEmit: false };
  writeFileSync(config, JSON.stringify({ extends: join(here, "tsconfig.json"), compilerOptions, include: [join(here, "src")] }));
  run(tool("tsc"), ["-p", config, "--declaration", "--emitDeclarationOnly", "--outDir", all]);
  const reached = new Set([...entries, ...plain].map(({ source }) => source.replace(".ts", ".d.ts")));
  for (const file of reached) {
    const text = readFileSync(join(all, file), "utf8");
    for (const [, specifier] of text.matchAll(/(?:from|import\()\s*"([^"]+)"/g)) {
      if (!specifier.startsWith("./")) throw new Error(`the types of ${file} need ${specifier}, which is not in the package`);
      reached.add(specifier.slice(2).replace(/\.js$/, ".d.ts"));
    }
  }
  mkdirSync(join(output, "types"));
  for (const file of reached) {
    const text = readFileSync(join(all, file), "utf8");
    writeFileSync(join(output, "types", file), text);
    // A declaration of CommonJS takes the others as such, too.
    const common = text.replaceAll(/((?:from|import\()\s*"\.\/[^"]+)\.js"/g, '$1.cjs"');
    writeFileSync(join(output, "types", file.replace(".d.ts", ".d.cts")), common);
  }
}

function writeRest() {
  const home = process.argv.find((argument) => argument.startsWith("--repository="))?.slice("--repository=".length);
  writeFileSync(join(output, "package.json"), `${JSON.stringify(published(manifest, entries, plain, home), null, 2)}\n`);
  copyFileSync(join(here, "README.md"), join(output, "README.md"));
  for (const licence of ["LICENSE-APACHE", "LICENSE-MIT"]) copyFileSync(join(repository, licence), join(output, licence));
  copyFileSync(join(modules, "THIRD-PARTY.md"), join(output, "THIRD-PARTY.md"));
}

function tool(name) {
  return join(here, "node_modules/.bin", name);
}

async function optimise(args) {
  await promisify(execFile)(tool("wasm-opt"), args);
}

function run(program, args) {
  execFileSync(program, args, { stdio: ["ignore", "inherit", "inherit"] });
}
