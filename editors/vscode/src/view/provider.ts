import * as vscode from "vscode";
import type { Completion } from "headstart";
import { pageHtml } from "./html.js";
import type { FromPage, Item, ToPage, ViewState } from "./protocol.js";

export const CHAT_VIEW = "headstart.chat";

/** What the view shows. It is asked for whenever the view is drawn. */
export interface Shown {
  state(): ViewState;
  items(): Item[];
}

/** The chat view. It sends what has changed, at most once in a frame, and sends everything to a new page. */
export class ChatView implements vscode.WebviewViewProvider {
  readonly #extension: vscode.Uri;
  readonly #shown: Shown;
  readonly #heard: (message: FromPage) => void;
  readonly #changed = new Set<Item>();
  #view: vscode.WebviewView | undefined;
  #isReady = false;
  #all = true;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #focusWhenReady = false;

  constructor(extension: vscode.Uri, shown: Shown, heard: (message: FromPage) => void) {
    this.#extension = extension;
    this.#shown = shown;
    this.#heard = heard;
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    this.#view = view;
    this.#isReady = false;
    view.webview.options = {
      enableScripts: true,
      localResourceRoots: [vscode.Uri.joinPath(this.#extension, "dist"), vscode.Uri.joinPath(this.#extension, "media")],
    };
    view.webview.onDidReceiveMessage((message: FromPage) => {
      if (message.type === "ready") this.#ready();
      this.#heard(message);
    });
    view.onDidDispose(() => {
      if (this.#view !== view) return;
      this.#view = undefined;
      this.#isReady = false;
      this.#heard({ type: "focused", focused: false });
    });
    view.webview.html = pageHtml(view.webview, this.#extension);
  }

  get isVisible(): boolean {
    return this.#view?.visible === true;
  }

  /** Draws soon; `item` is one that is new or has grown. */
  update(item?: Item): void {
    if (item) this.#changed.add(item);
    this.#timer ??= setTimeout(() => this.#draw(), 16);
  }

  /** Has everything drawn again, because all items may differ. */
  reset(): void {
    this.#all = true;
    this.update();
  }

  announce(text: string): void {
    this.#post({ type: "announce", text });
  }

  insert(text: string): void {
    this.#post({ type: "insert", text });
  }

  /** Answers a question of the page for the completions of a mention. */
  complete(id: number, found: Completion | undefined): void {
    this.#post({ type: "mentions", id, ...(found && { found }) });
  }

  async focus(): Promise<void> {
    await vscode.commands.executeCommand(`${CHAT_VIEW}.focus`);
    if (this.#isReady) this.#post({ type: "focus" });
    else this.#focusWhenReady = true;
  }

  #ready(): void {
    this.#isReady = true;
    this.#all = true;
    this.#draw();
    if (this.#focusWhenReady) this.#post({ type: "focus" });
    this.#focusWhenReady = false;
  }

  #draw(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (!this.#isReady) return;
    const all = this.#all;
    const items = all ? this.#shown.items() : [...this.#changed];
    this.#changed.clear();
    this.#all = false;
    this.#post({ type: "state", state: this.#shown.state(), items, all });
  }

  #post(message: ToPage): void {
    if (this.#isReady) void this.#view?.webview.postMessage(message);
  }
}
