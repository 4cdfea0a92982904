// The list behind an `@` that is being typed, in a field of a page.
import type { Completion, Mentionable } from "./types-agent.js";
import { visible } from "./visible.js";

export interface MentionListOptions {
  /**
   * An empty element near the field, which becomes the list. Its look is up to you: rows are `li`, the marked one has
   * `aria-selected="true"`, and what a row says about its mention is a `small`.
   */
  list: HTMLElement;
  /** What could be meant: {@link Agent.complete}, or a function that asks it elsewhere. */
  complete: (before: string) => Promise<Completion | undefined>;
}

/** A field with mentions. */
export interface MentionList {
  /** Closes the list, for example when the page sets another text. */
  close(): void;
  /** Removes everything from the field again. */
  detach(): void;
}

/**
 * Completes mentions in a field. The list opens while a mention is typed; the arrows move through it, Enter, Tab or a
 * press take the marked one, Escape closes it. What is taken is told as an `input` event. Keys that the list uses go no
 * further; while it is closed, all keys do what they always did.
 */
export function attachMentions(input: HTMLTextAreaElement | HTMLInputElement, { list, complete }: MentionListOptions): MentionList {
  list.id ||= "headstart-mentions";
  list.setAttribute("role", "listbox");
  input.setAttribute("aria-autocomplete", "list");
  input.setAttribute("aria-controls", list.id);
  let open: (Completion & { marked: number }) | undefined;
  /** The number of the last question; an answer to an earlier one comes too late. */
  let asked = 0;
  let isBegun = false;

  const close = (): void => {
    asked += 1;
    open = undefined;
    list.hidden = true;
    input.removeAttribute("aria-activedescendant");
  };
  const mark = (place: number): void => {
    if (open === undefined) return;
    open.marked = place;
    [...list.children].forEach((row, at) => row.setAttribute("aria-selected", `${at === place}`));
    list.children[place]?.scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", `${list.id}-${place}`);
  };
  const choose = (place: number): void => {
    const { at, choices } = open ?? { at: 0, choices: [] };
    const mention = choices[place]?.mention;
    if (mention === undefined) return;
    close();
    // After a folder its files may follow.
    input.setRangeText(mention.endsWith("/") ? mention : `${mention} `, at, input.selectionStart ?? input.value.length, "end");
    input.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const row = ({ mention, words }: Mentionable, place: number): HTMLElement => {
    const made = document.createElement("li");
    made.id = `${list.id}-${place}`;
    made.setAttribute("role", "option");
    const name = document.createElement("span");
    name.textContent = visible(mention);
    made.append(name);
    if (words !== undefined) {
      const small = document.createElement("small");
      small.textContent = visible(words);
      made.append(" ", small);
    }
    // This has to come before the focus leaves the field.
    made.addEventListener("mousedown", (event) => {
      event.preventDefault();
      choose(place);
    });
    return made;
  };
  const typed = async (): Promise<void> => {
    const before = input.value.slice(0, input.selectionStart ?? input.value.length);
    // A text without an `@` is reported once, so that for the next one what may be mentioned is looked up anew.
    const isOver = !before.includes("@");
    if (isOver && !isBegun) return;
    isBegun = !isOver;
    asked += 1;
    const question = asked;
    const found = await complete(before).catch(() => undefined);
    if (question !== asked) return;
    if (found === undefined || document.activeElement !== input) return close();
    open = { ...found, marked: 0 };
    list.replaceChildren(...found.choices.map(row));
    list.hidden = false;
    mark(0);
  };
  const act = (key: string): boolean => {
    if (open === undefined) return false;
    const { choices, marked } = open;
    if (key === "ArrowDown") mark((marked + 1) % choices.length);
    else if (key === "ArrowUp") mark((marked + choices.length - 1) % choices.length);
    else if (key === "Enter" || key === "Tab") choose(marked);
    else if (key === "Escape") close();
    else return false;
    return true;
  };

  const onInput = (): void => void typed();
  const onKey = (given: Event): void => {
    const event = given as KeyboardEvent;
    const hasOther = event.shiftKey || event.ctrlKey || event.altKey || event.metaKey;
    if (event.isComposing || hasOther || !act(event.key)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  close();
  input.addEventListener("input", onInput);
  input.addEventListener("keydown", onKey, { capture: true });
  input.addEventListener("blur", close);
  return {
    close,
    detach() {
      close();
      input.removeEventListener("input", onInput);
      input.removeEventListener("keydown", onKey, { capture: true });
      input.removeEventListener("blur", close);
      for (const name of ["aria-autocomplete", "aria-controls"]) input.removeAttribute(name);
    },
  };
}
