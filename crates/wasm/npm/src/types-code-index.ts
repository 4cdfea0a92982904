// Search over a project's files.
import type { ChangeSet } from "./change-set.js";

/** What is indexed of a tree. */
export interface CodeIndexOptions {
  /** As of the engine that its tools are offered by. */
  workspace?: string | undefined;
  /** Paths that are never opened for the index and never named by it, as in `.gitignore`; as of the engine. */
  deny?: string[] | undefined;
  /** `false`: files that hold a secret by their name are as all others. */
  denyDefaults?: boolean | undefined;
  /** As many files are indexed, the first by name; the rest is told. Default: 20,000. */
  maxFiles?: number | undefined;
  /** As many bytes of all files together. Of one over 1 MiB only the path is indexed. Default: 128 MiB. */
  maxBytes?: number | undefined;
}

/** How far an index is. */
export interface IndexProgress {
  /** Files that are in it as they are. */
  indexed: number;
  /** All that are to be, as far as is known. */
  files: number;
  /** 100 only where no file waits; 0 until it is known which files there are. */
  percent: number;
  /** What is not indexed and why, for people. */
  notes: string[];
}

export interface BuildOptions {
  /** Stops reading; what was read stays, and the next build goes on from there. */
  signal?: AbortSignal | undefined;
  /** Hears how far it is, several times a second at most. */
  onProgress?: ((progress: IndexProgress) => void) | undefined;
}

/** A definition that somebody else found, as a language server does. */
export interface Definition {
  name: string;
  /** `scope`: it names what is in it and defines nothing itself, as `impl Type`. */
  kind: "function" | "type" | "module" | "constant" | "macro" | "scope";
  /** The first line, from 1, and the last one. */
  lines: [first: number, last: number];
}

export interface UpdateOptions {
  /** What is defined in the content. Left out: lines that look like definitions. */
  definitions?: Definition[] | undefined;
}

export interface SearchOptions {
  /** A file or folder: nothing else is searched. */
  path?: string | undefined;
  /** Hits at most. Default: 25. */
  limit?: number | undefined;
  /** What is staged over the tree: it is found, and what it takes away is not. */
  staged?: ChangeSet | undefined;
}

/** A place that fits a query; the JSON of `headstart search --json`. */
export interface SearchHit {
  path: string;
  /** The first line, from 1, and the last one; 0 and 0 where only the path is known. */
  lines: [first: number, last: number];
  /** Comparable within one answer. */
  score: number;
  /** The definition that begins there, or that is around it. */
  symbol: string | null;
  /** What counts most, first: a word as it is indexed, where it is, what it adds. */
  why: { term: string; field: string; part: number }[];
}
