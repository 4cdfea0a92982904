import type { Agent, AgentOptions, ChangeSet, Completion, ModelFacts, RulesTold, View, ViewItem, Views } from "headstart";
import type { Answer, Item, ItemAction, ViewState } from "../view/protocol.js";
import { type AheadWork, aheadWork } from "./ahead.js";
import { type Costs, noCosts, sum } from "./costs.js";
import { callItem, changesItem, endingNote, newKey, note, planned, rulesNotes, staleNote } from "./items.js";
import type { SessionOptions } from "./options.js";
import { revived, titleOf } from "./saved.js";
import { conflictLine, messageOf, ofSettings, offered, questionOf } from "./words.js";

/** The notes of the agent that are shown unchanged. */
const SAID = ["undone", "trouble", "compacted"];

/**
 * The conversation of a window: turns the agent's updates into lines of the chat, and outlives the window. It does not
 * know VS Code.
 */
export class Session {
  readonly items: Item[];
  readonly #options: SessionOptions;
  /** The costs of the agents before this one. */
  #before: Costs;
  /** The lines of the chat by the keys of the agent. */
  readonly #shown = new Map<number, Item>();
  #agent: Agent;
  /** The views of the agent. */
  #views: Views | undefined;
  /** The conversation, in the lines of the agent. */
  #lines: string;
  /** What the agent was made with and cannot change: whether it reads rules, and its tools. */
  #tools: string;
  /** The settings as they were last read. */
  #enabled = false;
  #rules = "";
  /** The title that the user gave. */
  #title: string | undefined;
  /** The prompt of the running turn. */
  #working: string | undefined;
  #typed = "";
  #draft = -1;
  /** Whether the user wants to know why there is no suggestion. */
  #wantsWhy = false;
  #suggested: string | undefined;
  #aheadState: string | undefined;
  #asked: string | undefined;
  #disposed = false;
  /** The problems with rules that were already reported. */
  readonly #problems = new Set<string>();

  /** Throws if the saved state is no conversation. */
  constructor(options: SessionOptions) {
    const { saved } = options;
    this.#options = options;
    this.items = revived(saved?.items ?? []);
    this.#before = saved?.costs ?? noCosts();
    this.#lines = saved?.lines ?? "";
    this.#title = saved?.title;
    this.#tools = this.#toolNames();
    this.#takeSettings();
    this.#agent = this.#newAgent(options.opening);
    if (saved?.working !== undefined) {
      this.items.push(note("warning", "The window was loaded again while this was under way. What it had changed stays; the model does not know of it.", [
        { title: "Try again", action: "submit", text: saved.working },
      ]));
    }
  }

