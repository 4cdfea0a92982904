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
  kind: { type: "write"; content: Content; executable: boolean } | { type: "link"; target: Content } | { type: "createDirectory" } | { type: "delete" };
}

/**
 * Stages the changes of a view in an overlay, which is empty, and gives the paths at which the editor has something else
 * than the command found. A change that an accept cannot make is an error; then nothing of the command may be kept. One
 * is a link that leads out of the workspace, also by another link.
 */
export async function stage(changes: ViewChange[], overlay: Overlay): Promise<string[]> {
  const changedMeanwhile: string[] = [];
  for (const change of changes) {
    const { path, base, baseContent, kind } = change;
    if (typeof path !== "string") throw new Error("it changes a path that is not UTF-8, and the editor has no such paths");
    const found = await overlay.metadata(path);
    const content = found?.kind === "file" ? await overlay.read(path) : found?.kind === "symlink" ? bytes(await overlay.readLink(path)) : undefined;
    const before = baseContent === undefined ? undefined : bytes(baseContent);
    if (found?.kind !== base?.kind || !same(content, before)) {
      changedMeanwhile.push(path);
      continue;
    }
    if (kind.type === "createDirectory") {
      // What is written into the folder must not go through a link that was there.
      if (base !== null) await overlay.remove(path);
      // A folder with something in it is made with that, so that an undo removes both.
      if (!changes.some((other) => typeof other.path === "string" && other.path.startsWith(`${path}/`))) await overlay.createDir(path);
      continue;
    }
    if (base?.kind === "directory" && 0 < (await overlay.list(path)).length) {
      // Something is in it that the command has not seen, because a rule closes it or it is new.
      changedMeanwhile.push(path);
      continue;
    }
    if (kind.type === "delete") {
      await overlay.remove(path);
      continue;
    }
    if (base !== null && base.kind !== (kind.type === "link" ? undefined : "file")) await overlay.remove(path);
    if (kind.type === "link") {
      await overlay.symlink(path, text(kind.target));
      continue;
    }
    const after = bytes(kind.content);
    const isSame = found?.kind === "file" && same(after, before) && kind.executable === (found.executable ?? false);
    if (!isSame) await overlay.write(path, after, { executable: kind.executable });
  }
  return changedMeanwhile;
}

function bytes(content: Content): Uint8Array {
  return typeof content === "string" ? new TextEncoder().encode(content) : new Uint8Array(Buffer.from(content.base64, "base64"));
}

/** The target of a link. */
function text(content: Content): string {
  if (typeof content === "string") return content;
  throw new Error("it makes a link to a path that is not UTF-8, and the editor has no such paths");
}

function same(one: Uint8Array | undefined, other: Uint8Array | undefined): boolean {
  return one === undefined || other === undefined ? one === other : Buffer.compare(one, other) === 0;
}
