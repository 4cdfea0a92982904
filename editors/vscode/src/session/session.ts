import type {
  Acceptance, AcceptMethod, ChangeSet, ControllerEvent, Conversation, Effect, Engine,
  EngineOptions, FollowupController, Message, ToolCall, Transcript, Turn, Verdict,
} from "headstart";
import type { Item, Question, ViewState } from "../view/protocol.js";
import { Ahead, KeptChanges, Offers, fileLines } from "./ahead.js";
import { Costs, difference } from "./costs.js";
import { Teller, endingNote, newKey, note } from "./teller.js";
import type { SessionOptions } from "./options.js";
import { type Saved, revived } from "./saved.js";
import { Undone } from "./undone.js";
import { callQuestion, changesQuestion, conflictLine, messageOf } from "./words.js";

interface Guess {
  suggestions: string[];
  /** Why there are none. */
  suppressed: string;
}

/** A conversation about a project, with the next prompt suggested and run ahead. It knows nothing of VS Code. */
export class Session {
  readonly items: Item[];
  readonly costs: Costs;
  readonly #options: SessionOptions;
  readonly #undone: Undone;
  #engine: Engine;
  /** What the engine was made with. */
  #rules: string;
  readonly #controller: FollowupController;
  readonly #offers = new Offers();
  readonly #kept = new KeptChanges();
  readonly #conversation: Conversation & { messages: Message[] };
  #busy: ViewState["busy"] = "idle";
  /** The prompt that is under way. */
  #working: string | undefined;
  #queued: string[] = [];
  /** Whether the user stopped what is under way. */
  #stopped = false;
  #typed = "";
  #ghost: ViewState["ghost"];
  #question: (Question & { settle: (answer: "run" | "decline" | "stop") => void }) | undefined;
  #turn: { turn: Turn; teller: Teller } | undefined;
  #taken: Ahead | undefined;
  #asking: AbortController | undefined;
  /** Accepted work is held until it has said what comes after it. */
  #nextAsked: Promise<unknown> = Promise.resolve();
  #request = 0;
  #wake: ReturnType<typeof setTimeout> | undefined;
  #disposed = false;

  /** Throws where the engine does not take what was saved for a conversation. */
  constructor(options: SessionOptions) {
    const { saved } = options;
    this.#options = options;
    this.items = revived(saved?.items ?? []);
    this.costs = new Costs(saved?.costs);
    this.#rules = this.#currentRules();
    this.#undone = new Undone(options.headstart.UndoWatch, options.tree);
    this.#engine = this.#newEngine();
    this.#controller = new options.headstart.FollowupController({ enabled: options.settings().enabled });
    this.#conversation = { system: options.system, messages: saved?.messages ?? [] };
    if (saved) this.#goOn(saved);
    if (options.opening !== undefined) this.#open(options.opening);
  }