  #newAgent(opening?: string): Agent {
    const { headstart, model, modelName, facts, mentions, mode, tree, system, tools, ledger, shell } = this.#options;
    const { deny, tools: said, aheadWrites, speculation, candidates, rules } = this.#options.settings();
    this.#views = shell?.viewsForConversation?.();
    const options: AgentOptions = {
      model, modelName, ...facts, mode, tree, deny, aheadWrites, speculation, candidates,
      system: system(),
      toolPolicies: said.user,
      projectToolPolicies: said.project,
      background: this.#background,
      tools: tools?.() ?? [],
      ...(shell && { runCommand: shell.runCommand, look: shell.look, views: this.#views, workspace: shell.root }),
      ...(mentions && { mentions }),
      ...(rules && { projectRules: (told) => this.#rulesTold(told) }),
      ...(opening !== undefined && { opening }),
      ...(this.#lines !== "" && { restore: this.#lines }),
      ...(ledger && { ledger }),
      sessions: { append: (lines) => void (this.#lines += lines) },
    };
    const agent = new headstart.Agent(options);
    this.#draft = -1;
    agent.onUpdate(({ items, view }) => {
      // Updates of an agent that was replaced are ignored.
      if (this.#disposed || agent !== this.#agent) return;
      for (const change of items) if (change.type !== "cleared") this.#tell(change.item, view);
      this.#follow(view);
      this.#save();
    });
    return agent;
  }

  get #background(): "off" | "auto" | "always" {
    const { enabled, background } = this.#options.settings();
    return enabled ? background : "off";
  }

  get view(): Omit<ViewState, "status" | "model" | "mode" | "waitsMs" | "setup" | "commands"> {
    const { enabled, tab } = this.#options.settings();
    const { phase, queued, suggestion, question, taken } = this.#agent.view;
    const ahead = this.ahead;
    const busy = phase === "idle" || phase === "ended" ? "idle" : phase === "accepting" || phase === "asking" || taken !== undefined ? "accept" : "turn";
    const { text, rest, number = 1, of = 1 } = suggestion ?? {};
    return {
      busy, enabled, tab,
      queued: [...queued],
      // A suggestion that does not begin with the line is not on screen, and cannot be taken.
      ...(text !== undefined && rest !== undefined && { ghost: { text, rest, ...(1 < of && { place: { number, of } }) } }),
      ...(ahead && { ahead: ahead.card }),
      ...(question && { question: questionOf(question, taken === undefined ? undefined : this.changes(taken), this.#options.shell?.unconfined) }),
    };
  }

  /** The work behind the suggestion on screen. */
  get ahead(): AheadWork | undefined {
    const { suggestion, ahead } = this.#agent.view;
    return suggestion && ahead && aheadWork(ahead, this.#views?.tier !== undefined);
  }

  get isThinking(): boolean {
    return this.#agent.view.isAsking;
  }

  /** The costs of this conversation in all its windows. */
  get costs(): Costs {
    return sum(this.#before, this.#agent.costs);
  }

  /** The title in a list of conversations. */
  get title(): string {
    return titleOf({ items: this.items, ...(this.#title !== undefined && { title: this.#title }) });
  }

  /** Sets the title. If it has no words, the first prompt is the title again. */
  rename(title: string): void {
    const words = title.split(/\s+/).join(" ").trim();
    this.#title = words === "" ? undefined : words;
    this.#save();
  }

  /** The completions of the mention that ends where this text ends. */
  complete(before: string): Promise<Completion | undefined> {
    return this.#agent.complete(before);
  }

  /** The changes of this id, staged or applied. */
  changes(id: string): ChangeSet | undefined {
    return this.#agent.changes(id);
  }

  edited(text: string, isRecalled = false): void {
    this.#typed = text;
    this.#agent.edited(text, isRecalled ? "recalled" : "typed");
    this.#changed();
  }

  /** Takes the suggestion, or puts it into the prompt line. A suggestion that is not on screen is not taken. */
  accept(method: "tab" | "enter" | "right"): void {
    const { suggestion, phase } = this.#agent.view;
    if (suggestion?.rest === undefined || phase !== "idle") return;
    if (method === "right" || (method === "tab" && this.#options.settings().tab === "insert")) {
      this.#options.insert(suggestion.text);
      this.edited(suggestion.text);
    } else if (this.#agent.take(suggestion.text) === undefined && this.#typed !== "") {
      this.#typed = "";
      this.#options.insert("");
    }
    this.#changed();
  }

  dismiss(): void {
    this.#agent.dismiss();
    this.#changed();
  }

  turnCandidate(step: "next" | "previous"): void {
    this.#agent[step]();
    this.#changed();
  }

  /** Sends a prompt of the user. While a turn runs, the prompt waits. */
  async submit(text: string): Promise<void> {
    if (this.#disposed) return;
    this.#typed = "";
    const told = this.#options.rulesInSystem?.();
    if (told) this.#rulesTold(told);
    const sent = this.#agent.submit(text);
    this.#changed();
    if (sent === "begins") await this.#agent.idle();
  }

  /** Asks for a suggestion now. If the user `wanted` one and there is none, a note says why. */
  suggest(wanted = false): void {
    if (this.view.busy !== "idle" || !this.#options.settings().enabled) return;
    this.#wantsWhy = wanted;
    this.#agent.suggest();
    this.#follow(this.#agent.view);
  }

  /**
   * Reports changed files of the project. If that undid or redid work, suggestions that build on it are no longer
   * offered.
   */
  filesChanged(): void {
    if (!this.#disposed) this.#agent.filesChanged();
  }

  answer(id: string, answer: Exclude<Answer, "why"> | { no: string }): void {
    const { question } = this.#agent.view;
    if (question?.id !== id) return;
    if (answer === "stop") this.#agent.interrupt();
    else if (answer === "yours" || answer === "work") this.#agent.answer(id, { keep: "conflicts" in question ? question.conflicts.map(() => answer) : [] });
    else this.#agent.answer(id, answer);
    this.#follow(this.#agent.view);
  }

  /** What may run until the conversation is loaded again, because the user allowed it in answer to a question. */
  get allowed(): string[] {
    return this.#agent.allowed;
  }

  /** Asks about such calls again. */
  askAgain(allowed: string): void {
    this.#agent.askAgain(allowed);
  }

  /** Sums up the conversation except for its last turns. Returns why it does not, in that case. */
  compact(): string | undefined {
    const refused = this.#agent.compact();
    this.#changed();
    if (refused === "busy") return "something goes on; stop it first, or wait.";
    return refused === undefined ? undefined : "there is not enough that could be summed up.";
  }

  /** Stops the turn. The prompts that waited become the draft again, because the user decides anew about them. */
  stop(): void {
    this.#agent.interrupt();
    this.#follow(this.#agent.view);
  }

  /** Applies changed settings at once. */
  settingsChanged(): void {
    const { enabled, speculation, candidates } = this.#options.settings();
    const agent = this.#agent;
    const [wasEnabled, rules] = [this.#enabled, this.#rules];
    this.#takeSettings();
    if (this.#disposed) return;
    if (this.#tools !== this.#toolNames()) {
      // Other tools need another agent. It continues the conversation as soon as nothing runs.
      if (agent.view.phase !== "idle") return void agent.idle().then(() => this.settingsChanged());
      this.#tools = this.#toolNames();
      this.#before = this.costs;
      this.#shown.clear();
      this.#agent = this.#newAgent();
      void agent.close();
      return this.#changed();
    }
    agent.setBackground(this.#background);
    agent.setSpeculation(speculation);
    agent.setCandidates(candidates);
    if (rules !== this.#rules) this.#setRules(agent);
    agent.modeChanged();
    if (enabled && !wasEnabled) agent.suggest();
    this.#changed();
  }

  /** Sets the rules. If one is wrong, the former ones stay in force. */
  #setRules(agent: Agent): void {
    const { deny, aheadWrites, tools } = this.#options.settings();
    try {
      agent.setRules({ deny, aheadWrites, toolPolicies: tools.user, projectToolPolicies: tools.project });
    } catch (error) {
      const item = note("error", `The settings do not count yet, what they said before does: ${ofSettings(messageOf(error))}`);
      this.items.push(item);
      this.#options.changed(item);
    }
  }

  #takeSettings(): void {
    const { enabled, deny, tools, aheadWrites } = this.#options.settings();
    [this.#enabled, this.#rules] = [enabled, JSON.stringify([deny, tools, aheadWrites])];
  }

  #toolNames(): string {
    return offered(this.#options.settings(), this.#options.tools?.() ?? []);
  }

  /** Sets another model, which answers from now on. */
  modelChanged(name: string, facts: ModelFacts): void {
    [this.#options.modelName, this.#options.facts] = [name, facts];
    this.#agent.setModel(this.#options.model, name, facts);
  }

  dispose(): void {
    if (this.#disposed) return;
    this.#save();
    this.#disposed = true;
    void this.#agent.close();
  }

  // ── updates of the agent ───────────────────────────────────────────────────────────────────────────────────────────

  #tell(told: ViewItem, { taken }: View): void {
    const known = this.#shown.get(told.key);
    switch (told.type) {
      case "prompt":
        this.#working = told.text;
        return this.#show(told.key, { key: newKey(), kind: "user", text: told.text, ...(taken !== undefined && { ahead: true }) });
      case "answer":
        if (told.text.trim() === "") return;
        return this.#show(told.key, { key: known?.key ?? newKey(), kind: "model", text: told.text });
      case "call":
        return this.#show(told.key, { ...callItem(told), key: known?.key ?? newKey() });
      case "applied":
        if (0 < told.changes.length) this.#show(told.key, { ...changesItem(told), key: known?.key ?? newKey() });
        if (known === undefined) this.#applied(told);
        return;
      case "notTaken":
        if (known === undefined) this.#notTaken(told);
        return;
      case "note":
        return this.#show(told.key, note(told.code === "trouble" ? "warning" : "info", SAID.includes(told.code) ? told.text : `No suggestion: ${told.text}.`));
      case "declined":
        return this.#show(told.key, note("warning", `Declined, for nobody is there to ask: ${told.verdict.detail}.`));
      case "check":
        if (told.notRun !== undefined) return this.#show(told.key, note("info", `Not checked: ${told.command} did not run (${told.notRun}).`));
        return this.#show(told.key, note(told.passed ? "info" : "warning", told.tests ?? `${told.command} ${told.passed ? "passes" : "fails"}`));
      case "end":
        return this.#ended(told);
    }
  }

  #rulesTold(told: RulesTold): void {
    if (this.#disposed) return;
    for (const item of rulesNotes(told, this.#problems)) this.#add(item);
  }

  #add(item: Item): void {
    this.items.push(item);
    this.#options.changed(item);
  }

  #applied({ changes, git, stale }: ViewItem & { type: "applied" }): void {
    if (git !== undefined) this.#add(note("info", `In the git repository: ${git}.`));
    const news = staleNote(stale);
    if (news) this.#add(news);
    if (0 < changes.length) this.#options.applied?.(changes.filter(({ type }) => type !== "delete").map(({ path }) => path));
    this.#options.announce(0 < changes.length ? `Applied: ${changes.map(({ path }) => path).join(", ")}.` : "Accepted.");
  }

  #notTaken({ key, id, why, anew }: ViewItem & { type: "notTaken" }): void {
    const again = anew ? " It runs again on the files as they are now." : "";
    const words = (): string => {
      switch (why.type) {
        case "conflict":
          return `Not applied, nothing was changed: your edit is kept. ${why.conflicts.map(conflictLine).join(" ")}${again}`;
        case "withdrawn":
          return `Not applied: ${why.call.name} is not allowed any more (${why.verdict.detail}).${again}`;
        case "discarded":
          return `Not applied: it stopped at a call that needs your consent.${again}`;
        case "failed":
          // The words of the editor come after what the module says of the call, so only they are kept.
          return `Not applied, nothing was changed: ${why.error.replace(/^.* of the tree failed: /, "")}.`;
        case "interrupted":
          return "Stopped. Nothing of the work ahead was applied.";
      }
    };
    const hasStaged = 0 < (this.changes(id)?.summary().length ?? 0);
    const look: ItemAction[] | undefined = hasStaged ? [{ title: "Show what was staged", action: "diff", staged: id }] : undefined;
    this.#show(key, note(why.type === "interrupted" ? "info" : "warning", words(), look));
    this.#options.announce("Not applied. Nothing was changed.");
  }

  #ended({ key, ending }: ViewItem & { type: "end" }): void {
    if (this.#shown.has(key)) return;
    const prompt = this.#working ?? "";
    this.#working = undefined;
    const last = endingNote(ending, prompt) ?? (this.#options.mode() === "plan" && ending.status === "completed" ? planned() : undefined);
    if (last) this.#show(key, last);
    this.#options.announce(ending.status === "completed" ? "The answer is complete." : "The turn has stopped.");
  }

  #show(key: number, item: Item): void {
    const known = this.#shown.get(key);
    if (known === undefined) this.items.push(item);
    // The listed object is changed and not replaced, so that it keeps its place in the list.
    const listed = known === undefined ? item : Object.assign(known, item);
    this.#shown.set(key, listed);
    this.#options.changed(listed);
  }

  /** Follows the parts of the view that are not lines of the chat. */
  #follow({ suggestion, ahead, question, draft, isAsking, unsuggested }: View): void {
    if (suggestion && suggestion.text !== this.#suggested) this.#options.announce(`Suggestion: ${suggestion.text}. Press Tab to accept.`);
    if (suggestion && ahead && ahead.state !== "running" && ahead.state !== this.#aheadState) this.#options.announce(aheadWork(ahead, this.#views?.tier !== undefined).card.headline);
    [this.#suggested, this.#aheadState] = [suggestion?.text, ahead?.state];
    if (question && question.id !== this.#asked) {
      const { title, tool, subject, reason } = questionOf(question, undefined, this.#options.shell?.unconfined);
      this.#options.announce(title ?? `${tool} ${subject} needs your consent: ${reason}`);
    }
    this.#asked = question?.id;
    if (draft && draft.revision !== this.#draft) {
      this.#draft = draft.revision;
      this.#working = undefined;
      const text = [draft.text, this.#typed].filter((part) => part !== "").join("\n");
      this.#options.insert(text);
      this.edited(text);
    }
    if (this.#wantsWhy && !isAsking) {
      this.#wantsWhy = false;
      if (!suggestion && unsuggested !== undefined) {
        const why = unsuggested === "early_conversation" ? "the conversation is too short" : unsuggested.replaceAll("_", " ");
        const item = note("info", `There is no suggestion now: ${why}.`);
        this.items.push(item);
        this.#options.changed(item);
      }
    }
    this.#changed();
  }

  #save(): void {
    if (this.#disposed) return;
    const working = this.#working;
    this.#options.save?.({ version: 2, lines: this.#lines, items: this.items, costs: this.costs, ...(working !== undefined && { working }), ...(this.#title !== undefined && { title: this.#title }) });
  }

  #changed(): void {
    if (!this.#disposed) this.#options.changed();
  }
}
