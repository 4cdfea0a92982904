// Search over a project's files.
import type { ChangeSet } from "./change-set.js";

/** What is indexed of a tree. */
export interface CodeIndexOptions {
  /** The workspace of the engine that offers the index's tools. */
  workspace?: string | undefined;
  /**
   * Paths that are never opened for the index and never named by it, as in `.gitignore`; the same as those of the
   * engine.
   */
  deny?: string[] | undefined;
  /** If `false`, files whose names suggest a secret are treated like all others. */
  denyDefaults?: boolean | undefined;
  /** How many files are indexed, the first ones by name; the rest is reported. Default: 20,000. */
  maxFiles?: number | undefined;
  /**
   * How many bytes of all files together are indexed. Of a file over 1 MiB only the path is indexed. Default: 128 MiB.
   */
  maxBytes?: number | undefined;
}

/** The progress of an index. */
export interface IndexProgress {
  /** How many files are in it with their current content. */
  indexed: number;
  /** How many files are to be in it, as far as is known. */
  files: number;
  /** 100 only if no file waits; 0 until it is known which files there are. */
  percent: number;
  /** What is not indexed and why, for people. */
  notes: string[];
}

export interface BuildOptions {
  /** Stops reading. What was read stays, and the next build goes on from there. */
  signal?: AbortSignal | undefined;
  /** Is told the progress, several times a second at most. */
  onProgress?: ((progress: IndexProgress) => void) | undefined;
}

/** A definition that another program found, for example a language server. */
export interface Definition {
  name: string;
  /** `scope`: it names what it contains and defines nothing itself, for example `impl Type`. */
  kind: "function" | "type" | "module" | "constant" | "macro" | "scope";
  /** The first line, from 1, and the last one. */
  lines: [first: number, last: number];
}

export interface UpdateOptions {
  /** What is defined in the content. If left out, definitions are the lines that look like definitions. */
  definitions?: Definition[] | undefined;
}

export interface SearchOptions {
  /** A file or folder; nothing else is searched. */
  path?: string | undefined;
  /** The most hits. Default: 25. */
  limit?: number | undefined;
  /** What is staged over the tree: staged content is found, and what it replaces is not. */
  staged?: ChangeSet | undefined;
}

/** A place that fits a query; the JSON of `headstart search --json`. */
export interface SearchHit {
  path: string;
  /** The first line, from 1, and the last one; 0 and 0 if only the path is known. */
  lines: [first: number, last: number];
  /** Comparable within one answer. */
  score: number;
  /** The definition that begins there, or that surrounds the place. */
  symbol: string | null;
  /** What counts most, first: a word as it is indexed, where it is, and what it adds to the score. */
  why: { term: string; field: string; part: number }[];
}
