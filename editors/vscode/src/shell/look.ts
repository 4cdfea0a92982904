// What the gate asks of this machine right before a command runs that nobody was asked about.
import { readFile, realpath, stat } from "node:fs/promises";
import { relative, resolve, sep } from "node:path";
import type { Probe, Probed } from "headstart";
import { isWithin } from "./find.js";

/** `root`: the workspace, without links; `version`: what git says of its version. */
export async function look(probe: Probe, root: string, version: () => Promise<string>): Promise<Probed> {
  if (probe.kind === "gitVersion") {
    const [, major, minor] = /^git version (\d+)\.(\d+)/.exec(await version().catch(() => "")) ?? [];
    return major === undefined || minor === undefined ? "unknown" : { version: [Number(major), Number(minor)] };
  }
  try {
    // Resolved by the system, link by link: the text alone would take `link/..` for its own folder.
    const path = await realpath(resolveAsWritten(root, probe.path));
    if (probe.kind === "folder") return isWithin(path, root) ? { folder: relative(root, path).split(sep).join("/") || "." } : "outside";
    // Reading a pipe would wait for whoever writes to it.
    return (await stat(path)).isFile() ? { file: await readFile(path) } : "unknown";
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === "ENOENT" || code === "ENOTDIR" ? "absent" : "unknown";
  }
}

/** With its `..` left for the system. */
function resolveAsWritten(root: string, path: string): string {
  return path.startsWith("/") ? path : `${resolve(root)}/${path}`;
}
