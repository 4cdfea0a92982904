import { Agent, type ChangeSet, type Completion, type Model, type View, type ViewAnswer, type ViewItem, type ViewItemChange, type ViewQuestion, itemRows } from "headstart";
import { readSession } from "headstart/sessions";
import { runCommand } from "../runner/command.js";
import { keep } from "./kept.js";
import type { Entry } from "./log.js";
import { Project } from "./project.js";
import { ProjectSearch } from "./search.js";
import { type Step, Stopwatch } from "./steps.js";
import { type Kept, type Saved, save } from "./storage.js";
import { leave } from "./tabs.js";

/** A question to the user. */
export interface Question {
  about: ViewQuestion;
  /** The prompt of the turn that asks. */
  prompt: string;
  /** When the question was asked, on the clock of events. */
  askedAt: number;
  answer(answer: ViewAnswer): void;
}

export interface SessionOptions {
  model: Model;
  /** The name of the visitor's own model. The recording has no name, and costs nothing. */
  modelName?: string;
  system: string;
  files: Record<string, string>;
  saved?: Saved | undefined;
  /** Whether the visitor has gone back to a saved conversation, and not only reloaded the page. */
  isResumed?: boolean;
  /** Whether the saved state is a copy, because another tab has the conversation open. */
  isCopy?: boolean;
}

/** The work behind a suggestion, with its times. */
export interface Ahead {
  readonly id: string;
  /** The suggested prompt; `undefined` until the suggestion was on screen. */
  prompt: string | undefined;
  readonly watch: Stopwatch;
  work: NonNullable<View["ahead"]>;
}

const COMMAND_TIME_MS = 10_000;

const KEEPING: Readonly<Record<Kept, string>> = {
  kept: "Files and conversation are kept again: a reload goes on from here.",
  tooMuch: "This is more than the browser keeps for a page: a reload would now begin anew. Once the files are smaller it is kept again.",
  forbidden: "The browser keeps nothing for this page: a reload would begin anew.",
};

/** The conversation of the page: turns the agent's updates into lines and times, and both survive a reload. It does not know the screen. */
export class Session {
  readonly project: Project;
  readonly search: ProjectSearch;
  readonly entries: Entry[];
  readonly steps: Step[];
  ahead: Ahead | undefined;
  /** The prompt of the work that was discarded last, until new work begins. */
  givenUp: string | undefined;
  question: Question | undefined;

  onChange: () => void = () => {};
  onAnnounce: (text: string) => void = () => {};
  onInsert: (text: string) => void = () => {};
  /** Called when prompts had no effect: puts them into the line again, before the text that is typed there. */
  onReturn: (prompt: string) => void = () => {};
  onQuestion: () => void = () => {};
  /** Called when a turn begins, because the user has then read what was changed before. */
  onPrompt: () => void = () => {};
  onSuggestion: (text: string) => void = () => {};

  readonly #options: SessionOptions;
  #saved: Saved | undefined;
  #agent: Agent;
  #modelName: string | undefined;
  /** The lines of the conversation, as the agent gave them. */
  #lines: string;
  /** What the agent has learned of costs and of the visitor's habits. */
  #ledger = { past: "", habits: undefined as string | undefined };
  /** The running turn: its prompt, its times, and the work that was taken for it. */
  #turn: { prompt: string; watch: Stopwatch; taken: Ahead | undefined; pressed: number; savedMs: number } | undefined;
  #suggested: string | undefined;
  #draft = -1;
  #saving: ReturnType<typeof setTimeout> | undefined;
  #kept: Kept = "kept";
  /** Settles when a chosen model is ready to answer; `undefined` while no change of the model is pending. */
  #changing: Promise<unknown> | undefined;
  #isEnabled = true;
  #isOver = false;

  /** Throws if the saved state cannot be continued. */
  constructor(options: SessionOptions) {
    const { saved } = options;
    this.#options = options;
    this.project = new Project(saved?.files ?? options.files);
    this.search = new ProjectSearch(this.project);
    this.entries = saved?.entries ?? [];
    this.steps = saved?.steps ?? [];
    this.#lines = saved?.lines ?? "";
    this.#modelName = options.modelName;
    this.#agent = this.#makeAgent(options.model);
    this.project.onChange((_, by) => {
      if (by === "user") this.#agent.filesChanged();
      this.#changed();
    });
    this.#saved = saved;
  }

