import type { Definition } from "headstart/code-index";

/** As much of a `DocumentSymbol` or `SymbolInformation` as is read here. */
export interface FoundSymbol {
  name: string;
  /** A `SymbolKind`. */
  kind: number;
  range?: { start: { line: number }; end: { line: number } };
  location?: { range: { start: { line: number }; end: { line: number } } };
  children?: FoundSymbol[];
}

/** By the number of VS Code's `SymbolKind`; the rest (properties, fields, keys, …) defines nothing that is searched for. */
const KINDS: Readonly<Record<number, Definition["kind"]>> = {
  1: "module", 2: "module", 3: "module",
  4: "type", 9: "type", 10: "type", 22: "type",
  5: "function", 8: "function", 11: "function",
  13: "constant",
};
/** A variable counts where more than one function sees it. */
const VARIABLE = 12;
/** What holds definitions that are seen from outside. */
const HOLDERS: ReadonlySet<string> = new Set(["module", "type"]);
const MOST = 5_000;

/** What a language's extension says of a document, as the index takes it. */
export function definitionsOf(symbols: readonly FoundSymbol[]): Definition[] {
  const found: Definition[] = [];
  const add = (list: readonly FoundSymbol[], isOpen: boolean): void => {
    for (const { name, kind: number, range, location, children } of list) {
      const kind = number === VARIABLE ? (isOpen ? "constant" : undefined) : KINDS[number];
      const place = range ?? location?.range;
      // Some say `render(props)` or `(anonymous)`.
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
