import { type Completion, attachMentions } from "headstart/attach";
import type { FromPage, Item, ToPage, ViewState } from "../protocol.js";
import { byId, element } from "./dom.js";
import { aheadElement, itemElement, noteElement, questionElement } from "./items.js";

declare function acquireVsCodeApi(): {
  postMessage(message: FromPage): void;
  getState(): { draft?: string } | undefined;
  setState(state: { draft: string }): void;
};

const vscode = acquireVsCodeApi();
const post = (message: FromPage): void => vscode.postMessage(message);

const log = byId("log");
const items = byId("items");
const welcome = byId("welcome");
const aheadBox = byId("ahead");
const questionBox = byId("question");
const ghost = byId("ghost");
const input = byId<HTMLTextAreaElement>("input");
const hint = byId("hint");
const send = byId<HTMLButtonElement>("send");
const live = byId("live");
const model = byId<HTMLButtonElement>("model");
const mode = byId<HTMLButtonElement>("mode");

const shown = new Map<string, HTMLElement>();
let state: ViewState | undefined;
let askedBefore: string | undefined;

/** The callbacks that wait for the completions of a mention, by the number of the question. */
const completing = new Map<number, (found: Completion | undefined) => void>();
let questions = 0;
const mentions = attachMentions(input, {
  list: byId("mentions"),
  complete: (before) =>
    new Promise((resolve) => {
      completing.set((questions += 1), resolve);
      post({ type: "complete", id: questions, before });
    }),
});

window.addEventListener("message", ({ data }: MessageEvent<ToPage>) => {
  switch (data.type) {
    case "state":
      showItems(data.items, data.all);
      return showState(data.state);
    case "insert":
      setText(data.text);
      input.focus();
      return;
    case "mentions":
      completing.get(data.id)?.(data.found);
      completing.delete(data.id);
      return;
    case "focus":
      return (state?.question ? questionBox.querySelector<HTMLElement>("[data-answer=no]") : input)?.focus();
    case "announce":
      return announce(data.text);
  }
});

/** Whether the log scrolls to its end when it grows or its box shrinks. It does if the reader is at the end. */
let follows = true;
log.addEventListener("scroll", () => (follows = log.scrollHeight - log.scrollTop - log.clientHeight < 40));
const follow = (): void => {
  if (follows) log.scrollTop = log.scrollHeight;
};
const sized = new ResizeObserver(follow);
for (const one of [log, items]) sized.observe(one);

function showItems(changed: Item[], all: boolean): void {
  if (all) {
    items.replaceChildren();
    shown.clear();
    prompts.length = 0;
  }
  for (const item of changed) {
    if (item.kind === "user" && !shown.has(item.key) && prompts.at(-1) !== item.text) prompts.push(item.text);
    const old = shown.get(item.key);
    const made = itemElement(item, post, old);
    if (old === undefined) items.append(made);
    else if (old !== made) old.replaceWith(made);
    shown.set(item.key, made);
  }
  follow();
}

function showState(now: ViewState): void {
  const before = state;
  state = now;
  welcome.hidden = 0 < shown.size;
  const { setup, about, commands } = now;
  if (!welcome.hidden && !(before && same([setup, about, commands], [before.setup, before.about, before.commands]))) {
    welcome.replaceChildren(
      element("h2", {}, "What shall be done?"),
      element("p", {}, "While you read the answer, headstart suggests your next prompt and runs it ahead: staged, nothing in the project changes."),
      element("p", {}, element("kbd", {}, "Tab"), " accepts it with its work, ", element("kbd", {}, "→"), " puts it into the prompt, ", element("kbd", {}, "Esc"), " dismisses it."),
      ...(about === undefined ? [] : [noteElement("info", about, undefined, post)]),
      ...(commands === "" ? [] : [element("p", {}, commands)]),
      ...(setup ? [noteElement("warning", setup.text, setup.actions, post)] : []),
    );
  }
  showGhost();
  const { ahead, question, busy } = now;
  aheadBox.hidden = ahead === undefined;
  if (ahead && !same(ahead, before?.ahead)) keepFocus(aheadBox, () => aheadBox.replaceChildren(...aheadElement(ahead, post)));
  questionBox.hidden = question === undefined;
  if (question && question.id !== askedBefore) {
    questionBox.replaceChildren(...questionElement(question, post));
    askedAt = performance.now();
    // The harmless answer gets the focus, so that a key that was meant for the prompt does not run anything.
    if (document.hasFocus() && input.value === "") questionBox.querySelector<HTMLElement>("[data-answer=no]")?.focus();
    follows = true;
    follow();
  }
  if (question === undefined && askedBefore !== undefined && document.hasFocus()) input.focus();
  askedBefore = question?.id;
  setWait(now.waitsMs);
  model.textContent = now.model;
  mode.textContent = MODES[now.mode] ?? now.mode;
  send.textContent = busy === "idle" ? "Send" : "Queue";
  document.body.dataset.busy = busy;
  input.placeholder = now.ghost ? "" : busy === "idle" ? "What shall be done?" : "What next?";
}

