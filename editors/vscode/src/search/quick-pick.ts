import * as vscode from "vscode";
import type { ChangeSet } from "headstart";
import type { SearchHit } from "headstart/code-index";
import type { ProjectSearch } from "./project-search.js";

const MOST_HITS = 40;
/** How many milliseconds after the last letter the search begins. */
const PAUSE_MS = 150;
/**
 * The longest query in characters. Only the beginning of a longer text is kept, because it was pasted by mistake and
 * the list would be compared with all of it.
 */
const LONGEST_QUERY = 1_000;

/** The changes that are staged now, and how they are shown. */
export interface Staged {
  changes: ChangeSet;
  open(path: string): Promise<void>;
}

type Item = vscode.QuickPickItem & { hit?: SearchHit };

/** Asks for words, and opens the place that is picked. */
export function searchProject(search: ProjectSearch, root: vscode.Uri, staged: () => Staged | undefined): void {
  const pick = vscode.window.createQuickPick<Item>();
  // The order is that of the search. Not every version of VS Code lets an extension set this; in older ones, rows whose
  // name has the words come first.
  (pick as { sortByLabel?: boolean }).sortByLabel = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let asked = 0;

  const ask = async (): Promise<void> => {
    const mine = ++asked;
    const query = pick.value.trim();
    let items: Item[] = [];
    try {
      const now = staged();
      const paths = new Set(now?.changes.summary().map(({ path }) => path));
      if (query !== "") items = (await search.search(query, MOST_HITS, now?.changes)).map((hit) => row(hit, paths.has(hit.path)));
      if (query !== "" && items.length === 0) items = [{ label: nothing(search), alwaysShow: true }];
    } catch (error) {
      items = [{ label: `$(warning) ${error instanceof Error ? error.message : String(error)}`, alwaysShow: true }];
    }
    // The rows are dropped if another search has begun meanwhile, or if the list was closed.
    if (mine === asked) pick.items = items;
  };
  const tell = (): void => {
    const { percent, indexed, files, notes } = search.progress;
    const isBuilding = percent < 100 && search.failed === undefined;
    const state = search.failed ?? (isBuilding ? `indexed ${percent} % (${indexed} of ${files} files)` : `${files} files`);
    pick.busy = isBuilding;
    pick.title = ["Search the project", state, ...notes].join(" · ");
  };
  const open = async (hit: SearchHit): Promise<void> => {
    const now = staged();
    if (now?.changes.summary().some(({ path }) => path === hit.path)) return now.open(hit.path);
    await openPlace(search, root, hit);
  };

  pick.placeholder = "What to look for: where are passwords checked, parse_query, retry of failed payments";
  pick.onDidChangeValue((value) => {
    if (LONGEST_QUERY < value.length) pick.value = value.slice(0, LONGEST_QUERY);
    clearTimeout(timer);
    timer = setTimeout(() => void ask(), PAUSE_MS);
  });
  pick.onDidAccept(() => {
    const hit = pick.activeItems[0]?.hit;
    if (hit === undefined) return;
    pick.hide();
    void open(hit);
  });
  const hearing = search.onProgress(() => {
    tell();
    void ask();
  });
  pick.onDidHide(() => {
    asked += 1;
    clearTimeout(timer);
    hearing.dispose();
    pick.dispose();
  });
  search.begin();
  tell();
  pick.show();
}

function row(hit: SearchHit, isStaged: boolean): Item {
  const { path, lines, symbol } = hit;
  const name = path.slice(path.lastIndexOf("/") + 1);
  const place = lines[0] === 0 ? path : `${path}:${lines[0]}`;
  // VS Code reads `$(name)` in a label as an icon, but a file may have such a name.
  const plain = (text: string): string => text.replaceAll("$(", "$\u200b(").replace(/\s/g, " ");
  return { label: plain(symbol ?? name), description: plain(isStaged ? `${place} · staged` : place), alwaysShow: true, hit };
}

function nothing(search: ProjectSearch): string {
  return search.progress.percent < 100 ? "Nothing fits in what is indexed so far" : "Nothing fits";
}

async function openPlace(search: ProjectSearch, root: vscode.Uri, { path, lines }: SearchHit): Promise<void> {
  try {
    const document = await vscode.workspace.openTextDocument(vscode.Uri.joinPath(root, ...path.split("/")));
    const line = Math.min(Math.max(lines[0] - 1, 0), Math.max(document.lineCount - 1, 0));
    await vscode.window.showTextDocument(document, { preview: true, selection: new vscode.Range(line, 0, line, 0) });
  } catch {
    // The file is gone, or it is no text.
    void search.update(path);
    void vscode.window.showInformationMessage(`headstart: ${path} cannot be opened; it may be gone, or no text.`);
  }
}
