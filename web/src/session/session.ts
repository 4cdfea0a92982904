import {
  type Acceptance,
  type ControllerEvent,
  type Conversation,
  type Effect,
  Engine,
  FollowupController,
  type Message,
  type Model,
  type RunEvent,
  StartError,
  type ToolCall,
  type Transcript,
  type Turn,
  type Verdict,
} from "headstart";
import { runCommand } from "../runner/command.js";
import { Ahead } from "./ahead.js";
import { type Entry, tell } from "./log.js";
import { Project } from "./project.js";
import { ProjectSearch } from "./search.js";
import { type Step, Stopwatch } from "./steps.js";
import { type Kept, type Saved, save } from "./storage.js";

export type Consent = "run" | "decline" | "stop";

/** A call that waits for the user. */
export interface Question {
  call: ToolCall;
  verdict: Verdict;
  /** On the clock of events. */
  askedAt: number;
  answer(consent: Consent): void;
}

export interface Ghost {
  suggestion: string;
  /** What of it is not typed yet. */
  rest: string;
}

export interface SessionOptions {
  model: Model;
  modelName?: string;
  system: string;
  files: Record<string, string>;
  saved?: Saved | undefined;
}

const COMMAND_TIME_MS = 10_000;

const KEEPING: Readonly<Record<Kept, string>> = {
  kept: "Files and conversation are kept again: a reload goes on from here.",
  tooMuch: "This is more than the browser keeps for a page: a reload would now begin anew. Once the files are smaller it is kept again.",
  forbidden: "The browser keeps nothing for this page: a reload would begin anew.",
};

/** A conversation about the project, with the next prompt suggested and run ahead. It knows nothing of the screen. */
export class Session {
  readonly project: Project;
  readonly search: ProjectSearch;
  readonly entries: Entry[];
  readonly steps: Step[];
  phase: "idle" | "turn" | "accept" = "idle";
  ghost: Ghost | undefined;
  ahead: Ahead | undefined;
  /** The prompt of work that was given up last, until there is new work. */
  givenUp: string | undefined;
  question: Question | undefined;

  onChange: () => void = () => {};
  onAnnounce: (text: string) => void = () => {};
  onInsert: (text: string) => void = () => {};
  /** A prompt that failed is to stand in the line again, unless something else does. */
  onReturn: (prompt: string) => void = () => {};
  onQuestion: () => void = () => {};

  #saved: Saved | undefined;
  readonly #conversation: Conversation;
  readonly #controller = new FollowupController();
  #engine: Engine;
  #modelName: string | undefined;
  #turn: Turn | undefined;
  /** Work that is being handed over. */
  #taking: Ahead | undefined;
  #working: string | undefined;
  #request = 0;
  #wake: ReturnType<typeof setTimeout> | undefined;
  #suggesting = new AbortController();
  #saving: ReturnType<typeof setTimeout> | undefined;
  #kept: Kept = "kept";
  #watch: Stopwatch | undefined;
  /** What the input line holds. */
  #typed = "";
  #isEnabled = true;
  #isOver = false;

