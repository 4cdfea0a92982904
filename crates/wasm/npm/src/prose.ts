// The answer of a model, which is Markdown, as it comes: what stands already is neither read nor built anew.

/** A token of `marked`, as far as it is needed here. */
export interface ProseToken {
  type: string;
  raw: string;
  text?: string;
  tokens?: ProseToken[] | undefined;
  depth?: number;
  lang?: string | undefined;
  ordered?: boolean;
  start?: number | "";
  task?: boolean;
  checked?: boolean | undefined;
  items?: ProseToken[];
  header?: { tokens: ProseToken[] }[];
  rows?: { tokens: ProseToken[] }[][];
  href?: string;
}

export interface ProseOptions {
  /** Reads Markdown: `lexer` of `marked`. */
  lex: (text: string) => ProseToken[] & { links?: object };
  /** An element for what is written as code, or as the address of a link, if it is more than that: a path, for example. */
  place?: ((text: string) => HTMLElement | undefined) | undefined;
  /** What stands over a block of code. It is asked for the code when it is used, because the code may still grow. */
  over?: ((fence: string, code: () => string) => Node[]) | undefined;
}

/** After a drawing that took longer than this there is a pause, so that it cannot fill the time. */
const QUICK_MS = 2;
/** How often the time of a drawing fits into that pause. */
const REST = 4;

/**
 * Shows Markdown in an element and follows it as it grows. HTML stays plain text, no picture is fetched, and a link shows
 * where it leads.
 *
 * ```js
 * const prose = new Prose(document.querySelector("article"), { lex: lexer });
 * for await (const piece of answer) prose.text += piece;
 * ```
 */
export class Prose {
  readonly #box: HTMLElement;
  readonly #options: ProseOptions;
  #text = "";
  /** How much of the text is drawn for good: further text cannot change it. */
  #settled = 0;
  /** The nodes of the rest. */
  #rest: ChildNode[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Nodes that were asked for: what they do may depend on their text, so they are replaced and not changed. */
  readonly #asked = new WeakSet<Node>();

  constructor(box: HTMLElement, options: ProseOptions) {
    this.#box = box;
    this.#options = options;
  }

  get text(): string {
    return this.#text;
  }

  set text(text: string) {
    const now = text.replaceAll(/\r\n?/g, "\n");
    if (now === this.#text) return;
    if (!now.startsWith(this.#text)) this.#begin();
    this.#text = now;
    if (this.#timer === undefined) this.#draw();
  }

  #begin(): void {
    this.#settled = 0;
    this.#rest = [];
    this.#box.replaceChildren();
  }

  #draw(): void {
    const begun = performance.now();
    this.#read();
    const took = performance.now() - begun;
    if (took < QUICK_MS) return;
    const drawn = this.#text;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (drawn !== this.#text) this.#draw();
    }, took * REST);
  }

  #read(): void {
    const tokens = this.#options.lex(this.#text.slice(this.#settled));
    // The name of a link has its meaning in the whole text, so nothing is settled then.
    const hasNames = 0 < Object.keys(tokens.links ?? {}).length;
    if (hasNames && 0 < this.#settled) {
      this.#begin();
      return this.#read();
    }
    const settled = hasNames ? 0 : this.#settledIn(tokens);
    const nodes = [tokens.slice(0, settled), tokens.slice(settled)].map((some) => this.#blocks(some));
    const [stay = [], rest = []] = nodes;
    this.#rest = patch(this.#box, this.#rest, [...stay, ...rest] as ChildNode[], this.#asked).slice(stay.length);
    this.#settled += tokens.slice(0, settled).reduce((sum, { raw }) => sum + raw.length, 0);
  }

