/** The part of `vscode` that tests of models and of staged documents need, including what only newer hosts have. */

export class LanguageModelTextPart {
  constructor(readonly value: string) {}
}
export class LanguageModelToolCallPart {
  constructor(readonly callId: string, readonly name: string, readonly input: object) {}
}
export class LanguageModelToolResultPart {
  constructor(readonly callId: string, readonly content: unknown[]) {}
}
export class LanguageModelChatMessage {
  constructor(readonly role: number, readonly content: unknown) {}
}
export const LanguageModelChatMessageRole = { User: 1, Assistant: 2 };

export class CancellationTokenSource {
  readonly token = { isCancellationRequested: false };
  cancel(): void {
    this.token.isCancellationRequested = true;
  }
  dispose(): void {}
}

export interface FakeChat {
  name: string;
  id: string;
  family: string;
  sendRequest(messages: unknown[], options: unknown, token: { isCancellationRequested: boolean }): Promise<{ stream: AsyncIterable<unknown> }>;
  countTokens(text: string): Promise<number>;
}

/** The models that the host offers; a test sets them. */
export const offered: FakeChat[] = [];

/** The tools that the host offers; a test sets them, and also the function that runs them. */
export const tools: { name: string; description: string; inputSchema?: object }[] = [];

export const lm = {
  tools,
  invokeTool: (_name: string, _options: { input: object }): Promise<{ content: unknown[] }> => Promise.reject(new Error("no test wants it")),
  selectChatModels: ({ family, id }: { family?: string; id?: string }) =>
    Promise.resolve(offered.filter((chat) => (family === undefined || chat.family === family) && (id === undefined || chat.id === id))),
};

/** The settings; a test sets them. */
export const configuration: Record<string, { defaultValue?: unknown; globalValue?: unknown; workspaceValue?: unknown; workspaceFolderValue?: unknown }> = {};

const nothing = () => ({ dispose: () => {} });

export class Uri {
  private constructor(readonly scheme: string, readonly path: string, readonly query: string) {}
  static from({ scheme, path, query }: { scheme: string; path: string; query: string }): Uri {
    return new Uri(scheme, path, query);
  }
}
export class ThemeColor {}
export class Range {}
export class EventEmitter {
  readonly event = nothing;
  fire(): void {}
  dispose(): void {}
}

export const window = { createTextEditorDecorationType: nothing, onDidChangeVisibleTextEditors: nothing, visibleTextEditors: [] };

/** The commands that the host was told to run, and the other ones that it has; a test empties and sets both. */
export const ran: unknown[][] = [];
export const known: string[] = [];

export const commands = {
  executeCommand: (...command: unknown[]) => Promise.resolve(void ran.push(command)),
  getCommands: () => Promise.resolve(known),
};

export const workspace = {
  onDidChangeTextDocument: nothing,
  textDocuments: [],
  getConfiguration: () => ({
    get: (name: string, otherwise: unknown) => {
      const { globalValue, workspaceValue, workspaceFolderValue } = configuration[name] ?? {};
      return workspaceFolderValue ?? workspaceValue ?? globalValue ?? otherwise;
    },
    inspect: (name: string) => configuration[name],
  }),
};
