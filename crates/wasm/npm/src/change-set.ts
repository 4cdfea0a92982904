import { call } from "./call.js";
import { InputError } from "./errors.js";
import { raw } from "./raw.js";
import { pathText } from "./tree.js";
import type { ChangeSummary } from "./types.js";

/** What an accept would do. Plain data behind methods: `JSON.stringify` keeps it, {@link ChangeSet.fromJSON} reads it back. */
export class ChangeSet {
  /** As the module writes it. */
  readonly #text: string;

  private constructor(text: string) {
    this.#text = text;
  }

  /** Reads what `JSON.stringify` kept. An `InputError` names the field that is wrong. */
  static fromJSON(json: unknown): ChangeSet {
    if (json instanceof ChangeSet) return json;
    const text = JSON.stringify(json);
    if (typeof json !== "object" || text === undefined) {
      throw new InputError(`changes: must be what JSON.parse gives, and is ${typeof json}`, "changes");
    }
    return new ChangeSet(call(() => raw.checkChangeSet(text)));
  }

  /** @internal Of a text that the module wrote. */
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

  /** The same for `git apply`, with the whole content of binary files. */
  patch(): string {
    return call(() => raw.changeSetDiff(this.#text, true));
  }

  /**
   * The content before and after at a path that `summary` names, for a diff view; undefined: no content is there. Of a file that
   * was moved, `before` is what it was at its old place; of a link, both are where it points.
   */
  sides(path: string): { before?: Uint8Array; after?: Uint8Array } {
    const [before, after] = call(() => raw.changeSetSides(this.#text, pathText(path))) as (Uint8Array | undefined)[];
    return { ...(before && { before }), ...(after && { after }) };
  }

  /** This one, and then the one of an overlay that lies over this one's: both in one. */
  followedBy(above: ChangeSet): ChangeSet {
    return new ChangeSet(call(() => raw.changeSetThen(this.#text, ChangeSet.textOf(above))));
  }
}