  #goOn({ working }: Saved): void {
    try {
      // It looks at the messages first: an empty prompt then begins nothing.
      this.#engine.speculate(this.#conversation, "").dispose();
    } catch (error) {
      if ((error as { code?: unknown }).code !== "empty") {
        this.dispose();
        throw error;
      }
    }
    if (working === undefined) return;
    this.items.push(note("warning", "The window was loaded again while this was under way. What it had changed stays; the model does not know of it.", [
      { title: "Try again", action: "submit", text: working },
    ]));
  }

  #newEngine(): Engine {
    const { headstart, model, modelName, mode } = this.#options;
    const { deny, aheadWrites } = this.#options.settings();
    const engine: EngineOptions = {
      model, modelName, mode, deny, aheadWrites,
      tree: this.#undone.tree,
      tools: this.#options.tools?.() ?? [],
      consent: (call, verdict) => this.#consent(call, verdict),
    };
    return new headstart.Engine(engine);
  }

  get view(): Omit<ViewState, "status" | "model"> {
    const ahead = this.ahead;
    const { settle: _, ...question } = this.#question ?? { settle: undefined };
    return {
      busy: this.#busy,
      enabled: this.#options.settings().enabled,
      tab: this.#options.settings().tab,
      queued: this.#queued,
      ...(this.#ghost && { ghost: this.#ghost }),
      ...(this.#ghost && ahead && { ahead: ahead.card() }),
      ...(this.#question && { question: question as Question }),
    };
  }

  /** The work behind the suggestion on screen. */
  get ahead(): Ahead | undefined {
    return this.#ghost && this.#offers.get(this.#ghost.text);
  }

  /** Whether the prompt holds words for the model. */
  get #isTyping(): boolean {
    return this.#typed !== "" && !this.#typed.startsWith("/");
  }

  get isThinking(): boolean {
    return this.#asking !== undefined;
  }

  /** The changes of this id, staged or applied. */
  changes(id: string): ChangeSet | undefined {
    return this.#offers.find(id)?.changes() ?? (this.#taken?.id === id ? this.#taken.changes() : this.#kept.get(id));
  }

  edited(text: string): void {
    this.#typed = text;
    if (text !== "" && this.#ghost === undefined && !text.startsWith("/")) this.#dropAsked();
    this.#tell({ type: "edited", text });
  }

  dismiss(): void {
    this.#tell({ type: "dismiss" });
  }

  turnCandidate(step: "next" | "previous"): void {
    this.#tell({ type: step === "next" ? "nextCandidate" : "previousCandidate" });
    // The one that shows now is the one that a user who turned to it is likely to take.
    if (this.#ghost && this.#busy === "idle") this.#startAhead(this.#ghost.text);
  }

  /** Takes the suggestion: `right`, and Tab for those who set it so, put it into the prompt, as if it had been typed; all else runs it. */
  accept(method: AcceptMethod): void {
    const suggestion = this.#controller.visible;
    if (this.#busy !== "idle" || suggestion === undefined) return;
    if (method === "right" || (method === "tab" && this.#options.settings().tab === "insert")) {
      this.#options.insert(suggestion);
      return this.edited(suggestion);
    }
    for (const effect of this.#handle({ type: "accept", method })) {
      if (effect.type === "insert") void this.submit(effect.text);
      else this.#act(effect);
    }
  }

  /** A prompt of the user's, or a suggestion that they took. */
  async submit(text: string): Promise<void> {
    if (text.trim() === "" || this.#disposed) return;
    this.#typed = "";
    if (this.#busy !== "idle") {
      this.#queued.push(text);
      return this.#changed();
    }
    this.#stopped = false;
    const work = this.#offers.take(text);
    this.#dropAsked();
    this.#tell({ type: "clear" });
    this.#offers.giveUp((other) => this.#drop(other));
    this.#working = text;
    this.#setBusy(work === undefined ? "turn" : "accept");
    const news = await this.#undone.tell();
    if (this.#disposed) return;
    if (this.#stopped) {
      // Before anything had begun: the prompt is the draft again.
      if (work !== undefined) this.#drop(work);
      this.#over();
      return this.#giveBack([text]);
    }
    this.#markUndone();
    if (news !== undefined) this.#add(note("info", news.forUser));
    if (work !== undefined && work.note === this.#undone.note) {
      await this.#take(work);
    } else {
      // What ran ahead did so in the belief that all is there which the user has undone.
      if (work !== undefined) this.#drop(work);
      this.#add({ key: newKey(), kind: "user", text });
      await this.#runTurn(text);
    }
    const next = this.#queued.shift();
    if (next !== undefined) await this.submit(next);
  }

  /** Asks for a suggestion now. Whoever wanted it hears why there is none. */
  suggest(wanted = false): void {
    if (this.#busy !== "idle" || !this.#options.settings().enabled) return;
    void this.#ask().then((suppressed) => {
      if (!wanted || suppressed === undefined) return;
      const why = suppressed === "early_conversation" ? "the conversation is too short" : suppressed.replaceAll("_", " ");
      this.#add(note("info", `There is no suggestion now: ${why}.`));
    });
  }

  /** Files of the project were changed: if that undid work, or redid it, what rests on it is no longer offered. */
  async filesChanged(): Promise<void> {
    if (this.#busy !== "idle" || this.#disposed) return;
    const before = this.#undone.note;
    await this.#undone.look();
    if (this.#undone.note === before || this.#busy !== "idle" || this.#disposed) return;
    const offered = this.#ghost !== undefined || this.#asking !== undefined;
    this.#dropAsked();
    this.#tell({ type: "clear" });
    this.#offers.giveUp((work) => this.#drop(work));
    if (offered) this.#options.announce("The suggestion is gone: it rested on work that you have undone or redone.");
    this.#markUndone();
  }

  #markUndone(): void {
    this.#undone.mark(this.items, (item) => this.#options.changed(item));
  }

  answer(id: string, answer: "run" | "decline" | "stop"): void {
    if (this.#question?.id === id) this.#question.settle(answer);
  }

  /** What was to follow is the draft again: whoever stops a turn decides anew about it. */
  stop(): void {
    this.#stopped = true;
    this.#giveBack();
    this.#question?.settle("stop");
    this.#turn?.turn.abort();
    this.#taken?.speculation.abort();
    this.#changed();
  }

  /** These prompts and those that waited stand in the line again, before what is typed there. */
  #giveBack(prompts: string[] = []): void {
    const all = [...prompts, ...this.#queued];
    if (all.length === 0) return;
    const draft = [...all, ...(this.#typed === "" ? [] : [this.#typed])].join("\n");
    this.#queued = [];
    this.#options.insert(draft);
    this.edited(draft);
  }

  /** Settings changed: the off switch counts at once. */
  settingsChanged(): void {
    const { enabled, speculation } = this.#options.settings();
    this.#tell({ type: "enabled", enabled });
    // In plan mode nothing is suggested, nor kept ready that would write.
    const isPlan = this.#options.mode() === "plan";
    if (isPlan) this.#tell({ type: "clear" });
    if (!enabled || isPlan) this.#dropAsked();
    if (!enabled || !speculation || isPlan) this.#offers.giveUp((work) => this.#drop(work));
    if (this.#currentRules() !== this.#rules) this.#newRules();
    this.#changed();
  }

  #currentRules(): string {
    const { deny, aheadWrites, index } = this.#options.settings();
    return JSON.stringify([deny, aheadWrites, index]);
  }

  /** What was read ahead may be denied now. */
  #newRules(): void {
    this.stop();
    this.#tell({ type: "clear" });
    this.#offers.giveUp((work) => this.#drop(work));
    this.#dropAsked();
    this.#engine.dispose();
    this.#rules = this.#currentRules();
    this.#engine = this.#newEngine();
  }

  dispose(): void {
    if (this.#disposed) return;
    this.#dropAsked();
    this.stop();
    clearTimeout(this.#wake);
    this.#offers.giveUp((work) => this.#drop(work));
    this.#disposed = true;
    this.#controller.dispose();
    this.#engine.dispose();
    this.#undone.dispose();
  }

  // ── suggestions ────────────────────────────────────────────────────────────────────────────────────────────────────

  #open(text: string): void {
    this.#request += 1;
    const show = this.#handle({ type: "suggested", request: this.#request, suggestion: text });
    // Nothing runs ahead for it: there is no conversation yet whose model could be asked.
    for (const effect of show) if (effect.type === "wakeAt") this.#act(effect);
  }

  /** Asks the model, or takes what accepted work has asked itself. */
  async #ask(accepted?: Ahead): Promise<string | undefined> {
    this.#dropAsked();
    const { candidates } = this.#options.settings();
    const request = ++this.#request;
    const asking = new AbortController();
    this.#asking = asking;
    this.#tell({ type: "requested", request });
    try {
      const { suggestions, suppressed } = accepted ? await this.#next(accepted) : await this.#guess(candidates, asking.signal);
      if (asking.signal.aborted) return undefined;
      const [suggestion, ...others] = suggestions;
      this.#tell(suggestion === undefined ? { type: "suppressed", request, reason: suppressed } : { type: "suggested", request, suggestion, others });
      return suggestion === undefined ? suppressed : undefined;
    } catch (error) {
      if (asking.signal.aborted) return undefined;
      this.#tell({ type: "suppressed", request, reason: "error" });
      return messageOf(error);
    } finally {
      if (this.#asking === asking) this.#asking = undefined;
      this.#changed();
    }
  }

  async #guess(candidates: number, signal: AbortSignal): Promise<Guess> {
    const news = await this.#undone.look();
    signal.throwIfAborted();
    const { system, messages } = this.#conversation;
    const told: Message[] = news ? [{ role: "user", parts: [{ type: "text", text: news.note }] }] : [];
    const answer = await this.#engine.suggest({ ...(system !== undefined && { system }), messages: [...messages, ...told] }, { candidates, signal });
    this.costs.add("suggestions", answer.usage);
    if (answer.suppressed !== undefined) return { suggestions: [], suppressed: answer.error ?? answer.suppressed };
    return { suggestions: [answer.suggestion, ...answer.others], suppressed: "" };
  }

  /** What comes after accepted work: it asks that by itself, at the latest when it is accepted. */
  async #next(accepted: Ahead): Promise<Guess> {
    try {
      return { suggestions: await accepted.speculation.candidates(), suppressed: "empty" };
    } finally {
      const { cost } = accepted.finished ?? {};
      if (cost) this.costs.add("suggestions", difference(accepted.speculation.cost, cost));
    }
  }

  #dropAsked(): void {
    this.#asking?.abort();
    this.#asking = undefined;
  }

  #handle(event: ControllerEvent): Effect[] {
    return this.#disposed ? [] : this.#controller.handle(event, Date.now());
  }

  #tell(event: ControllerEvent): void {
    for (const effect of this.#handle(event)) this.#act(effect);
    this.#changed();
  }

  #act(effect: Effect): void {
    switch (effect.type) {
      case "show": {
        const { suggestion, rest = suggestion, place } = effect;
        this.#ghost = { text: suggestion, rest, ...(place && 1 < place.of && { place }) };
        return this.#options.announce(`Suggestion: ${suggestion}. Press Tab to accept.`);
      }
      case "hide":
        this.#ghost = undefined;
        return;
      case "wakeAt":
        clearTimeout(this.#wake);
        this.#wake = setTimeout(() => this.#tell({ type: "wake" }), Math.max(0, effect.at - Date.now()));
        return;
      case "startSpeculation":
        return this.#startAhead(effect.suggestion);
      case "abandonSpeculation":
        return this.#offers.giveUp((work) => this.#drop(work));
      case "abandonOthers":
        return this.#offers.keepOnly(effect.suggestion, (work) => this.#drop(work));
    }
  }

  #startAhead(prompt: string): void {
    const { enabled, speculation } = this.#options.settings();
    if (!enabled || !speculation || this.#offers.get(prompt) !== undefined) return;
    try {
      const started = this.#engine.speculate(this.#conversation, this.#undone.promptAhead(prompt));
      const work: Ahead = new Ahead(started, prompt, this.#undone.note, () => this.#aheadChanged(work));
      this.#offers.add(prompt, work);
    } catch {
      // A slash command is never run ahead; it is a suggestion all the same.
    }
  }

  #aheadChanged(work: Ahead): void {
    if (work.finished !== undefined && this.ahead === work) this.#options.announce(work.card().headline);
    this.#changed();
  }

  /** Gives work up. What it cost so far counts. */
  #drop(work: Ahead): void {
    this.costs.add("ahead", work.speculation.cost);
    work.speculation.abort();
    void work.told.catch(() => {}).finally(() => work.speculation.dispose());
  }

  // ── turns ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** A turn with a prompt, or one that goes on with what ran ahead for it. */
  async #runTurn(prompt: string, begun?: { transcript: Transcript; teller: Teller }): Promise<void> {
    this.#setBusy("turn");
    const teller = begun?.teller ?? new Teller((item) => this.#add(item));
    const next = begun ? { transcript: begun.transcript } : { prompt: this.#undone.prompt(prompt) };
    const turn = this.#engine.turn(this.#conversation, next);
    this.#turn = { turn, teller };
    try {
      for await (const event of turn) teller.tell(event);
      const { ending, transcript, cost } = await turn.finished;
      this.costs.add("turns", cost);
      teller.ended(ending.status);
      this.#keepHistory(transcript);
      const last = endingNote(ending, prompt);
      if (last) this.#add(last);
      this.#over();
      this.#options.announce(ending.status === "completed" ? "The answer is complete." : "The turn has stopped.");
      if (ending.status === "completed" && !this.#isTyping) this.suggest();
    } catch (error) {
      teller.ended("failed");
      this.#add(note("error", messageOf(error)));
      this.#over();
    } finally {
      turn.dispose();
    }
  }

  /** The user takes work that ran ahead, or still does. */
  async #take(work: Ahead): Promise<void> {
    this.#taken = work;
    this.#add({ key: newKey(), kind: "user", text: work.prompt, ahead: true });
    // What it tells from now on is part of the conversation at once.
    work.teller.grew = (item) => this.#add(item);
    for (const item of work.teller.items) this.#add(item);
    this.#setBusy("accept");
    try {
      // What still runs is waited for before the files are looked at: a user may edit until the last moment.
      const finished = await work.told;
      this.costs.add("ahead", finished.cost);
      this.#kept.add(work.id, finished.changes);
      const accept = work.speculation.accept().then((outcome) => (outcome.type === "asksFirst" ? this.#askFirst(outcome, work) : outcome));
      const acceptance = await accept.catch((error: unknown) => this.#refused(error, work));
      if (acceptance?.type === "accepted") await this.#accepted(acceptance, work);
      else if (acceptance !== undefined) await this.#notAccepted(acceptance, work);
    } catch (error) {
      this.#add(note("error", messageOf(error)));
      this.#over();
    } finally {
      void this.#nextAsked.finally(() => work.speculation.dispose());
    }
  }

  async #accepted(acceptance: Acceptance & { type: "accepted" }, work: Ahead): Promise<void> {
    const { changes, merged, transcript, pendingCall, ending, timeSavedMs } = acceptance;
    this.costs.savedMs += timeSavedMs;
    if (0 < changes.length) {
      const title = 0 < merged.length ? "Applied, merged with your edits" : "Applied";
      this.#add({ key: newKey(), kind: "changes", title, files: fileLines(changes, work.id, merged) });
      this.#options.applied?.(changes.filter(({ type }) => type !== "delete").map(({ path }) => path));
    }
    this.#options.announce(0 < changes.length ? `Applied: ${changes.map(({ path }) => path).join(", ")}.` : "Accepted.");
    this.#taken = undefined;
    if (pendingCall !== undefined || ending.status === "exhausted") {
      return this.#runTurn(work.prompt, { transcript, teller: work.teller });
    }
    this.#keepHistory(transcript);
    const told = endingNote(ending, work.prompt);
    if (told) this.#add(told);
    this.#over();
    if (ending.status === "completed" && this.#options.settings().enabled) this.#nextAsked = this.#ask(work);
  }

  /** The mode asks before a write: the user is asked once, for all of it, and nothing is written before their yes. */
  async #askFirst(asks: Acceptance & { type: "asksFirst" }, work: Ahead): Promise<Acceptance | undefined> {
    const answer = await this.#put(changesQuestion(work, asks));
    if (answer === "run") return asks.agree();
    this.#taken = undefined;
    this.#add(note("info", "Not written: what ran ahead is dropped."));
    this.#options.announce("Nothing was written.");
    this.#over();
    this.#giveBack([work.prompt]);
    return undefined;
  }

  #notAccepted(acceptance: Exclude<Acceptance, { type: "accepted" }>, work: Ahead): Promise<void> | void {
    this.#taken = undefined;
    if (work.speculation.status === "aborted") {
      // The user stopped it: nothing runs in its place.
      this.#add(note("info", "Stopped. Nothing of the work ahead was applied.", [{ title: "Run it", action: "submit", text: work.prompt }]));
      this.#options.announce("Stopped. Nothing was applied.");
      return this.#over();
    }
    const again = { title: "Run again on the new content", action: "submit", text: work.prompt } as const;
    const staged = { title: "Show what was staged", action: "diff", staged: work.id } as const;
    switch (acceptance.type) {
      case "nothing":
        // Nothing was done ahead: the prompt runs as if it had been typed.
        return this.#runTurn(work.prompt);
      case "conflict":
        this.#add(note("warning", `Not applied, nothing was changed. ${acceptance.conflicts.map(conflictLine).join(" ")}`, [staged, again]));
        break;
      case "withdrawn":
        this.#add(note("warning", `Not applied: ${acceptance.call.name} is not allowed any more (${acceptance.verdict.detail}).`, [again]));
        break;
      case "discarded":
        this.#add(note("warning", "Not applied: it stopped at a call that needs your consent.", [again]));
        break;
      case "asksFirst":
        // It was asked about, and the rules changed once more before the answer.
        this.#add(note("warning", "Not applied: it needs your consent once more.", [staged, again]));
    }
    this.#options.announce("Not applied. Nothing was changed.");
    this.#over();
  }

  /** The editor did not take the edit. Everything is as it was. */
  #refused(error: unknown, work: Ahead): undefined {
    this.#taken = undefined;
    // What the editor said stands behind what the module says of the call.
    const why = messageOf(error).replace(/^.* of the tree failed: /, "");
    this.#add(note("warning", `Not applied, nothing was changed: ${why}.`, [
      { title: "Show what was staged", action: "diff", staged: work.id },
      { title: "Run again on the new content", action: "submit", text: work.prompt },
    ]));
    this.#options.announce("Not applied. Nothing was changed.");
    this.#over();
  }

  async #consent(call: ToolCall, verdict: Verdict): Promise<"run" | "decline" | "stop"> {
    this.#turn?.teller.waits(call.id, true);
    const answer = await this.#put(callQuestion(call, verdict));
    this.#turn?.teller.waits(call.id, false);
    return answer;
  }

  /** Puts a question to the user, in place of one that may stand. */
  #put(question: Question): Promise<"run" | "decline" | "stop"> {
    return new Promise((resolve) => {
      this.#question = {
        ...question,
        settle: (answer) => {
          this.#question = undefined;
          this.#changed();
          resolve(answer);
        },
      };
      this.#options.announce(question.title ?? `${question.tool} ${question.subject} needs your consent: ${question.reason}`);
      this.#changed();
    });
  }

  // ── the small things ───────────────────────────────────────────────────────────────────────────────────────────────

  #add(item: Item): void {
    if (!this.items.includes(item)) this.items.push(item);
    this.#options.changed(item);
  }

  #keepHistory(transcript: Transcript): void {
    // A prompt without an answer is taken back, so that the conversation goes on where it was.
    if (!transcript.messages.some(({ role }) => role === "model")) return;
    this.#conversation.messages.push(...transcript.messages);
    this.#undone.told();
  }

  #setBusy(busy: ViewState["busy"]): void {
    this.#busy = busy;
    this.#changed();
    if (this.#disposed) return;
    const { items, costs } = this;
    const working = this.#working;
    this.#options.save?.({ version: 1, messages: this.#conversation.messages, items, costs: costs.rows(), ...(working !== undefined && { working }) });
  }

  #over(): void {
    this.#turn = undefined;
    this.#taken = undefined;
    this.#working = undefined;
    this.#setBusy("idle");
  }

  #changed(): void {
    if (!this.#disposed) this.#options.changed();
  }
}
