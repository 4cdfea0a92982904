import * as vscode from "vscode";
import type { Provider } from "./settings.js";

/** API keys in VS Code's secret storage. Each server has its own, so that a key is never sent to another server. */
export class Keys {
  readonly #storage: vscode.SecretStorage;

  constructor(storage: vscode.SecretStorage) {
    this.#storage = storage;
  }

  get(server: Server): Thenable<string | undefined> {
    return this.#storage.get(nameOf(server));
  }

  set(server: Server, key: string): Thenable<void> {
    return this.#storage.store(nameOf(server), key);
  }

  remove(server: Server): Thenable<void> {
    return this.#storage.delete(nameOf(server));
  }

  onChanged(listener: () => void): vscode.Disposable {
    return this.#storage.onDidChange(({ key }) => {
      if (key.startsWith("headstart.key")) listener();
    });
  }
}

export interface Server {
  provider: Provider;
  baseUrl: string;
}

/** The name of a server for users. */
export function serverName({ provider, baseUrl }: Server): string {
  return baseUrl === "" ? provider : originOf(baseUrl);
}

function nameOf(server: Server): string {
  return `headstart.key ${server.provider} ${server.baseUrl === "" ? "" : originOf(server.baseUrl)}`;
}

function originOf(baseUrl: string): string {
  try {
    return new URL(baseUrl).origin;
  } catch {
    // The engine refuses the address with a clearer message. Until then its whole text is the name, so that no key is
    // kept under an address that could be mistaken for another.
    return `invalid ${baseUrl}`;
  }
}
