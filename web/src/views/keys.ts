import { html } from "lit-html";

/** Whether the visitor has keys, as far as the browser can tell: whoever points with a finger first has none to be told of. */
export const hasKeys = (): boolean => !matchMedia("(pointer: coarse)").matches;

/** What is said of keys to whoever has some, and else of what is tapped. The style sheet shows one of them. */
export const byInput = (keys: unknown, touch: unknown) => html`<span class="for-keys">${keys}</span><span class="for-touch">${touch}</span>`;
