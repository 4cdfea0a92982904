import { type EffectKind, type Verdict, visibleLines } from "headstart";
import { html } from "lit-html";

/** What each kind of effect means, in words for users. */
export const KINDS: Readonly<Record<EffectKind, { name: string; meaning: string }>> = {
  readOnly: { name: "reads", meaning: "reads in the project" },
  writesWorkspace: { name: "writes", meaning: "writes in the project" },
  writesOutside: { name: "writes outside", meaning: "writes outside the project" },
  readsOutside: { name: "reads outside", meaning: "reads outside the project" },
  network: { name: "network", meaning: "uses the network" },
  executes: { name: "executes", meaning: "runs a program that can do anything" },
  environment: { name: "environment", meaning: "depends on or changes the environment" },
  nonTerminating: { name: "does not end", meaning: "may never end" },
  unknown: { name: "not understood", meaning: "the gate does not understand it, so it asks" },
};

const DECISIONS: Readonly<Record<Verdict["decision"], { name: string; meaning: string }>> = {
  allow: { name: "Allow", meaning: "may run ahead, unasked" },
  redirect: { name: "Redirect", meaning: "runs ahead, into the staged copy" },
  boundary: { name: "Boundary", meaning: "work ahead stops here; you are asked" },
};

export const decisionBadge = ({ decision }: Pick<Verdict, "decision">) =>
  html`<span class="badge ${decision}">${DECISIONS[decision].name}</span> <span class="meaning">${DECISIONS[decision].meaning}</span>`;

export interface CommandPart {
  from: number;
  to: number;
  kind: EffectKind;
  detail: string;
}

/**
 * Splits the parts into pieces that do not overlap. If several parts cover a place, the shortest is kept, because it
 * says most.
 */
export function flat(parts: readonly CommandPart[], length: number): CommandPart[] {
  const owners: (CommandPart | undefined)[] = new Array<CommandPart | undefined>(length).fill(undefined);
  const widestFirst = [...parts].sort((left, right) => right.to - right.from - (left.to - left.from));
  for (const part of widestFirst) owners.fill(part, part.from, Math.min(part.to, length));
  const pieces: CommandPart[] = [];
  let start = 0;
  for (let index = 1; index <= length; index += 1) {
    if (index < length && owners[index] === owners[start]) continue;
    const owner = owners[start];
    if (owner) pieces.push({ ...owner, from: start, to: index });
    start = index;
  }
  return pieces;
}

/** A command, in which each part is marked with its effect. */
export function markedCommand(command: string, parts: readonly CommandPart[]) {
  const pieces = [];
  let at = 0;
  for (const part of flat(parts, command.length)) {
    pieces.push(visibleLines(command.slice(at, part.from)));
    pieces.push(html`<span class="effect ${part.kind}" title="${KINDS[part.kind].name}: ${part.detail}">${visibleLines(command.slice(part.from, part.to))}</span>`);
    at = part.to;
  }
  return html`${pieces}${visibleLines(command.slice(at))}`;
}
