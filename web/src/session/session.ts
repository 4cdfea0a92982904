import { Agent, type ChangeSet, type Completion, type Model, type View, type ViewAnswer, type ViewItem, type ViewItemChange, type ViewQuestion, itemRows } from "headstart";
import { readSession } from "headstart/sessions";
import { runCommand } from "../runner/command.js";
import { keep } from "./kept.js";
import type { Entry } from "./log.js";
import { Project } from "./project.js";
import { ProjectSearch } from "./search.js";
import { type Step, Stopwatch } from "./steps.js";
import { type Kept, type Saved, save } from "./storage.js";

/** What the user is asked. */
export interface Question {
  about: ViewQuestion;
  /** The prompt of the turn that asks. */
  prompt: string;
  /** On the clock of events. */
  askedAt: number;
  answer(answer: ViewAnswer): void;
}

export interface SessionOptions {
  model: Model;
  /** The name of the visitor's own model; the recording has none, and costs nothing. */
  modelName?: string;
  system: string;
  files: Record<string, string>;
  saved?: Saved | undefined;
  /** Whether the visitor has gone back to what was saved, and not only loaded the page again. */
  isResumed?: boolean;
}

/** The work behind a suggestion, with its times. */
export interface Ahead {
  readonly id: string;
  /** Known once it was on screen. */
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

/** The conversation of the page: what the agent tells becomes lines and times here, and both survive a reload. It knows nothing of the screen. */
export class Session {
  readonly project: Project;
  readonly search: ProjectSearch;
  readonly entries: Entry[];
  readonly steps: Step[];
  ahead: Ahead | undefined;
  /** The prompt of work that was given up last, until there is new work. */
  givenUp: string | undefined;
  question: Question | undefined;

  onChange: () => void = () => {};
  onAnnounce: (text: string) => void = () => {};
  onInsert: (text: string) => void = () => {};
  /** Prompts that came to nothing are to stand in the line again, before what is typed there. */
  onReturn: (prompt: string) => void = () => {};
  onQuestion: () => void = () => {};
  /** A turn begins: what was changed before is read. */
  onPrompt: () => void = () => {};
  onSuggestion: (text: string) => void = () => {};

  readonly #options: SessionOptions;
  #saved: Saved | undefined;
  #agent: Agent;
  #modelName: string | undefined;
  /** The lines of the conversation, as the agent gave them. */
  #lines: string;
  /** What the agent has learned of costs and of the visitor. */
  #ledger = { past: "", habits: undefined as string | undefined };
  /** The turn that goes on: its prompt, its times, and the work that was taken for it. */
  #turn: { prompt: string; watch: Stopwatch; taken: Ahead | undefined; pressed: number; savedMs: number } | undefined;
  #suggested: string | undefined;
  #draft = -1;
  #saving: ReturnType<typeof setTimeout> | undefined;
  #kept: Kept = "kept";
  /** Until another model answers. */
  #changing: Promise<unknown> | undefined;
  #isEnabled = true;
  #isOver = false;

  /** Throws where it cannot go on from what was saved. */
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

  /** Tells what a reload has come to, and looks ahead again. */
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

  /** The suggestion on screen, and what of it is not typed yet. */
  get ghost(): { suggestion: string; rest: string } | undefined {
    const { suggestion } = this.#view;
    return suggestion && { suggestion: suggestion.text, rest: suggestion.rest ?? "" };
  }

  /** Prompts that wait. */
  get queued(): readonly string[] {
    return this.#view.queued;
  }

  /** What the work ahead would change. */
  staged(): ChangeSet | undefined {
    return this.ahead && this.#agent.changes(this.ahead.id);
  }

  /** Whether nothing was asked yet. */
  get isNew(): boolean {
    return !this.entries.some(({ kind }) => kind === "user");
  }

  /** Names it among the conversations that are kept, once something was said. */
  get id(): string | undefined {
    return this.#lines === "" ? undefined : readSession(this.#lines).id;
  }

  /** Its user calls it so. */
  rename(title: string): void {
    this.#agent.setTitle(title);
  }

  /** Whether the recording answers. */
  get isRecorded(): boolean {
    return this.#modelName === undefined;
  }

