import * as vscode from "vscode";
import type { ApprovalMode } from "headstart";
import { App, SAMPLE } from "./app.js";
import { askKey, pickModel } from "./models/pick.js";
import { MemoryFiles } from "./sample/memory.js";
import { PROJECT } from "./sample/project.js";
import { serverName } from "./secrets.js";
import type { OpenShell } from "./session/shell.js";
import { choosesModel, settings } from "./settings.js";
import { STAGED } from "./staged.js";
import { CHAT_VIEW } from "./view/provider.js";

/** Activates the extension. `openShell` is given only on hosts that can start programs. */
export function activate(context: vscode.ExtensionContext, openShell?: OpenShell): void {
  const app = new App(context, openShell);
  const sample = new MemoryFiles(Object.fromEntries(Object.entries(PROJECT).map(([path, text]) => [`/wordcount/${path}`, text])));
  const commands: Record<string, () => unknown> = {
    open: () => app.view.focus(),
    suggest: async () => {
      await app.view.focus();
      (await app.start())?.suggest(true);
    },
    accept: () => app.accept(),
    dismiss: () => app.session?.dismiss(),
    nextCandidate: () => app.session?.turnCandidate("next"),
    previousCandidate: () => app.session?.turnCandidate("previous"),
    openDiff: () => app.openDiff(),
    search: () => app.searchProject(),
    stop: () => app.session?.stop(),
    newConversation: async () => {
      await app.turnTo();
      await app.view.focus();
    },
    openConversation: () => app.pickConversation(),
    renameConversation: () => app.renameConversation(),
    compact: () => app.compact(),
    carryOut: () => app.carryOut(),
    showAllowed: () => app.showAllowed(),
    pickModel: () => pickModel(app.keys),
    pickMode: () => pickMode(),
    toggle: () => toggle(),
    setApiKey: () => setApiKey(app),
    removeApiKey: () => app.keys.remove(settings()),
    tryRecording: () => tryRecording(app),
    openSettings: () => vscode.commands.executeCommand("workbench.action.openSettings", "headstart"),
  };
  context.subscriptions.push(
    app,
    vscode.window.registerWebviewViewProvider(CHAT_VIEW, app.view),
    vscode.workspace.registerTextDocumentContentProvider(STAGED, app.staged),
    vscode.workspace.registerFileSystemProvider(SAMPLE, sample, { isCaseSensitive: true }),
    ...Object.entries(commands).map(([name, run]) => vscode.commands.registerCommand(`headstart.${name}`, run)),
    app.keys.onChanged(() => void app.modelChanged()),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (!change.affectsConfiguration("headstart")) return;
      void app.settingsChanged();
      if (choosesModel(change)) void app.modelChanged();
    }),
    vscode.workspace.onDidChangeWorkspaceFolders(() => void app.restart()),
  );
}

async function toggle(): Promise<void> {
  const { enabled } = settings();
  await vscode.workspace.getConfiguration("headstart").update("enabled", !enabled, vscode.ConfigurationTarget.Global);
  vscode.window.setStatusBarMessage(enabled ? "headstart: suggestions are off" : "headstart: suggestions are on", 4_000);
}

const MODES: { mode: ApprovalMode; label: string; detail: string }[] = [
  { mode: "plan", label: "Plan", detail: "Reads run; nothing is written, and nothing is suggested" },
  { mode: "chat", label: "Chat", detail: "The model has no tools: it answers in words. The provider's cache of the conversation is lost with the change" },
  { mode: "default", label: "Ask", detail: "Reads run; every write asks: of work ahead once, for all of it, when you accept" },
  { mode: "auto-edit", label: "Edit", detail: "Edits of files run too: ahead they are staged until you accept, in a turn of yours they are made at once" },
  { mode: "yolo", label: "Yolo", detail: "Your own turns ask nothing; work ahead is as with Edit" },
];

async function pickMode(): Promise<void> {
  const now = settings().mode;
  const rows = MODES.map((row) => ({ ...row, description: row.mode === now ? `${row.mode}, in force now` : row.mode }));
  const picked = await vscode.window.showQuickPick(rows, { title: "headstart: what may be done without asking you?" });
  if (picked) await vscode.workspace.getConfiguration("headstart").update("mode", picked.mode, vscode.ConfigurationTarget.Global);
}

async function setApiKey(app: App): Promise<void> {
  const server = settings();
  const key = await askKey(serverName(server));
  if (key?.trim()) await app.keys.set(server, key.trim());
}

async function tryRecording(app: App): Promise<void> {
  const counter = vscode.Uri.from({ scheme: SAMPLE, path: "/wordcount/wordcount/counter.py" });
  await vscode.window.showTextDocument(counter, { preview: false });
  await app.restart(true);
  await app.view.focus();
}
