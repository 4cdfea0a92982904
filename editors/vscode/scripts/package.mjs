// Makes the .vsix from exactly the files that are listed here.
import { execFile } from "node:child_process";
import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const root = fileURLToPath(new URL("..", import.meta.url));
const stage = `${root}out/package/`;
const FILES = ["README.md", "package.nls.json", "dist/extension.js", "dist/web.js", "dist/headstart.wasm", "dist/code-index.wasm", "dist/view.js", "media/activity.svg", "media/icon.png", "media/view.css"];

await rm(stage, { recursive: true, force: true });
for (const file of FILES) await cp(root + file, stage + file);
const licences = await Promise.all(["LICENSE-MIT", "LICENSE-APACHE"].map((name) => readFile(`${root}../../${name}`, "utf8")));
// The code of others in the extension comes from two places: the module of the npm package, and marked, which reads
// Markdown in the page.
const { resolve } = createRequire(import.meta.url);
const ofOthers = await readFile(join(dirname(resolve("headstart/package.json")), "THIRD-PARTY.md"), "utf8");
const ofMarked = await readFile(join(dirname(resolve("marked/package.json")), "LICENSE.md"), "utf8");
await writeFile(`${stage}THIRD-PARTY.md`, `${ofOthers.trimEnd()}\n\n## marked\n\n\`\`\`text\n${ofMarked.trim()}\n\`\`\`\n`);
await writeFile(`${stage}LICENSE.txt`, `headstart is licensed under either of the two licences below, as you like.\n\n${licences.join("\n\n")}`);
const { scripts: _scripts, devDependencies: _dev, dependencies: _dependencies, private: _private, ...manifest } = JSON.parse(await readFile(`${root}package.json`, "utf8"));
await writeFile(`${stage}package.json`, `${JSON.stringify(manifest, null, 2)}\n`);
// The ignore file is empty, because the files are already chosen one by one above.
await writeFile(`${stage}.vscodeignore`, "");

const out = `${root}out/headstart-${manifest.version}.vsix`;
await mkdir(`${root}out`, { recursive: true });
const vsce = resolve("@vscode/vsce/vsce");
const { stdout, stderr } = await promisify(execFile)(process.execPath, [vsce, "package", "--no-dependencies", "--skip-license", "--allow-missing-repository", "--out", out], { cwd: stage });
process.stdout.write(stdout + stderr);
