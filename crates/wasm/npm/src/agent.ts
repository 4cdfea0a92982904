import { call, calling, toJson } from "./call.js";
import { ChangeSet } from "./change-set.js";
import { KeepPort } from "./agent-port.js";
import { ENGINE, engineText, rulesText } from "./engine.js";
import { HostPort } from "./host.js";
import { bestMentions, mentionStart } from "./mentions.js";
import { type Fields, optional, plainOptions, required } from "./options.js";
import { raw } from "./raw.js";
import { workspaceOf } from "./tree.js";
import type {
  AgentCosts,
  AgentOptions,
  Background,
  Completion,
  EngineOptions,
  LedgerStore,
  Mentionable,
  Model,
  ModelFacts,
  PolicyRule,
  Refusal,
  SessionStore,
  ToolPolicies,
  View,
  ViewAnswer,
  ViewItem,
  ViewItemChange,
  ViewUpdate,
} from "./types.js";

const { consent: _, ...WITHOUT_CONSENT } = ENGINE;
/** @internal The options of a conversation. */
export const AGENT: Fields<AgentOptions> = {
  ...WITHOUT_CONSENT,
  system: "string",
  background: "word",
  free: "boolean",
  window: "count",
  price: "object",
  speculation: "boolean",
  candidates: "count",
  attended: "boolean",
  opening: "string",
  mentions: "object",
  projectRules: "function",
  sessions: "any",
  restore: "string",
  ledger: "any",
};

const FACTS: Fields<ModelFacts> = { free: "boolean", window: "count", price: "object" };

/** Rules that hold from now on. */
export interface AgentRules {
  deny?: string[] | undefined;
  denyDefaults?: boolean | undefined;
  policies?: PolicyRule[] | undefined;
  toolPolicies?: ToolPolicies | undefined;
  projectToolPolicies?: ToolPolicies | undefined;
  aheadWrites?: "ask" | "boundary" | undefined;
}
const RULES: Fields<AgentRules> = {
  deny: "list",
  denyDefaults: "boolean",
  policies: "list",
  toolPolicies: "object",
  projectToolPolicies: "object",
  aheadWrites: "word",
};

type Change =
  | { type: "added" | "changed"; key: number; item: ViewItem }
  | { type: "appended"; key: number; text: string }
  | { type: "cleared" };

/**
 * A conversation as a front end shows it: turns, their queue, questions, suggestions, work ahead, and the cost of all
 * of it. There is a method for each action of the user; it returns at once. {@link view} is everything that there is to
 * draw, and is current right after a call. {@link onUpdate} tells what has changed.
 *
 * ```js
 * const agent = new Agent({ model, tree, mode: "auto-edit", system: "You are a coding agent." });
 * agent.onUpdate(({ view }) => draw(view));
 * agent.submit("add a test");
 * // … the user reads, sees view.suggestion, and presses Tab:
 * agent.take(agent.view.suggestion.text);
 * ```
 *
 * The conversation goes on until {@link close}.
 */
export class Agent implements Disposable {
  readonly #handle: raw.Conversing;
  readonly #port: HostPort;
  readonly #options: AgentOptions;
  readonly #listeners = new Set<(update: ViewUpdate) => void>();
  #view: View;
  /** The updates that the listeners have not been told yet. */
  #untold: ViewUpdate[] = [];
  #closed: Promise<void> | undefined;
  /** What may be mentioned, while a mention is typed. */
  #mentionable: Promise<Mentionable[]> | undefined;