  /** Says what a reload has restored, and asks for a suggestion again. */
  begin(): void {
    if (this.#saved) this.#restored(this.#saved);
    this.#saved = undefined;
  }

  get #view(): View {
    return this.#agent.view;
  }

  get phase(): "idle" | "turn" | "accept" {
    switch (this.#view.phase) {
      case "idle":
      case "ended":
        return "idle";
      case "accepting":
      case "asking":
        return "accept";
      default:
        return this.#turn?.taken ? "accept" : "turn";
    }
  }

  /** The suggestion on screen, and the part of it that is not typed yet. */
  get ghost(): { suggestion: string; rest: string } | undefined {
    const { suggestion } = this.#view;
    return suggestion && { suggestion: suggestion.text, rest: suggestion.rest ?? "" };
  }

  /** The prompts that wait for the running turn. */
  get queued(): readonly string[] {
    return this.#view.queued;
  }

  /** The changes that the work ahead has staged. */
  staged(): ChangeSet | undefined {
    return this.ahead && this.#agent.changes(this.ahead.id);
  }

  /** Whether no prompt was sent yet. */
  get isNew(): boolean {
    return !this.entries.some(({ kind }) => kind === "user");
  }

  /** The id of this conversation among those that are kept; `undefined` until something was said. */
  get id(): string | undefined {
    return this.#lines === "" ? undefined : readSession(this.#lines).id;
  }

  /** Sets the title of this conversation. */
  rename(title: string): void {
    this.#agent.setTitle(title);
  }

  /** Whether the recording answers, and not the visitor's own model. */
  get isRecorded(): boolean {
    return this.#modelName === undefined;
  }

