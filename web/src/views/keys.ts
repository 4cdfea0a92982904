import { html } from "lit-html";

/**
 * Whether the visitor has a keyboard, as far as the browser can tell. With a coarse pointer the page does not mention
 * keys.
 */
export const hasKeys = (): boolean => !matchMedia("(pointer: coarse)").matches;

/**
 * Holds one text for visitors with a keyboard and one for visitors with a touch screen. The style sheet shows one of
 * the two.
 */
export const byInput = (keys: unknown, touch: unknown) => html`<span class="for-keys">${keys}</span><span class="for-touch">${touch}</span>`;