  /** Throws where it cannot go on from what was saved. */
  constructor(options: SessionOptions) {
    const { saved } = options;
    this.project = new Project(saved?.files ?? options.files);
    this.search = new ProjectSearch(this.project);
    this.entries = saved?.entries ?? [];
    this.steps = saved?.steps ?? [];
    this.#conversation = { system: options.system, messages: saved?.messages ?? [] };
    this.#modelName = options.modelName;
    this.#engine = this.#makeEngine(options.model);
    this.project.onChange(() => this.#changed());
    if (saved) this.#checkConversation();
    this.#saved = saved;
  }

  /** Tells what a reload has come to, and looks ahead again. */
  begin(): void {
    if (this.#saved) this.#restored(this.#saved);
    this.#saved = undefined;
  }

  get messages(): readonly Message[] {
    return this.#conversation.messages;
  }

  /** Whether nothing was asked yet. */
  get isNew(): boolean {
    return !this.entries.some(({ kind }) => kind === "user");
  }

  /** Another model answers from now on. What the former one does ahead is given up. */
  useModel(model: Model, modelName?: string): void {
    this.stop();
    this.#tellController({ type: "clear" });
    this.#suggesting.abort();
    this.#engine.dispose();
    this.#modelName = modelName;
    this.#engine = this.#makeEngine(model);
    this.#changed();
    if (this.phase === "idle" && this.#conversation.messages.length) void this.#suggest();
  }

  /** The one switch for suggestions and everything that they run. */
  enable(enabled: boolean): void {
    this.#isEnabled = enabled;
    this.#tellController({ type: "enabled", enabled });
    if (!enabled) this.#suggesting.abort();
    if (enabled && this.phase === "idle" && this.#conversation.messages.length) void this.#suggest();
  }

  /** The input line holds another text. */
  edited(text: string): void {
    this.#typed = text;
    this.#tellController({ type: "edited", text });
  }

  dismiss(): void {
    this.#tellController({ type: "dismiss" });
    if (this.ahead) this.#giveUp();
  }

  /** Tab, or a button, which was aimed at: takes the suggestion, and with it the work. Says whether it did. */
  accept(method: "tab" | "enter"): boolean {
    const suggestion = this.#controller.visible;
    if (!suggestion || this.phase !== "idle") return false;
    this.#tellController({ type: "accept", method, skipInsert: true });
    if (this.#controller.visible) return false;
    void this.send(suggestion);
    return true;
  }

  /** Right: puts the suggestion into the line, as if it had been typed, to be edited or sent. */
  insert(): void {
    const suggestion = this.#controller.visible;
    if (!suggestion) return;
    this.onInsert(suggestion);
    this.edited(suggestion);
  }

  /** Sends a prompt. Work that ran ahead for this very prompt is taken, other work is given up. */
  async send(text: string): Promise<void> {
    if (this.phase !== "idle" || text.trim() === "") return;
    const ahead = this.ahead?.prompt === text ? this.ahead : undefined;
    if (ahead) this.ahead = undefined;
    this.#typed = "";
    this.#suggesting.abort();
    this.#tellController({ type: "clear" });
    if (this.ahead) this.#giveUp();
    this.givenUp = undefined;
    this.entries.push({ kind: "user", text });
    this.#working = text;
    if (ahead) await this.#take(ahead);
    else await this.#run({ prompt: text }, new Stopwatch(text, false));
  }

  /** Ends what the user waits for. */
  stop(): void {
    this.question?.answer("stop");
    this.#turn?.abort();
    this.#taking?.speculation.abort();
  }

  /** What survives a reload, now. */
  saveNow(): void {
    clearTimeout(this.#saving);
    this.#saving = undefined;
    if (this.#isOver) return;
    const kept = save({
      version: 2,
      files: Object.fromEntries(this.project.files),
      messages: this.#conversation.messages,
      entries: this.entries,
      steps: this.steps,
      ...(this.#working === undefined ? {} : { working: this.#working }),
      ...(this.#modelName === undefined ? {} : { modelName: this.#modelName }),
    });
    if (kept === this.#kept) return;
    this.#kept = kept;
    this.note(KEEPING[kept], kept === "kept" ? "plain" : "bad");
  }

  dispose(): void {
    this.#isOver = true;
    this.onChange = this.onAnnounce = () => {};
    clearTimeout(this.#wake);
    clearTimeout(this.#saving);
    this.stop();
    this.#suggesting.abort();
    this.ahead?.speculation.dispose();
    this.#engine.dispose();
    this.#controller.dispose();
    this.search.dispose();
    this.project.dispose();
  }

  #makeEngine(model: Model): Engine {
    const modelName = this.#modelName;
    return new Engine({
      model,
      ...(modelName === undefined ? {} : { modelName }),
      tree: this.project.tree,
      tools: this.search.tools,
      mode: "auto-edit",
      workspace: "/workspace",
      runCommand: async (request, signal) => {
        const limit = Math.min(request.timeLimitMs, COMMAND_TIME_MS);
        await this.project.settled();
        return runCommand({ ...request, timeLimitMs: limit }, this.project.files, signal);
      },
      consent: (call, verdict) => this.#ask(call, verdict),
    });
  }

  #ask(call: ToolCall, verdict: Verdict): Promise<Consent> {
    return new Promise((resolve) => {
      this.#watch?.work();
      this.#watch?.user("decide");
      const answer = (consent: Consent) => {
        this.question = undefined;
        this.#watch?.user("wait");
        this.#watch?.work("tools");
        this.#changed();
        resolve(consent);
      };
      this.question = { call, verdict, askedAt: performance.now(), answer };
      this.#changed();
      this.onQuestion();
    });
  }

  /** Hands over work that ran ahead. */
  async #take(ahead: Ahead): Promise<void> {
    const { watch } = ahead;
    const pressed = performance.now();
    this.#watch = watch;
    watch.user("wait");
    const savedMs = watch.workMs;
    this.phase = "accept";
    this.entries.push(...ahead.entries);
    ahead.follow = (event) => this.#tell(event, true);
    this.#changed();
    await this.project.settled();
    let acceptance: Acceptance;
    this.#taking = ahead;
    try {
      acceptance = await ahead.speculation.accept();
    } catch (error) {
      this.#failed(ahead.prompt, `The work could not be handed over: ${(error as Error).message}`);
      return this.#finish(watch, "failed");
    } finally {
      this.#taking = undefined;
    }
    if (acceptance.type !== "accepted") {
      this.#notTaken(ahead, acceptance);
      return;
    }
    await this.project.refresh();
    await ahead.told;
    const tookMs = performance.now() - pressed;
    const { changes, merged, transcript, ending } = acceptance;
    watch.step.savedMs = savedMs;
    if (changes.length) this.entries.push({ kind: "applied", changes, merged, tookMs, savedMs, restMs: watch.workMs - savedMs });
    if (ending.status !== "completed") {
      // It stopped at a call that needs the user, or at a limit: the turn goes on from there, the model is not asked again.
      return this.#run({ transcript }, watch, ahead);
    }
    this.#conversation.messages.push(...transcript.messages);
    this.#finish(watch, "taken");
    const told = changes.length ? `${changes.length} changed` : "Nothing to change";
    this.onAnnounce(`Done. ${told}.`);
    void this.#suggest(acceptance.next ?? ahead.speculation.next()).finally(() => ahead.speculation.dispose());
  }

  #notTaken(ahead: Ahead, acceptance: Exclude<Acceptance, { type: "accepted" }>): void {
    const { prompt } = ahead;
    if (acceptance.type === "conflict") {
      this.entries.push({ kind: "conflict", prompt, conflicts: acceptance.conflicts });
      this.onAnnounce("Conflict: your edits are kept, nothing was applied.");
    } else if (acceptance.type === "withdrawn") {
      this.note(`Nothing was applied: a call that ran is not allowed any more (${acceptance.verdict.detail}).`, "bad");
    } else if (acceptance.type === "nothing" || acceptance.type === "discarded") {
      const isStopped = ahead.speculation.status === "aborted";
      if (isStopped) this.note("Stopped. Nothing was applied.", "plain");
      else this.#failed(prompt, "There was nothing to hand over.");
    }
    const isConflict = acceptance.type === "conflict";
    ahead.speculation.dispose();
    this.#finish(ahead.watch, isConflict ? "conflict" : "failed");
  }

  /** A turn that the user waits for. */
  async #run(next: { prompt: string } | { transcript: Transcript }, watch: Stopwatch, ahead?: Ahead): Promise<void> {
    this.phase = "turn";
    this.#watch = watch;
    watch.user("wait");
    // At a boundary the turn goes on with the call, and the model is not asked.
    if (ahead?.ending?.status !== "boundary") watch.work("model");
    this.#changed();
    const turn = this.#engine.turn(this.#conversation, next);
    this.#turn = turn;
    const fate: Step["fate"] = ahead ? "taken" : "done";
    try {
      for await (const event of turn) {
        // While the user decides nothing works, whenever the call is told.
        if (!this.question) watch.work(event.type === "toolCall" ? "tools" : "model");
        this.#tell(event, false);
        if (event.type === "toolResult") await this.project.refresh();
      }
      const { ending, transcript } = await turn.finished;
      // A prompt without any answer is not part of the conversation.
      if (1 < transcript.messages.length) this.#conversation.messages.push(...transcript.messages);
      await this.project.refresh();
      if (ending.status === "failed") this.#failed(watch.step.prompt, ending.error);
      else if (ending.status === "exhausted") this.note(`Ended at a limit: ${ending.limit}.`, "bad");
      else if (ending.status !== "completed") this.note("Stopped. What was done so far stays.", "plain");
      this.#finish(watch, ending.status === "completed" ? fate : "failed");
      if (ending.status === "completed") void this.#suggest();
    } catch (error) {
      this.#failed(watch.step.prompt, `The turn failed: ${(error as Error).message}`);
      this.#finish(watch, "failed");
    } finally {
      turn.dispose();
      ahead?.speculation.dispose();
      this.#turn = undefined;
    }
  }

  #finish(watch: Stopwatch, fate: Step["fate"]): void {
    watch.end(fate);
    this.steps.push(watch.step);
    this.#watch = undefined;
    this.#working = undefined;
    this.phase = "idle";
    this.#changed();
  }

  /** Finds out what the user may ask next: from work that knows it already, or by asking the model. */
  async #suggest(known?: string | Promise<string | undefined>): Promise<void> {
    // Nothing is asked for whoever wants none, or types already; what accepted work knows by itself costs nothing more.
    if (!this.#isEnabled || (known === undefined && this.#typed !== "")) return;
    this.#suggesting = new AbortController();
    const { signal } = this.#suggesting;
    const request = (this.#request += 1);
    this.#tellController({ type: "requested", request });
    try {
      const suggestion = known === undefined ? await this.#guess(signal) : await known;
      if (!signal.aborted && suggestion !== undefined) this.#tellController({ type: "suggested", request, suggestion });
    } catch (error) {
      if (!signal.aborted) this.note(`No suggestion: ${(error as Error).message}`, "plain");
    }
  }

  async #guess(signal: AbortSignal): Promise<string | undefined> {
    const guess = await this.#engine.suggest(this.#conversation, { signal });
    return "suggestion" in guess ? guess.suggestion : undefined;
  }

  #tellController(event: ControllerEvent): void {
    if (this.#isOver) return;
    for (const effect of this.#controller.handle(event)) this.#carryOut(effect);
    this.#changed();
  }

  #carryOut(effect: Effect): void {
    switch (effect.type) {
      case "show":
        if (this.ghost?.suggestion !== effect.suggestion) this.onAnnounce(`Suggestion: ${effect.suggestion}. Tab to accept.`);
        this.ghost = { suggestion: effect.suggestion, rest: effect.rest ?? effect.suggestion };
        this.ahead?.watch.user("read");
        break;
      case "hide":
        this.ghost = undefined;
        break;
      case "wakeAt":
        clearTimeout(this.#wake);
        this.#wake = setTimeout(() => this.#tellController({ type: "wake" }), Math.max(0, effect.at - Date.now()));
        break;
      case "startSpeculation":
        this.givenUp = undefined;
        this.ahead = new Ahead(this.#engine.speculate(this.#conversation, effect.suggestion), () => this.#changed());
        break;
      case "abandonSpeculation":
        if (this.ahead) this.#giveUp();
        break;
      default:
    }
  }

  #giveUp(): void {
    const { ahead } = this;
    if (!ahead) return;
    this.ahead = undefined;
    ahead.speculation.abort();
    ahead.watch.end("given up");
    this.steps.push(ahead.watch.step);
    this.givenUp = ahead.prompt;
    void ahead.finished.catch(() => {}).finally(() => ahead.speculation.dispose());
    this.onAnnounce("The work ahead was given up.");
    this.#changed();
  }

  /** Throws where the engine does not take the messages for a conversation. It looks at them first: an empty prompt then begins nothing. */
  #checkConversation(): void {
    try {
      this.#engine.speculate(this.#conversation, "").dispose();
    } catch (error) {
      if (!(error instanceof StartError)) throw error;
    }
  }

  #restored({ working, modelName }: Saved): void {
    for (const entry of this.entries) {
      if (entry.kind === "call" && !entry.result) entry.result = { error: "interrupted by the reload" };
    }
    const model =
      modelName === undefined ? "" : ` Your own model, ${modelName}, does not answer any more, for neither its address nor a key is kept: now the recording answers.`;
    this.note(
      `The page was loaded again. Files and conversation are as they were; work that ran ahead is gone, and nothing of it was applied.${model}`,
      "plain",
    );
    if (working !== undefined) this.#failed(working, `The turn “${working}” was interrupted by that; what it had changed stays.`);
    if (this.#conversation.messages.length) void this.#suggest();
  }

  #tell(event: RunEvent, ahead: boolean): void {
    tell(this.entries, event, ahead);
    this.#changed();
  }

  note(text: string, tone: "plain" | "bad"): void {
    this.entries.push({ kind: "note", text, tone });
    this.onAnnounce(text);
    this.#changed();
  }

  /** The prompt goes back to where it was typed, for it is not lost with what became of it. */
  #failed(prompt: string, text: string): void {
    this.entries.push({ kind: "failed", prompt, text });
    this.onAnnounce(text);
    this.onReturn(prompt);
    this.#changed();
  }

  #changed(): void {
    this.onChange();
    if (!this.#isOver) this.#saving ??= setTimeout(() => this.saveNow(), 100);
  }
}