  /**
   * Lets another model answer as soon as `ready` resolves; a prompt that is sent meanwhile waits for that. The running
   * turn ends, and what the former model does ahead is discarded.
   */
  async useModel(model: Model, modelName: string | undefined, ready: Promise<unknown>): Promise<void> {
    this.#changing = ready;
    await ready;
    if (this.#changing !== ready || this.#isOver) return;
    this.#changing = undefined;
    this.#modelName = modelName;
    // The tools that are offered may differ, too, so another agent continues the conversation.
    void this.#agent.close();
    this.#left();
    this.#agent = this.#makeAgent(model);
    this.#agent.suggest();
    this.#changed();
  }

  /** Switches suggestions, and all work that runs because of them, on or off. */
  enable(enabled: boolean): void {
    this.#isEnabled = enabled;
    this.#agent.setBackground(enabled ? "auto" : "off");
    if (enabled) this.#agent.suggest();
    this.#changed();
  }

  /** The completions of the mention that ends where this text ends. */
  complete(before: string): Promise<Completion | undefined> {
    return this.#agent.complete(before);
  }

  /** Reports that the input line holds another text. */
  edited(text: string): void {
    this.#agent.edited(text);
    this.#changed();
  }

  dismiss(): void {
    this.#agent.dismiss();
    this.#changed();
  }

  /** Takes the suggestion, and the work with it, as Tab and a button do. Returns whether there was a suggestion to take. */
  accept(): boolean {
    const { suggestion } = this.#view;
    return suggestion !== undefined && this.#agent.take(suggestion.text) === undefined;
  }

  /** Puts the suggestion into the line, as the key Right does. It can then be edited or sent like typed text. */
  insert(): void {
    const { suggestion } = this.#view;
    if (!suggestion) return;
    this.onInsert(suggestion.text);
    this.edited(suggestion.text);
  }

  /** Sends a prompt. While a turn runs, the prompt waits. */
  send(text: string): void {
    if (this.#changing) return void this.#changing.then(() => this.send(text));
    this.#agent.submit(text);
    this.#changed();
  }

  /** The calls that run without a question because the visitor allowed them, until the page is reloaded or another model answers. */
  get allowed(): readonly string[] {
    return this.#agent.allowed;
  }

  /** Asks about such calls again. */
  askAgain(allowed: string): void {
    this.#agent.askAgain(allowed);
    this.onAnnounce("You are asked again.");
    this.#changed();
  }

  /** Interrupts what the user waits for. */
  stop(): void {
    this.#agent.interrupt();
  }

  /** Saves now what survives a reload. */
  saveNow(): void {
    clearTimeout(this.#saving);
    this.#saving = undefined;
    if (this.#isOver) return;
    const saved: Saved = {
      version: 3,
      files: Object.fromEntries(this.project.files),
      lines: this.#lines,
      entries: this.entries,
      steps: this.steps,
      ...(this.#turn === undefined ? {} : { working: this.#turn.prompt }),
      ...(this.#modelName === undefined ? {} : { modelName: this.#modelName }),
    };
    const kept = save(saved);
    keep(saved);
    if (kept === this.#kept) return;
    this.#kept = kept;
    this.note(KEEPING[kept], kept === "kept" ? "plain" : "bad");
  }

  dispose(): void {
    this.#isOver = true;
    this.onChange = this.onAnnounce = () => {};
    clearTimeout(this.#saving);
    void this.#agent.close();
    if (this.id !== undefined) leave(this.id);
    this.search.dispose();
    this.project.dispose();
  }

  note(text: string, tone: "plain" | "bad"): void {
    this.entries.push({ kind: "note", text, tone });
    this.onAnnounce(text);
    this.#changed();
  }

  /** Reports that a part of the page that is fetched late could not be fetched. */
  unfetched(part: string): void {
    this.note(`The ${part} could not be fetched. Load the page again once there is a connection.`, "bad");
  }

  #makeAgent(model: Model): Agent {
    const modelName = this.#modelName;
    // Keys are valid for one agent only, so those of a former agent are removed.
    for (const entry of this.entries) if (entry.kind === "model" || entry.kind === "call") delete entry.key;
    const agent: Agent = new Agent({
      model,
      ...(modelName === undefined ? {} : { modelName }),
      free: modelName === undefined,
      system: this.#options.system,
      background: this.#isEnabled ? "auto" : "off",
      tree: this.project.tree,
      tools: this.search.tools,
      mode: "auto-edit",
      workspace: "/workspace",
      projectRules: ({ rules, problems }) => {
        if (0 < rules.length) this.note(`The project's rules go to the model: ${rules.map(({ path }) => path).join(", ")}.`, "plain");
        for (const problem of problems) this.note(`Rules: ${problem}.`, "bad");
      },
      runCommand: async (request, signal) => {
        const limit = Math.min(request.timeLimitMs, COMMAND_TIME_MS);
        await this.project.settled();
        return runCommand({ ...request, timeLimitMs: limit }, this.project.files, signal);
      },
      ...(this.#lines === "" ? {} : { restore: this.#lines }),
      sessions: {
        append: (lines) => {
          this.#lines += lines;
          this.#changed();
        },
      },
      ledger: {
        ...this.#ledger,
        append: (lines, habits) => {
          this.#ledger = { past: this.#ledger.past + lines, habits };
        },
      },
    });
    this.#draft = -1;
    agent.onUpdate(({ items, view }) => {
      // Updates of an agent that was replaced are ignored.
      if (agent !== this.#agent || this.#isOver) return;
      this.#follow(view, items);
      for (const change of items) if (change.type !== "cleared") this.#tell(change.item, change.type === "added");
      this.#followQuestion(view);
      this.#followDraft(view);
      this.#changed();
    });
    return agent;
  }

  // ── updates of the agent ───────────────────────────────────────────────────────────────────────────────────────────

  /** Follows the suggestion and the work ahead. */
  #follow({ ahead: work, taken, suggestion }: View, changes: readonly ViewItemChange[]): void {
    const { ahead } = this;
    if (ahead && ahead.id !== work?.id) {
      this.ahead = undefined;
      const isApplied = changes.some((change) => change.type === "added" && change.item.type === "applied" && change.item.id === ahead.id);
      if (isApplied || ahead.id === taken) this.#take(ahead);
      else this.#gaveUp(ahead);
    }
    if (work && this.ahead === undefined) {
      this.givenUp = undefined;
      this.ahead = { id: work.id, prompt: undefined, watch: new Stopwatch("", true), work };
    }
    if (work && this.ahead) {
      this.ahead.work = work;
      followWork(this.ahead);
      if (suggestion) {
        this.ahead.prompt = this.ahead.watch.step.prompt = suggestion.text;
        this.ahead.watch.user("read");
      }
    }
    if (suggestion && suggestion.text !== this.#suggested) this.onSuggestion(suggestion.text);
    this.#suggested = suggestion?.text;
  }

  #gaveUp(ahead: Ahead): void {
    ahead.watch.end("given up");
    if (ahead.prompt === undefined) return;
    this.steps.push(ahead.watch.step);
    this.givenUp = ahead.prompt;
    this.onAnnounce("The work ahead was given up.");
  }

  /** Handles that the user has taken work: the turn that begins belongs to that work. */
  #take(ahead: Ahead): void {
    ahead.watch.user("wait");
    const [pressed, savedMs] = [performance.now(), ahead.watch.workMs];
    this.#turn = { prompt: ahead.prompt ?? "", watch: ahead.watch, taken: ahead, pressed, savedMs };
  }

  #tell(item: ViewItem, isNew: boolean): void {
    switch (item.type) {
      case "prompt":
        this.entries.push({ kind: "user", text: item.text });
        this.onPrompt();
        this.givenUp = undefined;
        if (!this.#turn) {
          const watch = new Stopwatch(item.text, false);
          watch.user("wait");
          watch.work("model");
          this.#turn = { prompt: item.text, watch, taken: undefined, pressed: performance.now(), savedMs: 0 };
        } else if (this.#turn.taken) {
          this.#turn.prompt = this.#turn.watch.step.prompt = item.text;
        }
        return;
      case "answer":
        this.#works("model");
        return this.#said(item.key, item.text);
      case "call":
        return this.#called(item);
      case "applied":
        return this.#applied(item);
      case "notTaken":
        return this.#notTaken(item);
      case "note":
        return this.note(["undone", "compacted", "trouble"].includes(item.code) ? item.text : `No suggestion: ${item.text}`, item.code === "trouble" ? "bad" : "plain");
      case "declined":
      case "check":
        return;
      case "end":
        if (isNew) this.#ended(item);
    }
  }

  /** Notes what the turn does now. Nothing runs while the user decides, or if the work had ended before the user took it. */
  #works(kind: "model" | "tools"): void {
    const { watch, taken } = this.#turn ?? {};
    if (!this.question && taken?.work.ending === undefined) watch?.work(kind);
  }

  get #isAhead(): boolean {
    return this.#turn?.taken !== undefined;
  }

  #said(key: number, text: string): void {
    const known = this.entries.findLast((entry) => entry.kind === "model" && entry.key === key);
    if (known?.kind === "model") known.text = text;
    else this.entries.push({ kind: "model", key, text, ahead: this.#isAhead });
  }

  #called(item: ViewItem & { type: "call" }): void {
    const { key, call, state, output, error } = item;
    let entry = this.entries.findLast((entry) => entry.kind === "call" && entry.key === key);
    if (entry?.kind !== "call") {
      entry = { kind: "call", key, call, ahead: this.#isAhead };
      this.entries.push(entry);
    }
    entry.call = call;
    const rows = itemRows(item);
    if (0 < rows.length) entry.rows = rows;
    this.#works(state === "calling" ? "tools" : "model");
    if (error !== undefined) entry.result = { error };
    else if (output !== undefined) entry.result = { output: typeof output === "string" ? output : JSON.stringify(output) };
    else if (state === "canceled") entry.result = { error: "stopped" };
    else return;
    void this.project.refresh();
  }

  #applied({ changes, merged, ending }: ViewItem & { type: "applied" }): void {
    void this.project.refresh();
    const turn = this.#turn;
    if (!turn) return;
    const { watch, savedMs, pressed } = turn;
    watch.work();
    watch.step.savedMs = savedMs;
    const tookMs = performance.now() - pressed;
    if (changes.length) this.entries.push({ kind: "applied", changes, merged, tookMs, savedMs, restMs: watch.workMs - savedMs });
    turn.taken = undefined;
    if (ending.status === "completed") {
      this.#finish("taken");
      this.onAnnounce(`Done. ${changes.length ? `${changes.length} changed` : "Nothing to change"}.`);
    } else if (ending.status !== "boundary") {
      watch.work("model");
    }
  }

  #notTaken({ why, anew }: ViewItem & { type: "notTaken" }): void {
    switch (why.type) {
      case "conflict":
        this.entries.push({ kind: "conflict", conflicts: why.conflicts });
        break;
      case "withdrawn":
        this.note(`Nothing was applied: a call that ran is not allowed any more (${why.verdict.detail}).`, "bad");
        break;
      case "discarded":
        this.note("Nothing was applied: it stopped at a call that needs your consent.", "plain");
        break;
      case "failed":
        this.note(`The work could not be handed over: ${why.error}`, "bad");
        break;
      case "interrupted":
        this.note("Stopped. Nothing was applied.", "plain");
    }
    if (!anew) return;
    // The prompt runs again, as if the user had typed it.
    const prompt = this.#turn?.prompt ?? "";
    this.#finish(why.type === "conflict" ? "conflict" : "failed");
    const watch = new Stopwatch(prompt, false);
    watch.user("wait");
    watch.work("model");
    this.#turn = { prompt, watch, taken: undefined, pressed: performance.now(), savedMs: 0 };
  }

  #ended({ ending }: ViewItem & { type: "end" }): void {
    void this.project.refresh();
    const turn = this.#turn;
    if (!turn) return;
    // If work was taken but not applied, another entry has already told the reason.
    const isTold = turn.taken !== undefined;
    const wasAhead = turn.watch.step.ahead;
    this.#finish(ending.status === "completed" ? (wasAhead ? "taken" : "done") : "failed");
    if (ending.status === "failed") {
      if (!isTold) this.#failed(turn.prompt, ending.error);
    } else if (ending.status === "exhausted") this.note(`Ended at a limit: ${ending.limit}.`, "bad");
    else if (ending.status === "aborted" && !isTold) this.note("Stopped. What was done so far stays.", "plain");
  }

  #finish(fate: Step["fate"]): void {
    const turn = this.#turn;
    this.#turn = undefined;
    if (!turn) return;
    turn.watch.end(fate);
    this.steps.push(turn.watch.step);
  }

  #followQuestion({ question }: View): void {
    if (question?.id === this.question?.about.id) return;
    const watch = this.#turn?.watch;
    if (!question) {
      this.question = undefined;
      watch?.user("wait");
      if (watch) watch.work("tools");
      return;
    }
    watch?.work();
    watch?.user("decide");
    this.question = {
      about: question,
      prompt: this.#turn?.prompt ?? "",
      askedAt: performance.now(),
      answer: (answer) => void this.#agent.answer(question.id, answer),
    };
    if (question.type === "conflicts") this.onAnnounce("Conflict: your edits are kept, nothing was applied.");
    // The question is drawn first, because it gets the focus.
    this.#changed();
    this.onQuestion();
  }

