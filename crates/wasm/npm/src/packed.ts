// Reads a verdict as the module packs it; the format is in the crate's `src/packed.rs`.
import type { Classified, EffectKind, GitNeeds, Hardened, Verdict, VerdictReason } from "./types.js";

type Effect = Verdict["effects"][number];
type Part = Classified["parts"][number];

let text = "";
let at = 0;

/** A verdict. */
export function unpackVerdict(packed: string): Verdict {
  return unpack(packed, verdict);
}

/** A verdict that has the places of its effects in UTF-16 units. */
export function unpackClassified(packed: string): Classified {
  return unpack(packed, () => {
    const parts: Part[] = [];
    const classified = verdict(parts) as Classified;
    classified.parts = parts.sort((one, other) => one.from - other.from || one.to - other.to);
    return classified;
  });
}

function unpack<T>(packed: string, read: () => T): T {
  text = packed;
  at = 0;
  const result = read();
  text = "";
  return result;
}

/** Reads a text that stands within another. */
function unpackAside<T>(packed: string, read: () => T): T {
  const outer = [text, at] as const;
  const result = unpack(packed, read);
  [text, at] = outer;
  return result;
}

function verdict(parts?: Part[]): Verdict {
  const result: Verdict = {
    decision: string() as Verdict["decision"],
    reason: string() as VerdictReason,
    detail: string(),
    effects: effects(parts),
    reads: strings(),
    writes: strings(),
  };
  if (number() === 1) result.hardened = hardened();
  return result;
}

function effects(parts: Part[] | undefined): Effect[] {
  const all: Effect[] = [];
  for (let count = number(); 0 < count; count--) {
    const kind = string() as EffectKind;
    const detail = string();
    if (number() === 0) {
      all.push({ kind, detail });
      continue;
    }
    all.push({ kind, detail, span: [number(), number()] });
    parts?.push({ from: number(), to: number(), kind, detail });
  }
  return all;
}

/**
 * The last environments, with their packed texts. They are kept because the environment of git is large and mostly the
 * same.
 */
const environments: { packed: string; environment: Hardened["environment"] }[] = [];

function environment(): Hardened["environment"] {
  const packed = string();
  for (const known of environments) if (known.packed === packed) return known.environment;
  const environment = unpackAside(packed, variables);
  // There is usually one for each workspace.
  environments.unshift({ packed, environment });
  environments.length = Math.min(environments.length, 4);
  return environment;
}

function variables(): Hardened["environment"] {
  const all: Record<string, string> = {};
  for (let count = number(); 0 < count; count--) all[string()] = string();
  return Object.freeze(all);
}

function hardened(): Hardened {
  const result: Hardened = { environment: environment() };
  if (number() === 1) result.command = string();
  if (number() === 1) result.git = git();
  return result;
}

function git(): GitNeeds {
  const needs: GitNeeds = { version: [number(), number()], folders: strings(), hides: strings() };
  if (number() === 1) needs.showsSettings = true;
  return needs;
}

function strings(): string[] {
  const all: string[] = [];
  for (let count = number(); 0 < count; count--) all.push(string());
  return all;
}

function string(): string {
  const length = number();
  const start = at;
  at += length;
  return text.slice(start, at);
}

function number(): number {
  let result = 0;
  for (;;) {
    const digit = text.charCodeAt(at++);
    result = result * 64 + (digit & 63);
    // This also ends the number if the text has ended, which does not happen with a complete text.
    if (!(64 <= digit)) return result;
  }
}
