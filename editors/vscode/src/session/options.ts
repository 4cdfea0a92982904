import type { AgentOptions, ApprovalMode, AtomicTree, LedgerStore, Model, ModelFacts, RulesTold, Tool } from "headstart";
import type { Settings } from "../settings.js";
import type { Item } from "../view/protocol.js";
import type { Saved } from "./saved.js";
import type { Shell } from "./shell.js";

/** The module `headstart`, loaded. */
export type Headstart = typeof import("headstart");

export interface SessionOptions {
  headstart: Pick<Headstart, "Agent">;
  model: Model;
  modelName: string;
  /** What is known of the model beside its name. */
  facts?: ModelFacts;
  tree: AtomicTree;
  /** Tools beside the usual ones, asked for whenever an engine is made. */
  tools?: () => Tool[];
  /** Runs commands, where there is a shell. */
  shell?: Pick<Shell, "runCommand" | "look" | "root"> & Partial<Pick<Shell, "unconfined">>;
  /** What of mentions only the editor can tell. */
  mentions?: AgentOptions["mentions"];
  mode: () => ApprovalMode;
  /** The system instruction, asked for whenever an agent is made: the same bytes as long as nothing in it has to be another. */
  system: () => string;
  /** The project's rules that are in it and that nobody was told of yet: with the first prompt. */
  rulesInSystem?: () => RulesTold | undefined;
  /** Asked each time, so that a change counts at once. */
  settings: () => Pick<Settings, "enabled" | "background" | "speculation" | "candidates" | "deny" | "tools" | "aheadWrites" | "tab" | "index" | "rules">;
  /** Where the costs of the project are kept, and what was learned of its user. */
  ledger?: LedgerStore;
  /** A first suggestion, for a session whose model can only say one thing. */
  opening?: string;
  /** A conversation that goes on. */
  saved?: Saved;
  /** Hears when there is something to save. */
  save?: (saved: Saved) => void;
  changed: (item?: Item) => void;
  announce: (text: string) => void;
  /** Files were changed: show one. */
  applied?: (paths: string[]) => void;
  /** Puts a text into the prompt. */
  insert: (text: string) => void;
}
