import * as vscode from "vscode";
import type { LedgerStore } from "headstart";

/** Where the costs of a workspace are kept, and what was learned of its user in all of them. What cannot be read counts as nothing. */
export async function openLedger(workspace: vscode.Uri | undefined, user: vscode.Uri): Promise<LedgerStore> {
  const [lines, habits] = [workspace && vscode.Uri.joinPath(workspace, "ledger.jsonl"), vscode.Uri.joinPath(user, "habits.json")];
  let past = lines ? await textOf(lines) : "";
  let known = await textOf(habits);
  return {
    // Asked for by each conversation that begins: what the one before it has cost counts.
    get past() {
      return past;
    },
    get habits() {
      return known === "" ? undefined : known;
    },
    append: async (more, learned) => {
      // Another window may have added to it.
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
