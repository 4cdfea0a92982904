import type { ItemRow } from "headstart";
import { html, nothing } from "lit-html";

/** What a row needs in order to lead to a place in the project. */
export interface Places {
  /** Whether the project has this file now. Work ahead also finds files that are only staged. */
  has(path: string): boolean;
  /** Opens a file of the project at a line. */
  openAt(path: string, line: number): void;
}

/** How many rows are in sight; the others are folded. */
const MOST_ROWS = 4;

/** The list of what a call found, without the items that the line of the call already names. */
export function itemList(rows: readonly ItemRow[], places: Places) {
  const listed = rows.filter(({ isNamed }) => !isNamed);
  if (listed.length === 0) return nothing;
  const [first, more] = [listed.slice(0, MOST_ROWS), listed.slice(MOST_ROWS)];
  return html`<div class="items">
    <ul>
      ${first.map((row) => itemRow(row, places))}
    </ul>
    ${more.length === 0
      ? nothing
      : html`<details>
          <summary>${more.length} more</summary>
          <ul>
            ${more.map((row) => itemRow(row, places))}
          </ul>
        </details>`}
  </div>`;
}

/** A button that opens the file which the call itself is about. */
export function ownPlace(rows: readonly ItemRow[], places: Places) {
  const row = rows.find(({ isNamed, place }) => isNamed && place);
  return row?.place && places.has(row.place.path) ? html`<p class="own">${opener(row, row.place, places, `Open ${row.name}`)}</p>` : nothing;
}

function itemRow(row: ItemRow, places: Places) {
  const { name, description, status, place } = row;
  // Texts are isolated, because a name that is written from right to left must not reorder the text beside it.
  return html`<li>
    ${place && places.has(place.path) ? opener(row, place, places, name) : html`<bdi class="name">${name}</bdi>`}
    ${description === undefined ? nothing : html`<bdi class="about">${description}</bdi>`}
    ${status === undefined ? nothing : html`<span class="state">${status}</span>`}
  </li>`;
}

function opener({ description }: ItemRow, { path, lines }: NonNullable<ItemRow["place"]>, places: Places, text: string) {
  return html`<button class="link name" title=${description ?? nothing} @click=${() => places.openAt(path, lines?.[0] ?? 1)}><bdi>${text}</bdi></button>`;
}
