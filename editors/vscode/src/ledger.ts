import * as vscode from "vscode";
import type { LedgerStore } from "headstart";

/**
 * Opens the store of a workspace's costs, and of what was learned of the user in all workspaces. Files that cannot be
 * read count as empty.
 */
export async function openLedger(workspace: vscode.Uri | undefined, user: vscode.Uri): Promise<LedgerStore> {
  const [lines, habits] = [workspace && vscode.Uri.joinPath(workspace, "ledger.jsonl"), vscode.Uri.joinPath(user, "habits.json")];
  let past = lines ? await textOf(lines) : "";
  let known = await textOf(habits);
  return {
    // This is a getter, because each new conversation reads it, and the costs of the conversation before it have to
    // count.
    get past() {
      return past;
    },
    get habits() {
      return known === "" ? undefined : known;
    },
    append: async (more, learned) => {
      // The file is read again first, because another window may have added to it.
      past = (lines ? await textOf(lines) : past) + more;
      known = learned;
      if (workspace && lines) await write(workspace, lines, past);
      await write(user, habits, learned);
    },
  };
}

async function textOf(file: vscode.Uri): Promise<string> {
  try {
    return new TextDecoder().decode(await vscode.workspace.fs.readFile(file));
  } catch {
    return "";
  }
}

async function write(folder: vscode.Uri, file: vscode.Uri, text: string): Promise<void> {
  await vscode.workspace.fs.createDirectory(folder);
  await vscode.workspace.fs.writeFile(file, new TextEncoder().encode(text));
}
