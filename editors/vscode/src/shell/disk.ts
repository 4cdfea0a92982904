// The disk of a workspace folder: what it has is read here, and the native program `headstart` writes to it, with a
// journal and without following links.
import { lstat, readlink } from "node:fs/promises";
import { join } from "node:path";
import type { Disk, DiskAccept, DiskChange, DiskEntry } from "../files/disk.js";
import type { ViewProcess } from "./view-process.js";

export class WorkspaceDisk implements Disk {
  readonly #root: string;
  readonly #running: () => Promise<ViewProcess>;

  /** `root` is the folder with links resolved. `running` gives the process that writes. */
  constructor(root: string, running: () => Promise<ViewProcess>) {
    this.#root = root;
    this.#running = running;
  }

  async readLink(path: string): Promise<string> {
    const target = await readlink(join(this.#root, path), { encoding: "buffer" });
    // A target that is not UTF-8 is an error here, because another text would lead elsewhere.
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(target);
  }

  async isExecutable(path: string): Promise<boolean> {
    const found = await lstat(join(this.#root, path)).catch(() => undefined);
    return found !== undefined && found.isFile() && (found.mode & 0o100) !== 0;
  }

  async accept(changes: DiskChange[], beside?: string): Promise<DiskAccept> {
    const process = await this.#running();
    const shown = changes.map(({ path, before, after }) => ({ path, before: entry(before), after: entry(after) }));
    const { id, conflicts } = (await process.call({ type: "accept", changes: shown, ...(beside !== undefined && { beside }) } as { type: string })) as unknown as { id: number; conflicts: string[] };
    const takeBack = async (): Promise<void> => {
      const { conflicts } = (await process.call({ type: "takeBack", accept: id } as { type: string })) as unknown as { conflicts: string[] };
      if (0 < conflicts.length) throw new Error(`${conflicts.join(", ")} changed meanwhile`);
    };
    return { conflicts, takeBack };
  }
}

function entry(entry: DiskEntry | undefined): unknown {
  if (entry === undefined) return null;
  return entry.type === "file" ? { ...entry, content: { base64: Buffer.from(entry.content).toString("base64") } } : entry;
}