  /**
   * Another model answers as soon as what it needs is there; a prompt that is sent meanwhile waits for that. The turn that goes on ends, and
   * what the former model does ahead is given up.
   */
  async useModel(model: Model, modelName: string | undefined, ready: Promise<unknown>): Promise<void> {
    this.#changing = ready;
    await ready;
    if (this.#changing !== ready || this.#isOver) return;
    this.#changing = undefined;
    this.#modelName = modelName;
    // The tools that are offered may be others as well, so the conversation goes on with another agent.
    void this.#agent.close();
    this.#left();
    this.#agent = this.#makeAgent(model);
    this.#agent.suggest();
    this.#changed();
  }

  /** The one switch for suggestions and everything that they run. */
  enable(enabled: boolean): void {
    this.#isEnabled = enabled;
    this.#agent.setBackground(enabled ? "auto" : "off");
    if (enabled) this.#agent.suggest();
    this.#changed();
  }

  /** What could be meant by the mention at whose end this text stops. */
  complete(before: string): Promise<Completion | undefined> {
    return this.#agent.complete(before);
  }

  /** The input line holds another text. */
  edited(text: string): void {
    this.#agent.edited(text);
    this.#changed();
  }

  dismiss(): void {
    this.#agent.dismiss();
    this.#changed();
  }

  /** Tab, or a button: takes the suggestion, and with it the work. Says whether it did. */
  accept(): boolean {
    const { suggestion } = this.#view;
    return suggestion !== undefined && this.#agent.take(suggestion.text) === undefined;
  }

  /** Right: puts the suggestion into the line, as if it had been typed, to be edited or sent. */
  insert(): void {
    const { suggestion } = this.#view;
    if (!suggestion) return;
    this.onInsert(suggestion.text);
    this.edited(suggestion.text);
  }

  /** Sends a prompt. While something goes on it waits. */
  send(text: string): void {
    if (this.#changing) return void this.#changing.then(() => this.send(text));
    this.#agent.submit(text);
    this.#changed();
  }

  /** What runs without a question because the visitor said so to one, until the page is loaded again or another model answers. */
  get allowed(): readonly string[] {
    return this.#agent.allowed;
  }

  /** Such calls are asked about again. */
  askAgain(allowed: string): void {
    this.#agent.askAgain(allowed);
    this.onAnnounce("You are asked again.");
    this.#changed();
  }

  /** Ends what the user waits for. */
  stop(): void {
    this.#agent.interrupt();
  }

  /** What survives a reload, now. */
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
    this.search.dispose();
    this.project.dispose();
  }

  note(text: string, tone: "plain" | "bad"): void {
    this.entries.push({ kind: "note", text, tone });
    this.onAnnounce(text);
    this.#changed();
  }

  /** A part of the page that is fetched late did not come. */
  unfetched(part: string): void {
    this.note(`The ${part} could not be fetched. Load the page again once there is a connection.`, "bad");
  }

  #makeAgent(model: Model): Agent {
    const modelName = this.#modelName;
    // Keys are an agent's own.
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
      // One that was replaced has nothing to say any more.
      if (agent !== this.#agent || this.#isOver) return;
      this.#follow(view, items);
      for (const change of items) if (change.type !== "cleared") this.#tell(change.item, change.type === "added");
      this.#followQuestion(view);
      this.#followDraft(view);
      this.#changed();
    });
    return agent;
  }

  // ── what the agent tells ───────────────────────────────────────────────────────────────────────────────────────────

  /** Suggestion and work ahead. */
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

  /** The user has taken work: the turn that begins is its. */
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

  /** What the turn does now. While the user decides nothing works, and neither does what had ended before it was taken. */
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
    // The prompt runs as if it had been typed.
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
    // Of work that was not taken something else is told.
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
    // It is drawn first, for it gets the focus.
    this.#changed();
    this.onQuestion();
  }

  #followDraft({ draft }: View): void {
    if (!draft || draft.revision === this.#draft) return;
    this.#draft = draft.revision;
    // What was asked about is dropped; else the end of the turn has told what there is to tell.
    if (this.#turn) {
      this.#finish("conflict");
      this.note("Nothing was applied.", "plain");
    }
    this.onReturn(draft.text);
  }

  /** What goes on is nobody's any more. */
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
    const came = this.#options.isResumed ? "This conversation goes on." : "The page was loaded again.";
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

/** What the work does, by its calls. */
function followWork({ watch, work }: Ahead): void {
  const { ending, calls } = work;
  if (ending === undefined) return watch.work(calls.at(-1)?.state === "calling" ? "tools" : "model");
  // The call at a boundary is told and does not run.
  if (ending.status === "boundary") watch.drop();
  else watch.work();
}
