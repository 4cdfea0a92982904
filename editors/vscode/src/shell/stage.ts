// Stages what a command has changed in a view.
import type { Overlay } from "headstart";

/** A content as the program writes it: a text if it is UTF-8. */
type Content = string | { base64: string };

/** A change of a view, as the program writes it. */
export interface ViewChange {
  /** Bytes if it is not UTF-8. */
  path: string | unknown[];
  /** What was there on disk, or in what the view showed over it. */
  base: { kind: "file" | "directory" | "symlink" | "other"; mode: number } | null;
  baseContent?: Content;
  kind: { type: "write"; content: Content; executable: boolean } | { type: "link" } | { type: "createDirectory" } | { type: "delete" };
}

export interface Staged {
  /** Paths at which the editor has something else than the command found. */
  changedMeanwhile: string[];
  /** What could not be staged as it was. */
  notes: string[];
}

/**
 * Stages the changes of a view in an overlay, which is empty. A change that VS Code cannot make is an error; then
 * nothing of the command may be kept.
 */
export async function stage(changes: ViewChange[], overlay: Overlay): Promise<Staged> {
  const staged: Staged = { changedMeanwhile: [], notes: [] };
  for (const change of changes) {
    const { path, base, baseContent, kind } = change;
    if (typeof path !== "string") throw new Error("it changes a path that is not UTF-8, and the editor has no such paths");
    if (kind.type === "link" || base?.kind === "symlink") throw new Error(`it changes ${path}, which is a link, and the editor makes and removes none`);
    const found = await overlay.metadata(path);
    const content = found?.kind === "file" ? await overlay.read(path) : undefined;
    const before = baseContent === undefined ? undefined : bytes(baseContent);
    if (found?.kind !== base?.kind || !same(content, before)) {
      staged.changedMeanwhile.push(path);
      continue;
    }
    if (kind.type === "createDirectory") {
      // A folder with something in it is made with that, so that an undo removes both.
      if (!changes.some((other) => typeof other.path === "string" && other.path.startsWith(`${path}/`))) await overlay.createDir(path);
      continue;
    }
    if (base?.kind === "directory" && 0 < (await overlay.list(path)).length) {
      // Something is in it that the command has not seen, because a rule closes it or it is new.
      staged.changedMeanwhile.push(path);
      continue;
    }
    if (kind.type === "delete") {
      await overlay.remove(path);
      continue;
    }
    const after = bytes(kind.content);
    const wasExecutable = base?.kind === "file" && (base.mode & 0o100) !== 0;
    if (kind.executable !== wasExecutable) staged.notes.push(`${path}: whether it may be executed is not kept`);
    if (base?.kind === "directory") await overlay.remove(path);
    // A new file keeps the bit for the commands that follow, although the editor does not write it.
    if (!same(after, before)) await overlay.write(path, after, base === null ? { executable: kind.executable } : {});
  }
  return staged;
}

function bytes(content: Content): Uint8Array {
  return typeof content === "string" ? new TextEncoder().encode(content) : new Uint8Array(Buffer.from(content.base64, "base64"));
}

function same(one: Uint8Array | undefined, other: Uint8Array | undefined): boolean {
  return one === undefined || other === undefined ? one === other : Buffer.compare(one, other) === 0;
}
