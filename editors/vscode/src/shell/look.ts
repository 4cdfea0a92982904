// Answers what the gate asks about this machine right before a command runs without a question.
import { readFile, realpath, stat } from "node:fs/promises";
import { relative, resolve, sep } from "node:path";
import type { Probe, Probed } from "headstart";
import { isWithin } from "./find.js";

/** Answers a probe. `root` is the workspace with links resolved; `version` gives the output of `git version`. */
export async function look(probe: Probe, root: string, version: () => Promise<string>): Promise<Probed> {
  if (probe.kind === "gitVersion") {
    const [, major, minor] = /^git version (\d+)\.(\d+)/.exec(await version().catch(() => "")) ?? [];
    return major === undefined || minor === undefined ? "unknown" : { version: [Number(major), Number(minor)] };
  }
  try {
    // The system resolves the path link by link, because a resolution by text alone would take `link/..` for the folder
    // that holds the link.
    const path = await realpath(resolveAsWritten(root, probe.path));
    if (probe.kind === "folder") return isWithin(path, root) ? { folder: relative(root, path).split(sep).join("/") || "." } : "outside";
    // Only files are read, because reading a pipe would wait until somebody writes to it.
    return (await stat(path)).isFile() ? { file: await readFile(path) } : "unknown";
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === "ENOENT" || code === "ENOTDIR" ? "absent" : "unknown";
  }
}

/** The absolute path with its `..` kept, so that the system resolves them. */
function resolveAsWritten(root: string, path: string): string {
  return path.startsWith("/") ? path : `${resolve(root)}/${path}`;
}
