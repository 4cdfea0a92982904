import { call } from "./call.js";
import { InputError } from "./errors.js";
import { raw } from "./raw.js";
import { pathText } from "./tree.js";
import type { ChangeSummary } from "./types.js";

/**
 * What an accept would do. It is plain data behind methods: `JSON.stringify` writes it, {@link ChangeSet.fromJSON}
 * reads it back.
 */
export class ChangeSet {
  /** The text as the module writes it. */
  readonly #text: string;

  private constructor(text: string) {
    this.#text = text;
  }

  /** Reads what `JSON.stringify` wrote. An `InputError` names the field that is wrong. */
  static fromJSON(json: unknown): ChangeSet {
    if (json instanceof ChangeSet) return json;
    const text = JSON.stringify(json);
    if (typeof json !== "object" || text === undefined) {
      throw new InputError(`changes: must be what JSON.parse gives, and is ${typeof json}`, "changes");
    }
    return new ChangeSet(call(() => raw.checkChangeSet(text)));
  }

  /** @internal Makes one from a text that the module wrote. */
  static ofText(text: string): ChangeSet {
    return new ChangeSet(text);
  }

  /** @internal */
  static textOf(changes: ChangeSet): string {
    if (!(changes instanceof ChangeSet)) {
      throw new InputError("changes: must be a ChangeSet; ChangeSet.fromJSON makes one", "changes");
    }
    return changes.#text;
  }

  toJSON(): unknown {
    return JSON.parse(this.#text);
  }

  /** Whether an accept would change nothing. */
  get isEmpty(): boolean {
    return (JSON.parse(this.#text) as { changes: unknown[] }).changes.length === 0;
  }

  /** The changes without their content, by path; a rename is one row. */
  summary(): ChangeSummary[] {
    return JSON.parse(call(() => raw.changeSetSummary(this.#text))) as ChangeSummary[];
  }

  /** A unified diff for people: of a binary file it only says that it differs. */
  diff(): string {
    return call(() => raw.changeSetDiff(this.#text, false));
  }

  /** As {@link diff}, for `git apply`: with the whole content of binary files. */
  patch(): string {
    return call(() => raw.changeSetDiff(this.#text, true));
  }

  /**
   * The content before and after at a path that `summary` names, for a diff view; undefined if there is no content. For
   * a file that was moved, `before` is the content at its old path; for a link, both are its target.
   */
  sides(path: string): { before?: Uint8Array; after?: Uint8Array } {
    const [before, after] = call(() => raw.changeSetSides(this.#text, pathText(path))) as (Uint8Array | undefined)[];
    return { ...(before && { before }), ...(after && { after }) };
  }

  /** This change set and that of an overlay on top of it, as one. */
  followedBy(above: ChangeSet): ChangeSet {
    return new ChangeSet(call(() => raw.changeSetThen(this.#text, ChangeSet.textOf(above))));
  }
}