/** When the provider is asked again. The next variable is the timer that counts the seconds down. */
let waitedFor: number | undefined;
let counting: ReturnType<typeof setInterval> | undefined;

function setWait(ms: number | undefined): void {
  clearInterval(counting);
  waitedFor = ms === undefined ? undefined : performance.now() + ms;
  if (ms !== undefined) counting = setInterval(showGhost, 1_000);
  showGhost();
}

function hintFor({ busy, ghost, question, queued, status, tab }: ViewState): string {
  if (0 < queued.length) return `Next: ${queued.join("; ")}`;
  if (question) return "Your answer is waited for. Esc stops.";
  if (waitedFor !== undefined) return `The provider is busy: asked again in ${Math.max(1, Math.ceil((waitedFor - performance.now()) / 1_000))} s. Esc stops.`;
  if (busy === "turn") return "Working. Esc stops.";
  if (busy === "accept") return "Accepting: the work ahead is not done yet. Esc stops.";
  if (ghost) {
    const more = ghost.place ? ` · Alt+] next (${ghost.place.number}/${ghost.place.of})` : "";
    return `${tab === "insert" ? "Tab edit" : "Tab accept · → edit"} · Esc dismiss${more}`;
  }
  return status;
}

/** Shows the rest of the suggestion as ghost text behind the typed text. */
function showGhost(): void {
  const rest = ghostRest();
  ghost.hidden = rest === undefined;
  if (rest !== undefined) {
    ghost.replaceChildren(element("span", { class: "typed" }, input.value), rest, element("kbd", {}, "Tab"));
  }
  if (state) hint.textContent = hintFor(state);
  input.style.height = "auto";
  const height = Math.max(input.scrollHeight, ghost.hidden ? 0 : ghost.scrollHeight);
  input.style.height = `${Math.min(height, 200)}px`;
}

function ghostRest(): string | undefined {
  const text = state?.ghost?.text;
  if (text === undefined || state?.busy !== "idle") return undefined;
  // The page compares by itself, because it knows what was typed before the extension does. It ignores case, as the
  // controller of the extension does.
  const typed = input.value.length;
  const goesAlong = typed < text.length && text.slice(0, typed).toLowerCase() === input.value.toLowerCase();
  return goesAlong ? text.slice(typed) : undefined;
}

/** The modes as the setting names them, each in one word that fits beside the prompt. */
const MODES: Record<string, string> = { plan: "Plan", chat: "Chat", default: "Ask", "auto-edit": "Edit", yolo: "Yolo" };

/** The prompts of the conversation, oldest first. The arrow keys step through them, and back to the line as it was. */
const prompts: string[] = [];
let recalled: { place: number; draft: string } | undefined;

/** Puts an older prompt, or the line as it was, into the line. Returns whether there was one. */
function recall(step: -1 | 1): boolean {
  if (recalled === undefined && (step === 1 || prompts.length === 0)) return false;
  const { place, draft } = recalled ?? { place: prompts.length, draft: input.value };
  const next = Math.max(0, place + step);
  recalled = next < prompts.length ? { place: next, draft } : undefined;
  setText(prompts[next] ?? draft);
  post({ type: "edited", text: input.value, recalled: recalled !== undefined });
  return true;
}

function setText(text: string): void {
  mentions.close();
  input.value = text;
  input.setSelectionRange(text.length, text.length);
  vscode.setState({ draft: text });
  showGhost();
}

