import * as vscode from "vscode";
import type { ChangeSet, Model, Tool } from "headstart";
import { ContextKeys } from "./context.js";
import { Conversations } from "./conversations.js";
import { load, treeError } from "./engine.js";
import { openLedger } from "./ledger.js";
import { onPathsChanged } from "./files/changes.js";
import { applyCode } from "./files/apply.js";
import { pathIn } from "./files/path-in.js";
import { WorkspaceFiles } from "./files/workspace.js";
import { type Chosen, chooseModel } from "./models/choose.js";
import { mentionsOf } from "./mentions.js";
import { editorTools } from "./models/editor-tools.js";
import { ABOUT, FIRST_PROMPT, RECORDING } from "./sample/project.js";
import { ProjectSearch } from "./search/project-search.js";
import { searchProject } from "./search/quick-pick.js";
import { Keys } from "./secrets.js";
import type { Headstart } from "./session/options.js";
import { Session } from "./session/session.js";
import { messageOf, ofSettings, offered } from "./session/words.js";
import type { Saved } from "./session/saved.js";
import { type OpenShell, type Shell, aboutCommands, withShell } from "./session/shell.js";
import { note } from "./session/items.js";
import { settings } from "./settings.js";
import { StagedDocuments } from "./staged.js";
import { type State, StatusItem } from "./status.js";
import { type SystemText, systemOf } from "./system.js";
import type { Answer, FromPage, Item, ItemAction, ViewState } from "./view/protocol.js";
import { ChatView } from "./view/provider.js";

export const SAMPLE = "headstart-sample";

/** All of headstart in one window: the chat, its session, and the parts of VS Code that belong to them. */
export class App implements vscode.Disposable {
  readonly view: ChatView;
  readonly staged: StagedDocuments;
  readonly keys: Keys;
  readonly #extension: vscode.Uri;
  readonly #conversations: Conversations;
  readonly #storage: { workspace: vscode.Uri | undefined; user: vscode.Uri };
  readonly #status = new StatusItem();
  readonly #contexts = new ContextKeys();
  #session: Session | undefined;
  #starting: Promise<Session | undefined> | undefined;
  #chosen: Chosen | undefined;
  #isSample = false;
  /** When a provider that was briefly unavailable is asked again. */
  #waitsUntil: number | undefined;
  /** The notes of the chat while there is no session. */
  #notes: Item[] = [];
  #changes: vscode.Disposable | undefined;
  /** The system instruction of the window's conversation, and the settings that it was made of. */
  #system: (SystemText & { of: string }) | undefined;
  #search: ProjectSearch | undefined;
  /** The shell that runs commands for the window's conversation, or why there is none. */
  #shell: Shell | { missing: string } | undefined;
  readonly #openShell: OpenShell | undefined;
  /** The last setting for the program that confines commands. */
  #binary = "";
  /** The code of an answer that is shown as a diff, and how many were shown so far. */
  #applying: { id: string; changes: ChangeSet } | undefined;
  #applied = 0;

