import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Recording } from "headstart";
import { ROOT } from "../e2e/server.js";
import { Workbench } from "../e2e/workbench.js";

const TARGET = resolve(ROOT, process.env.CARGO_TARGET_DIR ?? "../../target");
const SERVER = join(TARGET, "vscode-server/node_modules/code-server/lib/vscode/out/server-main.js");
const BINARY = resolve(process.env.HEADSTART_BINARY ?? join(TARGET, "debug/headstart"));

/**
 * A VS Code whose extensions run in Node, over a real folder. It is the editor's own server, with a browser as its
 * window.
 */
export interface Editor {
  workbench: Workbench;
  /** The folder of the project. */
  root: string;
  close(): Promise<void>;
}

/** Opens the editor. `recording` has the answers of the model, and `files` are those of the project. */
export async function openEditor(recording: Recording, files: Record<string, string>): Promise<Editor> {
  for (const [file, how] of [[SERVER, ".ci/install vscode"], [BINARY, "cargo build -p headstart --all-features"]] as const) {
    assert.ok(existsSync(file), `${file} is missing: ${how}`);
  }
  const home = realpathSync(mkdtempSync(join(tmpdir(), "headstart-editor-")));
  const [root, extension, data] = [join(home, "project"), join(home, "extensions/headstart-0.1.0"), join(home, "data")];
  for (const [path, text] of Object.entries({ ...files, "recording.json": JSON.stringify(recording) })) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  for (const part of ["package.json", "dist", "media"]) cpSync(join(process.env.EXTENSION_FOLDER ?? ROOT, part), join(extension, part), { recursive: true });
  // The binary is in the settings of the machine, because an extension may take a program to start only from there.
  mkdirSync(join(data, "data/Machine"), { recursive: true });
  writeFileSync(join(data, "data/Machine/settings.json"), JSON.stringify({ "headstart.binary": BINARY }));
  const own = ["--host", "127.0.0.1", "--port", "0", "--without-connection-token", "--accept-server-license-terms", "--disable-workspace-trust"];
  const server = spawn(process.execPath, [SERVER, ...own, "--server-data-dir", data, "--extensions-dir", join(home, "extensions")], { stdio: ["ignore", "pipe", "pipe"] });
  const close = (): void => {
    server.kill();
    rmSync(home, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  };
  try {
    const port = await portOf(server);
    const workbench = await Workbench.launch({ port, stored: new Map(), handlers: new Map(), close: () => Promise.resolve(close()) });
    const defaults = {
      "workbench.startupEditor": "none",
      "telemetry.telemetryLevel": "off",
      "headstart.provider": "recording",
      "headstart.recording": "recording.json",
    };
    await withDefaults(workbench, defaults);
    await workbench.load(`http://127.0.0.1:${port}/?folder=${encodeURIComponent(root)}`);
    return { workbench, root, close: () => workbench.close() };
  } catch (error) {
    close();
    throw error;
  }
}

async function portOf(server: ChildProcess): Promise<number> {
  let said = "";
  for (const stream of [server.stdout, server.stderr]) stream?.on("data", (data) => (said += String(data)));
  for (let left = 300; 0 < left; left -= 1) {
    const port = /agent listening on (\d+)/.exec(said)?.[1];
    if (port !== undefined) return Number(port);
    assert.equal(server.exitCode, null, said);
    await sleep(100);
  }
  return assert.fail(`the editor's server does not listen: ${said}`);
}

/**
 * Sets the user's settings. A new browser has no file of settings, so they are put into the page before its scripts
 * read them.
 */
async function withDefaults({ page }: Workbench, defaults: Record<string, unknown>): Promise<void> {
  await page.addInitScript((configurationDefaults) => {
    new MutationObserver((_, observer) => {
      const found = document.getElementById("vscode-workbench-web-configuration");
      if (found?.dataset.settings === undefined) return;
      observer.disconnect();
      found.dataset.settings = JSON.stringify({ ...JSON.parse(found.dataset.settings), configurationDefaults });
    }).observe(document, { childList: true, subtree: true });
  }, defaults);
}