function edited(): void {
  recalled = undefined;
  vscode.setState({ draft: input.value });
  showGhost();
  post({ type: "edited", text: input.value });
}

function submit(): void {
  const text = input.value;
  if (text.trim() === "") return;
  recalled = undefined;
  setText("");
  post({ type: "submit", text });
}

input.addEventListener("input", edited);
input.addEventListener("keydown", (event) => {
  const plain = !event.shiftKey && !event.ctrlKey && !event.altKey && !event.metaKey;
  if (event.isComposing || !plain) return;
  const taken = (): void => {
    event.preventDefault();
    // The event is stopped, because VS Code gets every key that leaves the page, and would run the command a second
    // time.
    event.stopPropagation();
  };
  if (event.key === "Enter") {
    taken();
    submit();
  } else if (event.key === "Tab" && isLeftOver(event)) {
    taken();
  } else if (event.key === "Tab" && ghostRest() !== undefined) {
    taken();
    [lastAccept, tabIsHeld] = [event.timeStamp, true];
    post({ type: "accept", method: "tab" });
  } else if (event.key === "ArrowUp" && isInFirstLine() && recall(-1)) {
    taken();
  } else if (event.key === "ArrowDown" && recalled && recall(1)) {
    taken();
  } else if (event.key === "ArrowRight" && atEnd() && ghostRest() !== undefined) {
    taken();
    post({ type: "accept", method: "right" });
  }
});

/** Two presses of Tab within this time count as one. */
const DOUBLE_PRESS_MS = 400;
let lastAccept = -Infinity;
let tabIsHeld = false;

/**
 * Whether this Tab is only a remainder of one that accepted: it is still held down, was pressed twice, or the work is
 * being handed over. Without this check it would move the focus away from the line in which the next suggestion shows.
 * If nothing was accepted, Tab moves the focus as usual.
 */
function isLeftOver(event: KeyboardEvent): boolean {
  if (event.repeat) return tabIsHeld || ghostRest() !== undefined;
  tabIsHeld = false;
  return event.timeStamp - lastAccept < DOUBLE_PRESS_MS || state?.busy === "accept";
}

function isInFirstLine(): boolean {
  return !input.value.slice(0, input.selectionStart).includes("\n");
}

function atEnd(): boolean {
  return input.selectionStart === input.value.length && input.selectionEnd === input.value.length;
}

/**
 * Keys within this time after a question came up are no answer, because they were pressed before the user could read
 * it.
 */
const DEAF_MS = 400;
let askedAt = -Infinity;

questionBox.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  const isEarly = event.timeStamp - askedAt < DEAF_MS;
  if (isEarly && ["Enter", " "].includes(event.key)) return event.preventDefault();
  const button = questionBox.querySelector<HTMLElement>(`[aria-keyshortcuts="${CSS.escape(event.key.toUpperCase())}"]`);
  if (!button) return;
  event.preventDefault();
  event.stopPropagation();
  if (!isEarly) button.click();
});

for (const [button, command] of [[model, "headstart.pickModel"], [mode, "headstart.pickMode"]] as const) {
  button.addEventListener("click", () => post({ type: "act", action: { title: "", action: "command", command } }));
}
byId("form").addEventListener("submit", (event) => {
  event.preventDefault();
  submit();
});
// VS Code's own context key for this, `focusedView`, is lost when the page is loaded after its view got the focus, as it
// is in the first session of a window.
const tellFocus = (): void => post({ type: "focused", focused: document.hasFocus() });
for (const change of ["focus", "blur"]) window.addEventListener(change, tellFocus);
window.addEventListener("focus", () => {
  if (document.activeElement === document.body || document.activeElement === null) input.focus();
});

function announce(text: string): void {
  live.textContent = "";
  setTimeout(() => (live.textContent = text), 50);
}

/** Renders a box again. If a button had the focus and is there again, it keeps the focus. */
function keepFocus(box: HTMLElement, render: () => void): void {
  const focused = box.contains(document.activeElement) ? document.activeElement?.getAttribute("title") : undefined;
  render();
  if (focused) [...box.querySelectorAll<HTMLElement>("[title]")].find((one) => one.title === focused)?.focus();
}

function same(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

const draft = vscode.getState()?.draft ?? "";
setText(draft);
post({ type: "ready", draft });
tellFocus();