  constructor(context: vscode.ExtensionContext, openShell?: OpenShell) {
    this.#openShell = openShell;
    this.#extension = context.extensionUri;
    this.#conversations = new Conversations(context.storageUri);
    this.#storage = { workspace: context.storageUri, user: context.globalStorageUri };
    this.keys = new Keys(context.secrets);
    this.view = new ChatView(this.#extension, { state: () => this.#state(), items: () => this.#items() }, (message) => void this.#heard(message));
    this.staged = new StagedDocuments((id) => (id === this.#applying?.id ? this.#applying.changes : this.#session?.changes(id)));
    this.#changed();
  }

  get session(): Session | undefined {
    return this.#session;
  }

  dispose(): void {
    this.#changes?.dispose();
    this.#search?.dispose();
    this.#session?.dispose();
    this.#closeShell();
    this.#status.dispose();
    this.staged.dispose();
  }

  /** Gives the session, and starts it if there is none yet. */
  start(): Promise<Session | undefined> {
    this.#starting ??= this.#start().catch((error: unknown) => {
      this.#say(note("error", `headstart could not start: ${ofSettings(messageOf(error))}`));
      this.#starting = undefined;
      return undefined;
    });
    return this.#starting;
  }

  async #start(): Promise<Session | undefined> {
    const root = this.#root();
    if (root === undefined) {
      this.#say(note("info", "Open a folder to work in, or look at headstart with a sample project.", [
        { title: "Try with a recording", action: "command", command: "headstart.tryRecording" },
      ]));
      this.#starting = undefined;
      return undefined;
    }
    const headstart = await load(this.#extension);
    const first = await this.#choose(headstart, root);
    this.#chosen = first;
    // The session gets this wrapper, because another model may be chosen later while the conversation continues.
    const model: Model = {
      stream: (request, signal) => {
        const chosen = this.#chosen;
        if (chosen === undefined || "missing" in chosen) throw new Error(chosen?.missing ?? "no model is chosen yet");
        return chosen.model.stream({ ...request, model: chosen.name }, signal);
      },
    };
    const isSample = this.#isSample;
    this.#shell = await this.#shellOf(root);
    const shell = "missing" in this.#shell ? undefined : this.#shell;
    const tree = this.#files(root);
    await this.#openSearch(root, tree);
    this.#changes = onPathsChanged(root, () => void this.#session?.filesChanged());
    const ledger = isSample ? undefined : await openLedger(this.#storage.workspace, this.#storage.user);
    await this.#tellSystem(headstart, root, tree);
    const begin = (saved?: Saved) => new Session({
      headstart, model,
      modelName: "model" in first ? first.name : "none",
      ...("model" in first && { facts: first.facts }),
      tree,
      tools: () => this.#tools(),
      ...(shell && { shell }),
      mentions: mentionsOf(root),
      mode: () => (isSample ? "auto-edit" : settings().mode),
      system: () => this.#system?.text ?? "",
      rulesInSystem: () => this.#takeRules(),
      // The recording of the sample costs nothing, so it always works in the background.
      settings: isSample ? () => ({ ...settings(), background: "always" }) : () => withShell(settings(), shell),
      ...(ledger && { ledger }),
      ...(saved && { saved }),
      ...(!isSample && { save: (now) => this.#conversations.save(root, now) }),
      ...(isSample && { opening: FIRST_PROMPT, applied: (paths: string[]) => void openFirst(root, paths) }),
      changed: (item) => {
        this.view.update(item);
        this.#changed();
      },
      announce: (text) => this.view.announce(text),
      insert: (text) => this.view.insert(text),
    });
    const found = isSample ? undefined : await this.#conversations.load(root);
    const session = goOn(begin, found);
    this.#session = session ?? begin();
    this.#notes = [];
    if (session === undefined) this.#notes.push(note("warning", "What was saved of the last conversation could not be read: this is a new one."));
    const folders = vscode.workspace.workspaceFolders ?? [];
    if (!isSample && 1 < folders.length) {
      this.#notes.push(note("info", `headstart works in the first folder of this workspace: ${folders[0]?.name ?? ""}.`));
    }
    this.view.reset();
    this.#changed();
    return this.#session;
  }

  /** Opens the shell. This needs a disk, a host that starts programs, and trust in the workspace. */
  async #shellOf(root: vscode.Uri): Promise<Shell | { missing: string }> {
    if (this.#openShell === undefined) return { missing: "VS Code for the Web starts no programs" };
    if (root.scheme !== "file") return { missing: "this project is on no disk of this machine" };
    if (!vscode.workspace.isTrusted) return { missing: "this workspace is not trusted" };
    const folders = (vscode.workspace.workspaceFolders ?? []).filter(({ uri }) => uri.scheme === "file").map(({ uri }) => uri.fsPath);
    const { binary } = settings();
    this.#binary = binary;
    try {
      return await this.#openShell({ root: root.fsPath, folders, binary, unsaved: () => unsavedIn(root), textOf: (path) => textIn(root, path) });
    } catch (error) {
      return { missing: messageOf(error) };
    }
  }

  /** The files of the folder. What only a disk has is known while the shell has one. */
  #files(root: vscode.Uri): WorkspaceFiles {
    return new WorkspaceFiles(root, treeError, () => (this.#shell && "root" in this.#shell ? this.#shell.disk : undefined));
  }

  #closeShell(): void {
    if (this.#shell && "root" in this.#shell) this.#shell.dispose();
    this.#shell = undefined;
  }

  /** Opens the index, unless the user has turned it off. If that fails, the chat works without it. */
  async #openSearch(root: vscode.Uri, tree: WorkspaceFiles): Promise<void> {
    this.#search?.dispose();
    this.#search = undefined;
    if (!settings().index) return;
    try {
      this.#search = await ProjectSearch.open(this.#extension, root, tree, settings().deny);
    } catch (error) {
      this.#say(note("warning", `The project cannot be indexed: ${messageOf(error)}`));
    }
  }

  /** Asks for words, and opens the place that is picked. */
  async searchProject(): Promise<void> {
    await this.start();
    const root = this.#root();
    if (this.#search && root) {
      return searchProject(this.#search, root, () => {
        const ahead = this.#session?.ahead;
        const changes = ahead && this.#session?.changes(ahead.id);
        return ahead && changes && { changes, open: (path) => this.staged.open(ahead.id, path) };
      });
    }
    const why = root === undefined ? "open a folder to search in." : settings().index ? "the project cannot be indexed." : "the index is turned off by the setting headstart.index.";
    void vscode.window.showInformationMessage(`headstart: ${why}`);
  }

  /** Applies changed settings, so that denied paths and the index count at once. */
  async settingsChanged(): Promise<void> {
    const root = this.#root();
    const { index, deny, binary } = settings();
    if (this.#shell && "root" in this.#shell && binary !== this.#binary) {
      this.#binary = binary;
      await this.#shell.confineBy(binary);
    }
    if (this.#session && root && index !== (this.#search !== undefined)) await this.#openSearch(root, this.#files(root));
    this.#search?.useRules(deny);
    const session = this.#session;
    try {
      if (session && root) await this.#tellSystem(await load(this.#extension), root, this.#files(root));
    } catch {
      // The error is ignored here, because the session reports what is wrong with the settings.
    }
    session?.settingsChanged();
  }

  /**
   * Makes the system instruction. It stays the same bytes until other tools are offered, or reading rules is turned on
   * or off.
   */
  async #tellSystem(headstart: Headstart, root: vscode.Uri, tree: WorkspaceFiles): Promise<void> {
    const { deny, rules, tools: said } = settings();
    const tools = this.#tools();
    const of = offered({ rules, tools: said }, tools);
    if (this.#system?.of === of) return;
    const model: Model = { stream: () => Promise.reject(new Error("nothing is asked")) as never };
    const shell = this.#shell && "root" in this.#shell ? { runCommand: this.#shell.runCommand, workspace: this.#shell.root } : {};
    const options = { model, tree, tools, deny, toolPolicies: said.user, projectToolPolicies: said.project, ...shell };
    this.#system = { ...(await systemOf(headstart, root, rules, options)), of };
  }

  /** The tools besides the built-in ones. */
  #tools(): Tool[] {
    return [...(this.#search?.tools ?? []), ...editorTools(this.#isSample ? [] : settings().editorTools)];
  }

  /** Gives the rules in the system instruction once, and nothing after that. */
  #takeRules(): SystemText["rules"] {
    const rules = this.#system?.rules;
    if (this.#system) this.#system.rules = undefined;
    return rules;
  }

  #root(): vscode.Uri | undefined {
    return this.#isSample ? vscode.Uri.from({ scheme: SAMPLE, path: "/wordcount" }) : vscode.workspace.workspaceFolders?.[0]?.uri;
  }

  async #choose(headstart: Headstart, root: vscode.Uri): Promise<Chosen> {
    if (this.#isSample) return { model: headstart.recordedModel(RECORDING), name: "recording", label: "a recording", facts: { free: true } };
    return chooseModel(headstart, settings(), this.keys, root, (wait) => {
      this.#waitsUntil = wait && Date.now() + wait.ms;
      if (wait) this.view.announce("The provider is busy: it is asked again soon.");
      this.view.update();
    });
  }

  /** Applies another model, key or server. */
  async modelChanged(): Promise<void> {
    const root = this.#root();
    if (this.#session === undefined || root === undefined) return;
    this.#chosen = await this.#choose(await load(this.#extension), root);
    if ("model" in this.#chosen) this.#session.modelChanged(this.#chosen.name, this.#chosen.facts);
    this.view.update();
    this.#changed();
  }

  /** Begins a new conversation, or continues a kept one. The former conversation stays kept. */
  async turnTo(conversation?: string): Promise<void> {
    await this.#starting;
    this.#session?.dispose();
    if (!this.#isSample) await this.#conversations.turnTo(conversation);
    await this.restart();
  }

  /** Asks which of the kept conversations is to be continued. */
  async pickConversation(): Promise<void> {
    const root = this.#root();
    const kept = root === undefined || this.#isSample ? [] : await this.#conversations.list(root);
    if (kept.length === 0) return void vscode.window.showInformationMessage("headstart: no conversation is kept for this folder yet.");
    const { current } = this.#conversations;
    const rows = kept.map(({ id, title, at }) => ({ id, label: title, description: `${new Date(at).toLocaleString()}${id === current ? ", this one" : ""}` }));
    const picked = await vscode.window.showQuickPick(rows, { title: "headstart: go on with a conversation", matchOnDescription: true });
    if (picked && picked.id !== current) await this.turnTo(picked.id);
    if (picked) await this.view.focus();
  }

  /** Asks for a title of the window's conversation. */
  async renameConversation(): Promise<void> {
    const session = await this.start();
    if (session === undefined || this.#isSample || session.items.length === 0) return void vscode.window.showInformationMessage("headstart: nothing was said yet that could have a name.");
    const title = await vscode.window.showInputBox({ title: "headstart: rename the conversation", prompt: "Without a name it is called by its first prompt.", value: session.title });
    if (title !== undefined) session.rename(title);
  }

  /** Sums up the conversation except for its last turns. */
  async compact(): Promise<void> {
    const session = await this.start();
    const why = session === undefined ? "open a folder to work in." : session.compact();
    if (why === undefined) await this.view.focus();
    else void vscode.window.showInformationMessage(`headstart: ${why}`);
  }

  /** Ends the mode `plan`: asks for the plan to be carried out, in the mode `default`. */
  async carryOut(): Promise<void> {
    const session = await this.start();
    const why = session?.view.busy !== "idle" ? "a turn runs; stop it first, or wait." : settings().mode !== "plan" ? "this is for the mode Plan." : undefined;
    if (why !== undefined) return void vscode.window.showInformationMessage(`headstart: ${why}`);
    await vscode.workspace.getConfiguration("headstart").update("mode", "default", vscode.ConfigurationTarget.Global);
    await this.settingsChanged();
    await this.#submit("Carry out your plan.");
  }

  /**
   * Shows what may run because the user allowed it in answer to a question. What is picked will be asked about again.
   */
  async showAllowed(): Promise<void> {
    const session = await this.start();
    const allowed = session?.allowed ?? [];
    if (allowed.length === 0) {
      return void vscode.window.showInformationMessage("headstart: nothing runs without a question beyond the mode and your settings. Always, as an answer to a question, changes that for the conversation.");
    }
    const picked = await vscode.window.showQuickPick(allowed, { title: "headstart: what runs without a question in this conversation", placeHolder: "Pick what is to be asked about again", canPickMany: true });
    for (const one of picked ?? []) session?.askAgain(one);
  }

  /** Takes the suggestion if it is on screen; otherwise shows the chat. */
  async accept(): Promise<void> {
    if (this.view.isVisible) this.#session?.accept("tab");
    else await this.view.focus();
  }

  /** Starts again with another folder, or with the sample project. */
  async restart(sample = false): Promise<void> {
    await this.#starting;
    this.#changes?.dispose();
    this.#search?.dispose();
    this.#search = undefined;
    this.#session?.dispose();
    this.#closeShell();
    this.#session = undefined;
    this.#system = undefined;
    this.#starting = undefined;
    this.#chosen = undefined;
    this.#isSample = sample;
    this.#notes = [];
    this.view.reset();
    await this.start();
  }

  async openDiff(): Promise<void> {
    const ahead = this.#session?.ahead;
    if (ahead) return this.staged.open(ahead.id);
    void vscode.window.showInformationMessage("headstart: nothing is staged.");
  }

  async #heard(message: FromPage): Promise<void> {
    const session = this.#session;
    switch (message.type) {
      case "ready":
        await this.start();
        this.#session?.edited(message.draft);
        break;
      case "focused":
        return this.#contexts.set({ chatFocused: message.focused });
      case "edited":
        session?.edited(message.text, message.recalled);
        break;
      case "complete":
        // The session is started if necessary, because a mention may be typed before there is one.
        return this.view.complete(message.id, await (await this.start())?.complete(message.before));
      case "submit":
        await this.#submit(message.text);
        break;
      case "accept":
        session?.accept(message.method);
        break;
      case "answer":
        await this.#answer(message.id, message.answer);
        break;
      case "act":
        await this.#do(message.action);
    }
    this.#changed();
  }

  async #answer(id: string, answer: Answer): Promise<void> {
    if (answer !== "why") return this.#session?.answer(id, answer);
    const why = await vscode.window.showInputBox({ title: "headstart: why not?", prompt: "The model is told that this call may not run, and this.", ignoreFocusOut: true });
    // A user who gives no reason has not answered the question yet.
    if (why?.trim()) this.#session?.answer(id, { no: why.trim() });
  }

  async #submit(text: string): Promise<void> {
    const session = await this.start();
    if (session === undefined) return this.view.insert(text);
    if (this.#chosen && "missing" in this.#chosen) {
      this.#say(note("warning", this.#chosen.missing, this.#chosen.actions));
      this.view.insert(text);
      return session.edited(text);
    }
    // Indexing begins with the first prompt, so that nothing is read for a user who only looks at the chat.
    this.#search?.begin();
    await session.submit(text);
  }

  async #do(action: ItemAction): Promise<void> {
    switch (action.action) {
      case "submit":
        return this.#submit(action.text);
      case "diff":
        return this.staged.open(action.staged, action.path);
      case "open":
        return this.#open(action.path, action.line);
      case "insert":
        return insertIntoEditor(action.text);
      case "apply": {
        const headstart = await load(this.#extension);
        const show = (changes: ChangeSet): Promise<void> => {
          this.#applying = { id: `code ${++this.#applied}`, changes };
          return this.staged.open(this.#applying.id);
        };
        return applyCode(action, { headstart, root: this.#root(), deny: settings().deny, show });
      }
      case "copy":
        return vscode.env.clipboard.writeText(action.text);
      case "command":
        if (action.command.startsWith("headstart.")) await vscode.commands.executeCommand(action.command);
    }
  }

  /** Opens a file. The path comes from the model and may be no file; then a message says so. */
  async #open(path: string, line = 1): Promise<void> {
    const root = this.#root();
    if (root === undefined || path.split("/").includes("..")) return;
    const place = new vscode.Position(Math.max(0, line - 1), 0);
    try {
      const document = await vscode.workspace.openTextDocument(vscode.Uri.joinPath(root, path));
      await vscode.window.showTextDocument(document, { preview: true, selection: new vscode.Range(place, place) });
    } catch {
      vscode.window.setStatusBarMessage(`headstart: ${path} cannot be opened`, 4_000);
    }
  }

  #say(item: Item): void {
    const { session } = this;
    (session ? session.items : this.#notes).push(item);
    this.view.update(item);
    this.#changed();
  }

  #items(): Item[] {
    return [...this.#notes, ...(this.#session?.items ?? [])];
  }

  #state(): ViewState {
    const model = this.#label();
    const { enabled, tab } = settings();
    const setup = this.#chosen !== undefined && "missing" in this.#chosen ? { setup: { text: this.#chosen.missing, actions: this.#chosen.actions } } : {};
    const status = enabled ? "" : "Suggestions are off";
    const view = this.#session?.view ?? { busy: "idle" as const, enabled, tab, queued: [] };
    const waits = this.#waitsUntil === undefined ? {} : { waitsMs: Math.max(0, this.#waitsUntil - Date.now()) };
    const about = this.#isSample ? { about: ABOUT } : {};
    return { ...view, ...setup, ...waits, ...about, commands: aboutCommands(this.#shell), model: model || "Choose a model", mode: this.#isSample ? "auto-edit" : settings().mode, status };
  }

  #label(): string {
    return this.#chosen && "label" in this.#chosen ? this.#chosen.label : "";
  }

  #changed(): void {
    const session = this.#session;
    const view = session?.view;
    const ahead = session?.ahead;
    this.#contexts.set({
      ready: session !== undefined,
      busy: view !== undefined && view.busy !== "idle",
      suggestionVisible: view?.ghost !== undefined && view.busy === "idle",
      changesStaged: ahead !== undefined && 0 < ahead.files.length,
    });
    this.#status.show(this.#stateWord(), this.#label(), session?.costs);
    this.staged?.refresh();
  }

  #stateWord(): State {
    const view = this.#session?.view;
    if (view?.question) return "asks";
    if (view && view.busy !== "idle") return "working";
    if (!settings().enabled) return "off";
    if (this.#chosen && "missing" in this.#chosen) return "setup";
    if (this.#session?.isThinking) return "thinking";
    switch (view?.ahead?.state) {
      case "running":
        return "ahead";
      case "ready":
        return "ready";
      case "stopped":
        return view.ahead.failed ? "failed" : "idle";
      case "waits":
        return "waits";
      default:
        return "idle";
    }
  }
}

/** Continues the found conversation. Gives `undefined` if what was saved is damaged. */
function goOn(begin: (saved?: Saved) => Session, found: Saved | "damaged" | undefined): Session | undefined {
  if (found === "damaged") return undefined;
  try {
    return begin(found);
  } catch (error) {
    if (found === undefined) throw error;
    return undefined;
  }
}

/**
 * Inserts text at the cursor of the editor that was used last, in place of its selection; without an editor, into a new
 * document.
 */
async function insertIntoEditor(text: string): Promise<void> {
  const editor = vscode.window.activeTextEditor ?? vscode.window.visibleTextEditors[0];
  if (editor === undefined) {
    await vscode.window.showTextDocument(await vscode.workspace.openTextDocument({ content: text }));
    return;
  }
  await editor.edit((edit) => edit.replace(editor.selection, text));
  await vscode.window.showTextDocument(editor.document, { viewColumn: editor.viewColumn ?? vscode.ViewColumn.One });
}

/** The paths of the documents in this folder that are not saved. */
function unsavedIn(root: vscode.Uri): string[] {
  return vscode.workspace.textDocuments.flatMap(({ isDirty, uri }) => (isDirty ? (pathIn(root, uri) ?? []) : []));
}

/** The text of an open document of the folder. */
function textIn(root: vscode.Uri, path: string): string | undefined {
  return vscode.workspace.textDocuments.find(({ uri }) => pathIn(root, uri) === path)?.getText();
}

async function openFirst(root: vscode.Uri, paths: string[]): Promise<void> {
  const [path] = paths;
  if (path === undefined) return;
  await vscode.window.showTextDocument(vscode.Uri.joinPath(root, path), { preserveFocus: true, preview: false });
}