  /**
   * How many of the blocks stay as they are whatever follows: those before the last blank line with a whole line behind
   * it. A line that is not whole may turn out to belong to the block before it, and one that underlines a heading makes
   * all lines before it into that, up to a blank one.
   */
  #settledIn(tokens: readonly ProseToken[]): number {
    const rest = this.#text.slice(this.#settled);
    const whole = rest.lastIndexOf("\n");
    let [at, settled] = [0, 0];
    for (const [place, { type, raw }] of tokens.entries()) {
      if (type !== "space" && at <= whole && /\n[ \t]*\n$/.test(rest.slice(Math.max(0, at - 40), at))) settled = place;
      at += raw.length;
    }
    // Where the lexer has left something out, places are not known.
    return at === rest.length ? settled : 0;
  }

  #blocks(tokens: readonly ProseToken[]): Node[] {
    return tokens.flatMap((token) => this.#block(token));
  }

  #block(token: ProseToken): Node[] {
    const { tokens = [], text = "" } = token;
    switch (token.type) {
      case "space":
      case "def":
        return [];
      case "code":
        return [this.#code(text, (token.lang ?? "").trim())];
      case "heading":
        // Headings begin at level 4, because a conversation has headings of its own above them.
        return [element(`h${Math.min(6, (token.depth ?? 1) + 3)}`, this.#inline(tokens))];
      case "blockquote":
        return [element("blockquote", this.#blocks(tokens))];
      case "hr":
        return [element("hr")];
      case "list":
        return [this.#list(token)];
      case "table":
        return [this.#table(token)];
      case "paragraph":
        return [element("p", this.#inline(tokens))];
      case "text":
        return this.#inline(token.tokens ?? [token]);
      default:
        return [element("p", [document.createTextNode(token.raw.trim())])];
    }
  }

  #list({ ordered, start, items = [] }: ProseToken): HTMLElement {
    const rows = items.map(({ task, checked, tokens = [] }) => element("li", [...(task ? [document.createTextNode(checked ? "☑ " : "☐ ")] : []), ...this.#blocks(tokens)]));
    return ordered ? element("ol", rows, { start: `${start || 1}` }) : element("ul", rows);
  }

  #table({ header = [], rows = [] }: ProseToken): HTMLElement {
    const row = (tag: string, cells: readonly { tokens: ProseToken[] }[]): HTMLElement => element("tr", cells.map(({ tokens }) => element(tag, this.#inline(tokens))));
    const parts = [element("thead", [row("th", header)]), element("tbody", rows.map((cells) => row("td", cells)))];
    return element("div", [element("table", parts)], { class: "table", tabindex: "0" });
  }

  #code(text: string, fence: string): HTMLElement {
    const code = element("code", [document.createTextNode(text)]);
    const caption = element("figcaption", [element("span", [document.createTextNode(fence)])]);
    const over = this.#ask(this.#options.over?.(fence, () => caption.parentElement?.querySelector("code")?.textContent ?? ""));
    caption.append(...over);
    if (0 < over.length) this.#asked.add(caption);
    return element("figure", [...(fence === "" && over.length === 0 ? [] : [caption]), element("pre", [code], { tabindex: "0" })], { class: "code" });
  }

  #ask(nodes: Node[] = []): Node[] {
    for (const node of nodes) this.#asked.add(node);
    return nodes;
  }

  #place(text: string): Node | undefined {
    const place = this.#options.place?.(text);
    return place && this.#ask([place])[0];
  }

  #inline(tokens: readonly ProseToken[]): Node[] {
    return joined(tokens.flatMap((token): (Node | string)[] => this.#words(token)));
  }

  #words(token: ProseToken): (Node | string)[] {
    const { text = "", href = "", tokens } = token;
    switch (token.type) {
      case "text":
        return tokens === undefined ? [text] : this.#inline(tokens);
      case "escape":
        return [text];
      case "codespan":
        return [element("code", [this.#place(text) ?? document.createTextNode(text)])];
      case "strong":
      case "em":
      case "del":
        return [element(token.type, this.#inline(tokens ?? []))];
      case "br":
        return [element("br")];
      case "link": {
        const words = text === href ? [] : [...this.#inline(tokens ?? []), " "];
        // Another kind of address could be a command of an editor.
        const address = /^https?:/i.test(href) ? element("a", [document.createTextNode(href)], { href, title: href, rel: "noreferrer" }) : href;
        return [...words, this.#place(href) ?? address];
      }
      case "image":
        return [text === "" ? href : `${text} (${href})`];
      default:
        return [token.raw];
    }
  }
}

/** The nodes, with texts that follow each other as one, as a document has them. */
function joined(parts: readonly (Node | string)[]): Node[] {
  const nodes: Node[] = [];
  for (const part of parts) {
    const last = nodes.at(-1);
    const text = typeof part === "string" ? part : part instanceof Text ? part.data : undefined;
    if (text === undefined) nodes.push(part as Node);
    else if (last instanceof Text) last.data += text;
    else nodes.push(document.createTextNode(text));
  }
  return nodes;
}

function element(name: string, children: readonly Node[] = [], attributes: Record<string, string> = {}): HTMLElement {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  for (const child of children) made.append(child);
  return made;
}

/** Makes the last children of an element into others and keeps what is the same. Returns what is there then. */
function patch(box: Node, before: readonly ChildNode[], after: readonly ChildNode[], whole: WeakSet<Node>): ChildNode[] {
  const now = after.map((node, place) => {
    const old = before[place];
    if (old === undefined) return box.appendChild(node);
    if (become(old, node, whole)) return old;
    old.replaceWith(node);
    return node;
  });
  for (const node of before.slice(after.length)) node.remove();
  return now;
}

/** Makes a node into the other one, if that takes less than to replace it. */
function become(old: ChildNode, node: ChildNode, whole: WeakSet<Node>): boolean {
  if (whole.has(node)) return old.isEqualNode(node);
  if (old instanceof Text && node instanceof Text) {
    if (node.data.startsWith(old.data)) {
      if (old.length < node.length) old.appendData(node.data.slice(old.length));
    } else {
      old.data = node.data;
    }
    return true;
  }
  if (!(old instanceof Element && node instanceof Element) || whole.has(old) || !old.cloneNode(false).isEqualNode(node.cloneNode(false))) return false;
  patch(old, [...old.childNodes], [...node.childNodes], whole);
  return true;
}
