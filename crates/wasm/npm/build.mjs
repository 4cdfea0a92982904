// Makes the package from what `cargo xtask wasm` left in MODULES/ENTRY (the module and wasm-bindgen's glue):
// `node build.mjs MODULES OUTPUT [--dev]`. Start it through `cargo xtask wasm`.
import { execFile, execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build } from "esbuild";
import { namedInOrder } from "./order.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const repository = join(here, "../../..");
const [modules, output] = process.argv.slice(2, 4).map((path) => resolve(path));
const dev = process.argv.includes("--dev");
const manifest = JSON.parse(readFileSync(join(here, "package.json"), "utf8"));

/** The entries: `headstart`, and those that are smaller, each with a module of its own; for developers with the code of the whole one. */
const entries = [
  { source: "index.ts", browser: "index.js", node: "node", module: "headstart", made: "headstart" },
  ...["core", "gate", "controller"].map((name) => ({
    source: `${name}.ts`,
    browser: `${name}.js`,
    node: `node-${name}`,
    module: name,
    made: dev ? "headstart" : name,
  })),
];

rmSync(output, { recursive: true, force: true });
mkdirSync(output, { recursive: true });
writeTypes();
// The optimiser has one thread. The grammar's module is not shipped: it only tells how large the grammar is.
const ready = entries.map(async (entry) => {
  copyFileSync(await shipped(entry.made), join(output, `${entry.module}.wasm`));
  await writeCode(entry);
});
await Promise.all([...ready, dev || shipped("grammar")]);
writeRest();

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

/** One bundle for browsers and bundlers; for Node one in CommonJS, which the ES module passes on: so there is one instance. */
async function writeCode({ source, browser, node, module, made }) {
  const options = {
    entryPoints: [join(here, "src", source)],
    bundle: true,
    charset: "utf8",
    target: "es2022",
    metafile: true,
    legalComments: "none",
    define: { MODULE_FILE: JSON.stringify(`./${module}.wasm`), VERSION: JSON.stringify(manifest.version) },
    alias: { "#glue": join(modules, made, "glue_bg.js"), "#platform": join(here, "src/init-browser.ts") },
    logLevel: "warning",
  };
  const outfile = join(output, browser);
  const { metafile } = await build({ ...options, format: "esm", outfile });
  await build({
    ...options,
    format: "cjs",
    platform: "node",
    outfile: join(output, `${node}.cjs`),
    alias: { ...options.alias, "#platform": join(here, "src/init-node.ts") },
  });
  const [{ exports }] = Object.values(metafile.outputs);
  writeFileSync(join(output, `${node}.js`), `export {\n  ${exports.join(",\n  ")},\n} from "./${node}.cjs";\n`);
}

/** The declarations that an entry reaches, once as ES modules and once as CommonJS. */
function writeTypes() {
  const all = join(modules, "types");
  rmSync(all, { recursive: true, force: true });
  // The glue is where the caller's target folder is; an editor finds it in the usual one.
  const paths = { "#glue": [join(modules, "headstart/glue.d.ts")], "#platform": [join(here, "src/init-browser.ts")] };
  const config = join(modules, "tsconfig.json");
  const compilerOptions = { paths, rootDir: join(here, "src"), typeRoots: [join(here, "node_modules/@types")], noEmit: false };
  writeFileSync(config, JSON.stringify({ extends: join(here, "tsconfig.json"), compilerOptions, include: [join(here, "src")] }));
  run(tool("tsc"), ["-p", config, "--declaration", "--emitDeclarationOnly", "--outDir", all]);
  const reached = new Set(entries.map(({ source }) => source.replace(".ts", ".d.ts")));
  for (const file of reached) {
    const text = readFileSync(join(all, file), "utf8");
    for (const [, specifier] of text.matchAll(/(?:from|import\()\s*"([^"]+)"/g)) {
      if (!specifier.startsWith("./")) throw new Error(`the types of ${file} need ${specifier}, which is not in the package`);
      reached.add(specifier.slice(2).replace(/\.js$/, ".d.ts"));
    }
  }
  for (const [folder, type] of [["types", "module"], ["types-cjs", "commonjs"]]) {
    mkdirSync(join(output, folder));
    for (const file of reached) copyFileSync(join(all, file), join(output, folder, file));
    writeFileSync(join(output, folder, "package.json"), `${JSON.stringify({ type })}\n`);
  }
}

function writeRest() {
  const { devDependencies, scripts, ...published } = manifest;
  writeFileSync(join(output, "package.json"), `${JSON.stringify(published, null, 2)}\n`);
  copyFileSync(join(here, "README.md"), join(output, "README.md"));
  for (const licence of ["LICENSE-APACHE", "LICENSE-MIT"]) copyFileSync(join(repository, licence), join(output, licence));
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
