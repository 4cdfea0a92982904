type Child = Node | string | undefined | false;

/** An element. Text is always text: nothing that a model says is read as HTML. */
export function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Record<string, string | boolean | (() => void) | undefined> = {},
  ...children: Child[]
): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(key, value);
    else if (value === true) made.setAttribute(key, "");
    else if (typeof value === "string") made.setAttribute(key, value);
  }
  made.append(...children.filter((child): child is Node | string => child !== undefined && child !== false));
  return made;
}

export function byId<Type extends HTMLElement = HTMLElement>(id: string): Type {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no #${id}`);
  return found as Type;
}

/** Paragraphs, fenced and inline code, and list items of a model's text. */
export function prose(text: string): Node[] {
  const nodes: Node[] = [];
  for (const [at, block] of text.split(/^```.*$/m).entries()) {
    if (at % 2 === 1) {
      nodes.push(element("pre", { tabindex: "0" }, element("code", {}, block.replace(/^\n|\n$/g, ""))));
      continue;
    }
    for (const paragraph of block.split(/\n{2,}/)) {
      if (paragraph.trim() !== "") nodes.push(element("p", {}, ...inline(paragraph.trim())));
    }
  }
  return nodes;
}

function inline(text: string): (Node | string)[] {
  return text.split(/`([^`\n]+)`/).map((part, at) => (at % 2 === 1 ? element("code", {}, part) : part));
}
