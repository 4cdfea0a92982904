import type { AgentOptions, ApprovalMode, AtomicTree, LedgerStore, Model, ModelFacts, RulesTold, Tool } from "headstart";
import type { Settings } from "../settings.js";
import type { Item } from "../view/protocol.js";
import type { Saved } from "./saved.js";
import type { Shell } from "./shell.js";

/** The loaded module `headstart`. */
export type Headstart = typeof import("headstart");

export interface SessionOptions {
  headstart: Pick<Headstart, "Agent">;
  model: Model;
  modelName: string;
  /** What is known of the model besides its name. */
  facts?: ModelFacts;
  tree: AtomicTree;
  /** The tools besides the built-in ones. Asked for whenever an agent is made. */
  tools?: () => Tool[];
  /** Runs commands, if there is a shell. */
  shell?: Pick<Shell, "runCommand" | "look" | "root"> & Partial<Pick<Shell, "unconfined" | "viewsForConversation">>;
  /** Resolves the mentions that only the editor can resolve. */
  mentions?: AgentOptions["mentions"];
  mode: () => ApprovalMode;
  /**
   * The system instruction, asked for whenever an agent is made. It has to be the same bytes until something in it must
   * change.
   */
  system: () => string;
  /**
   * The project's rules in the system instruction that the user was not told of yet. The session tells of them with the
   * first prompt.
   */
  rulesInSystem?: () => RulesTold | undefined;
  /** The settings. They are asked for each time, so that a change counts at once. */
  settings: () => Pick<Settings, "enabled" | "background" | "speculation" | "candidates" | "deny" | "tools" | "aheadWrites" | "tab" | "index" | "rules">;
  /** The store of the project's costs, and of what was learned of the user. */
  ledger?: LedgerStore;
  /** A first suggestion, for a session whose model is a recording. */
  opening?: string;
  /** The saved conversation that this session continues. */
  saved?: Saved;
  /** Called when there is something to save. */
  save?: (saved: Saved) => void;
  changed: (item?: Item) => void;
  announce: (text: string) => void;
  /** Called after files were changed, so that one of them can be shown. */
  applied?: (paths: string[]) => void;
  /** Puts a text into the prompt line. */
  insert: (text: string) => void;
}