  #followDraft({ draft }: View): void {
    if (!draft || draft.revision === this.#draft) return;
    this.#draft = draft.revision;
    // A running turn means that the question's work was dropped. Otherwise the end of the turn has told everything.
    if (this.#turn) {
      this.#finish("conflict");
      this.note("Nothing was applied.", "plain");
    }
    this.onReturn(draft.text);
  }

  /** Ends the work ahead, the question and the turn of an agent that was replaced. */
  #left(): void {
    if (this.ahead) this.#gaveUp(this.ahead);
    this.ahead = this.question = undefined;
    if (this.#turn) {
      this.#finish("failed");
      this.note("Stopped. What was done so far stays.", "plain");
    }
  }

  #restored({ working, modelName }: Saved): void {
    for (const entry of this.entries) {
      if (entry.kind === "call" && !entry.result) entry.result = { error: "interrupted by the reload" };
    }
    const model =
      modelName === undefined ? "" : ` Your own model, ${modelName}, does not answer any more, for neither its address nor a key is kept: now the recording answers.`;
    const { isCopy, isResumed } = this.#options;
    const copied = isCopy ? " It is open in another tab as well, so this is a copy." : "";
    const came = `${isResumed ? "This conversation goes on." : "The page was loaded again."}${copied}`;
    this.note(`${came} Files and conversation are as they were; work that ran ahead is gone, and nothing of it was applied.${model}`, "plain");
    if (working !== undefined) {
      this.#failed(working, `The turn “${working}” was interrupted by that; what it had changed stays.`);
      this.onReturn(working);
      this.#agent.edited(working, "recalled");
    }
    if (this.#lines !== "") this.#agent.suggest();
  }

  #failed(prompt: string, text: string): void {
    this.entries.push({ kind: "failed", prompt, text });
    this.onAnnounce(text);
    this.#changed();
  }

  #changed(): void {
    this.onChange();
    if (!this.#isOver) this.#saving ??= setTimeout(() => this.saveNow(), 100);
  }
}

/** Notes what the work does, by the states of its calls. */
function followWork({ watch, work }: Ahead): void {
  const { ending, calls } = work;
  if (ending === undefined) return watch.work(calls.at(-1)?.state === "calling" ? "tools" : "model");
  // The call at a boundary is listed but does not run.
  if (ending.status === "boundary") watch.drop();
  else watch.work();
}