  constructor(options: AgentOptions) {
    const plain = plainOptions("", options, AGENT);
    const { opening, background, free, window, price, speculation, candidates, attended, system, restore, modelName } = plain;
    const sessions = store<SessionStore>("sessions", options.sessions);
    const ledger = store<LedgerStore>("ledger", options.ledger);
    this.#options = options;
    const { mentions, projectRules } = plain;
    const told = Object.entries(mentions ?? {}).filter(([name, tell]) => optional(`mentions.${name}`, tell, "function") !== undefined);
    this.#port = new HostPort(options as EngineOptions, { mentions, projectRules });
    const settings = toJson("options", {
      system,
      modelName,
      background: background ?? "auto",
      model: { free, window, price },
      speculation,
      candidates,
      attended,
      restore,
      ledger: ledger?.past,
      habits: ledger?.habits === undefined ? undefined : parsed(ledger.habits),
      id: newId(),
      keepsSession: sessions !== undefined,
      beside: { mentions: told.map(([name]) => name), rules: projectRules !== undefined },
    });
    const [text, rules] = [engineText(plain, this.#port, projectRules !== undefined), rulesText(plain)];
    this.#handle = call(() => new raw.Conversing(text, rules, settings, this.#port, new KeepPort(sessions, ledger), workspaceOf(options.tree)));
    const { view, items } = JSON.parse(this.#handle.view()) as { view: Omit<View, "items">; items: Omit<ViewItem, "key">[] };
    this.#view = { ...view, items: items.map((item, key) => ({ ...item, key }) as ViewItem) };
    if (opening !== undefined) call(() => this.#handle.offer(opening));
    void this.#listen();
  }

  /** Everything that there is to draw at this moment. The object is never changed: a change makes another object. */
  get view(): View {
    this.#take();
    return this.#view;
  }

  /**
   * Has `listener` told of each update, in order. If it throws, the error goes to the console. Call the returned
   * function to stop.
   */
  onUpdate(listener: (update: ViewUpdate) => void): () => void {
    required("listener", listener, "function");
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Sends a prompt. While something goes on, it waits in the queue. */
  submit(text: string): "begins" | "queued" | Refusal {
    required("text", text, "string");
    // For the next prompt, what may be mentioned is looked up anew.
    this.#mentionable = undefined;
    return call(() => this.#handle.submit(plain(text))) as "begins" | "queued" | Refusal;
  }

  /**
   * Reports the text that the line holds now. `typed`: a key put something into it; `recalled`: an older prompt was
   * called back and may be replaced again.
   */
  edited(text: string, how: "typed" | "changed" | "recalled" = "typed"): void {
    required("text", text, "string");
    call(() => this.#handle.edited(plain(text), how));
  }

  /** Takes the suggestion and the work behind it; `shown` is what the user saw. The line is empty afterwards. */
  take(shown: string): Refusal | undefined {
    required("shown", shown, "string");
    return call(() => this.#handle.takeSuggestion(plain(shown))) as Refusal | undefined;
  }

  /** Shows the next of several suggestions. */
  next(): void {
    call(() => this.#handle.turn(true));
  }

  /** Shows the previous of several suggestions. */
  previous(): void {
    call(() => this.#handle.turn(false));
  }

  /** Dismisses the suggestion, because the user does not want it. */
  dismiss(): void {
    call(() => this.#handle.dismiss());
  }

  /** Answers a question. If the question is not asked any more, or the answer does not fit, the result is `stale`. */
  answer(question: string, answer: ViewAnswer): Refusal | undefined {
    required("question", question, "string");
    const said = typeof answer === "string" ? { type: answer } : "no" in answer ? { type: "noBecause", why: answer.no } : { type: "keep", ...answer };
    return call(() => this.#handle.answer(question, toJson("answer", said))) as Refusal | undefined;
  }

  /** What may run until the conversation ends, because its user answered `always`. */
  get allowed(): string[] {
    return JSON.parse(call(() => this.#handle.allowed())) as string[];
  }

  /**
   * Takes back what {@link allowed} lists under this name, so that the user is asked again. Returns whether it was
   * listed.
   */
  askAgain(allowed: string): boolean {
    required("allowed", allowed, "string");
    return call(() => this.#handle.askAgain(allowed));
  }

  /**
   * Sends the last prompt once more. You have to remove what is left of it in the line. The result is `empty` if
   * nothing was sent yet.
   */
  retry(): Refusal | undefined {
    return call(() => this.#handle.retry()) as Refusal | undefined;
  }

  /** Stops what goes on. After this no accept and no turn begins by itself; a write that has begun is completed. */
  interrupt(): Refusal | undefined {
    return call(() => this.#handle.interrupt()) as Refusal | undefined;
  }

  /**
   * Sums up what was said except for the last turns, with a question to the model. The result is `empty` if there is
   * not enough to sum up.
   */
  compact(): Refusal | undefined {
    return call(() => this.#handle.compact()) as Refusal | undefined;
  }

  /** Forgets what was said: the next prompt begins anew. */
  clear(): Refusal | undefined {
    return call(() => this.#handle.clear()) as Refusal | undefined;
  }

  /** Sets the title of the conversation in the lines that {@link SessionStore} keeps. */
  setTitle(title: string): void {
    required("title", title, "string");
    call(() => this.#handle.setTitle(plain(title)));
  }

  /** Asks for a suggestion now, if nothing goes on and there is none. */
  suggest(): void {
    call(() => this.#handle.suggest());
  }

  /** Sets how much is done ahead from now on. */
  setBackground(background: Background): void {
    call(() => this.#handle.setBackground(toJson("background", background)));
  }

  /** Sets whether suggestions run ahead from now on. */
  setSpeculation(runs: boolean): void {
    call(() => this.#handle.setSpeculation(required("runs", runs, "boolean")));
  }

  /** Sets how many suggestions are asked for from now on, up to 3. */
  setCandidates(candidates: number): void {
    call(() => this.#handle.setCandidates(required("candidates", candidates, "count")));
  }

  /**
   * Sets another model, which answers from now on; a running turn goes on with it too. What the former model did ahead
   * is dropped.
   */
  setModel(model: Model, modelName = "", facts: ModelFacts = {}): void {
    const known = toJson("facts", plainOptions("facts", facts, FACTS));
    this.#port.setModel(model, modelName);
    call(() => this.#handle.setModel(modelName, known));
  }

  /**
   * Sets other rules, which replace all that were given before. Work ahead is dropped. The mode is not set here: it is
   * that of the options, and is asked for each time. A tool that is excluded now does not run; the model knows what was
   * offered, so the tool stays offered until another {@link Agent} goes on. What the user allowed until the
   * conversation ends stays allowed.
   */
  setRules(rules: AgentRules): void {
    const { aheadWrites, ...plain } = plainOptions("rules", rules, RULES);
    const workspace = this.#options.workspace ?? undefined;
    call(() => this.#handle.setRules(rulesText({ ...plain, workspace }), toJson("aheadWrites", aheadWrites ?? "boundary")));
  }

  /** Reports that the function `mode` of the options may give another mode now. Nothing is suggested in plan mode. */
  modeChanged(): void {
    call(() => this.#handle.modeChanged());
  }

  /**
   * Reports that files were changed, perhaps because work was undone: a suggestion that builds on the old files is
   * dropped, and the lists of applied files show what is undone.
   */
  filesChanged(): void {
    call(() => this.#handle.filesChanged());
  }

  /**
   * What could be meant by the mention at whose end a text stops, best first; nothing if it stops at none. Pass the
   * text before the cursor, with each key, and replace everything from `at` on by what is chosen.
   *
   * The choices are what `mentions` and tools tell about, the project's rules, and files and folders, those near the
   * root first, up to 20,000. What `.gitignore` files leave out, what a rule closes, and files whose names suggest a
   * secret are not among them. The choices are looked up once for each mention that is begun.
   */
  async complete(before: string): Promise<Completion | undefined> {
    const start = mentionStart(plain(required("before", before, "string")));
    if (start === undefined) {
      this.#mentionable = undefined;
      return undefined;
    }
    this.#mentionable ??= calling(() => this.#handle.mentionable()).then((all) => JSON.parse(all as string) as Mentionable[]);
    const choices = bestMentions(start.word, await this.#mentionable);
    // A mention that is complete already, and does not lead on, needs no list.
    const isThere = choices[0]?.mention === before.slice(start.at) && !before.endsWith("/");
    return choices.length === 0 || isThere ? undefined : { at: start.at, choices };
  }

  /**
   * The changes that this work made or would make: the work ahead, the work that the user is asked about, or the last
   * twenty that were taken, applied or not.
   */
  changes(id: string): ChangeSet | undefined {
    required("id", id, "string");
    const text = call(() => this.#handle.changes(id));
    return text === undefined ? undefined : ChangeSet.ofText(text);
  }

  /** What the conversation has cost so far. */
  get costs(): AgentCosts {
    return JSON.parse(call(() => this.#handle.costs())) as AgentCosts;
  }

  /** Waits until nothing goes on and nothing is left to be kept. */
  async idle(): Promise<void> {
    await calling(() => this.#handle.idle());
  }

  /**
   * Ends the conversation: what goes on is stopped, work ahead is dropped. Waits until nothing of it is left and
   * everything is kept.
   */
  close(): Promise<void> {
    this.#closed ??= calling(() => this.#handle.close()).then(() => {});
    return this.#closed;
  }

  [Symbol.dispose](): void {
    void this.close();
  }

  async #listen(): Promise<void> {
    // Nobody waits for this, so it keeps no process alive.
    while (await this.#handle.changed().catch(() => false)) {
      this.#take();
      this.#tell();
    }
  }

  #take(): void {
    for (let text = call(() => this.#handle.update()); text !== undefined; text = call(() => this.#handle.update())) {
      const { view, items } = JSON.parse(text) as { view: Omit<View, "items">; items: Change[] };
      const list = [...this.#view.items];
      const changes = items.map((change) => applied(list, change));
      this.#view = { ...view, items: changes.length === 0 ? this.#view.items : list };
      this.#untold.push({ items: changes, view: this.#view });
    }
  }

  #tell(): void {
    const updates = this.#untold;
    this.#untold = [];
    for (const update of updates) {
      for (const listener of [...this.#listeners]) {
        try {
          listener(update);
        } catch (error) {
          console.error(error);
        }
      }
    }
  }
}

/**
 * Makes a change in a list of items. Keys are places in the conversation, so each item is close to its place, except
 * for items from before the conversation was forgotten.
 */
function applied(list: ViewItem[], change: Change): ViewItemChange {
  if (change.type === "cleared") {
    list.length = 0;
    return change;
  }
  const place = change.key - (list[0]?.key ?? change.key);
  const known = list[place];
  if (change.type === "appended") {
    const item = { ...known, text: (known as { text: string }).text + change.text } as ViewItem;
    list[place] = item;
    return { type: "appended", item, text: change.text };
  }
  const item = { ...change.item, key: change.key };
  list[place] = item;
  return { type: change.type, item };
}

function store<T extends SessionStore | LedgerStore>(name: string, given: T | undefined | null): T | undefined {
  if (given === undefined || given === null) return undefined;
  required(`${name}.append`, given.append, "function");
  return given;
}

/** The habits that were kept; if they cannot be read, nothing counts as learned yet. */
function parsed(habits: string): unknown {
  try {
    return JSON.parse(habits);
  } catch {
    return undefined;
  }
}

function newId(): string {
  return [...crypto.getRandomValues(new Uint8Array(8))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Replaces half a character, which a line holds while it is being typed: outside JavaScript no text can hold one. */
function plain(text: string): string {
  return JSON.parse(toJson("text", text)) as string;
}
