import { init, parse } from "es-module-lexer";
import assertSource from "./guest/assert.js?raw";
import testSource from "./guest/test.js?raw";

/** A file cannot be loaded. The message gives the reason to the reader of the test output. */
export class LoadError extends Error {}

const BUILTINS = new Map([
  ["node:test", "test"],
  ["test", "test"],
  ["node:assert", "assert"],
  ["node:assert/strict", "assert"],
  ["assert", "assert"],
  ["assert/strict", "assert"],
]);

/**
 * The project's files as ES modules of this page. Each file becomes a blob whose imports name the blobs of the files
 * that it imports, so that the browser itself loads, links and runs them. `close` frees all blobs.
 */
export class Modules {
  readonly #files: ReadonlyMap<string, string>;
  readonly #urls = new Map<string, string>();
  readonly #paths = new Map<string, string>();

  private constructor(files: ReadonlyMap<string, string>) {
    this.#files = files;
  }

  static async open(files: ReadonlyMap<string, string>): Promise<Modules> {
    await init();
    return new Modules(files);
  }

  /** The address of the module that stands for `node:test`. */
  get test(): string {
    return this.#builtin("test");
  }

  url(path: string, importers: readonly string[] = []): string {
    const known = this.#urls.get(path);
    if (known) return known;
    const source = this.#files.get(path);
    if (source === undefined) {
      const from = importers.at(-1);
      throw new LoadError(`Cannot find module '${path}'${from ? ` imported from ${from}` : ""}`);
    }
    if (importers.includes(path)) {
      throw new LoadError(`${[...importers, path].join(" → ")}: files that import each other in a circle are beyond this page's runner`);
    }
    return this.#add(path, this.#link(path, source, [...importers, path]));
  }

  /** Replaces the addresses of blobs in a text by the paths of the project. */
  readable(text: string): string {
    return text.replace(/blob:\S*?[0-9a-f]{8}-[0-9a-f-]{27}/g, (url) => this.#paths.get(url) ?? url);
  }

  close(): void {
    for (const url of this.#urls.values()) URL.revokeObjectURL(url);
    this.#urls.clear();
  }

  #add(name: string, source: string): string {
    const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    this.#urls.set(name, url);
    this.#paths.set(url, name);
    return url;
  }

  #builtin(name: "test" | "assert"): string {
    const key = `node:${name}`;
    return this.#urls.get(key) ?? this.#add(key, name === "test" ? testSource : assertSource);
  }

  #link(path: string, source: string, importers: readonly string[]): string {
    let linked = "";
    let from = 0;
    for (const found of this.#imports(path, source)) {
      if (found.type === "import-meta") continue;
      if (found.specifier === undefined || (found.type === "dynamic" && found.glob)) {
        throw new LoadError(`${path}: an import() of a name that is only known later is beyond this page's runner`);
      }
      const url = this.#resolve(found.specifier, importers);
      // The range of an import() includes the quotes.
      const isQuoted = /^["'`]/.test(source.slice(found.start, found.end));
      linked += source.slice(from, found.start) + (isQuoted ? JSON.stringify(url) : url);
      from = found.end;
    }
    return linked + source.slice(from);
  }

  #imports(path: string, source: string) {
    try {
      return parse(source, path)[0];
    } catch (error) {
      throw new LoadError(`SyntaxError: ${(error as Error).message.replace(/^Parse error /, "in ")}`);
    }
  }

  #resolve(name: string, importers: readonly string[]): string {
    const importer = importers.at(-1) ?? "";
    const builtin = BUILTINS.get(name);
    if (builtin) return this.#builtin(builtin as "test" | "assert");
    if (!name.startsWith("./") && !name.startsWith("../")) {
      throw new LoadError(`${importer} imports '${name}': this page has node:test and node:assert, and no other package or module of Node`);
    }
    return this.url(join(importer, name), importers);
  }
}

/** The path from the root of a name that is relative to the importing file. */
function join(importer: string, name: string): string {
  const parts = importer.split("/").slice(0, -1);
  for (const part of name.split("/")) {
    if (part === "." || part === "") continue;
    if (part === "..") parts.pop();
    else parts.push(part);
  }
  return parts.join("/");
}
