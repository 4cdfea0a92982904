import type { Definition } from "headstart/code-index";

/** The parts of a `DocumentSymbol` or `SymbolInformation` that are read here. */
export interface FoundSymbol {
  name: string;
  /** The number of a `SymbolKind`. */
  kind: number;
  range?: { start: { line: number }; end: { line: number } };
  location?: { range: { start: { line: number }; end: { line: number } } };
  children?: FoundSymbol[];
}

/**
 * The kinds by the numbers of VS Code's `SymbolKind`. The missing ones (properties, fields, keys, …) define nothing
 * that is searched for.
 */
const KINDS: Readonly<Record<number, Definition["kind"]>> = {
  1: "module", 2: "module", 3: "module",
  4: "type", 9: "type", 10: "type", 22: "type",
  5: "function", 8: "function", 11: "function",
  13: "constant",
};
/** Variables count only outside of functions, where more than one function sees them. */
const VARIABLE = 12;
/** The kinds whose members are visible from outside. */
const HOLDERS: ReadonlySet<string> = new Set(["module", "type"]);
const MOST = 5_000;

/** The definitions of a document in the form of the index, from the symbols that a language extension gives. */
export function definitionsOf(symbols: readonly FoundSymbol[]): Definition[] {
  const found: Definition[] = [];
  const add = (list: readonly FoundSymbol[], isOpen: boolean): void => {
    for (const { name, kind: number, range, location, children } of list) {
      const kind = number === VARIABLE ? (isOpen ? "constant" : undefined) : KINDS[number];
      const place = range ?? location?.range;
      // Some extensions give names such as `render(props)` or `(anonymous)`, so only the plain part is taken.
      const plain = /^[^\s(<]+/.exec(name)?.[0];
      if (kind && place && plain && found.length < MOST) {
        found.push({ name: plain, kind, lines: [place.start.line + 1, Math.max(place.start.line, place.end.line) + 1] });
      }
      if (children) add(children, isOpen && (kind === undefined || HOLDERS.has(kind)));
    }
  };
  add(symbols, true);
  return found;
}
