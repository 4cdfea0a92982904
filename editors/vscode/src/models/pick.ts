import * as vscode from "vscode";
import { type Keys, serverName } from "../secrets.js";
import { type Provider, settings } from "../settings.js";
import { WANT_KEY } from "./choose.js";
import { editorModels } from "./lm.js";

interface Pick extends vscode.QuickPickItem {
  provider?: Provider;
  /** The name of the model, if it is already known. */
  model?: string;
  asksAddress?: boolean;
  isRecording?: boolean;
}

const SERVERS: Pick[] = [
  { label: "With a key of yours", kind: vscode.QuickPickItemKind.Separator },
  { label: "Anthropic", provider: "anthropic" },
  { label: "OpenAI", provider: "openai" },
  { label: "Google Gemini", provider: "gemini" },
  { label: "DashScope", provider: "dashscope" },
  { label: "On this machine, or a server of yours", kind: vscode.QuickPickItemKind.Separator },
  { label: "Ollama", provider: "ollama", asksAddress: true },
  { label: "A server that speaks OpenAI's chat completions", description: "vLLM, llama.cpp, LM Studio …", provider: "openai", asksAddress: true },
  { label: "Without a model", kind: vscode.QuickPickItemKind.Separator },
  { label: "Try with a recording", isRecording: true },
];

/**
 * Asks for everything that a model needs, with as few questions as possible. Nothing is set unless all of them are
 * answered.
 */
export async function pickModel(keys: Keys): Promise<void> {
  const offered = await editorModels();
  const own: Pick[] = offered.map(({ id, name, vendor }) => ({ label: name, description: vendor, provider: "vscode", model: id }));
  const first: Pick[] = own.length === 0 ? [] : [{ label: "In this VS Code, without a key", kind: vscode.QuickPickItemKind.Separator }, ...own];
  const picked = await vscode.window.showQuickPick([...first, ...SERVERS], { title: "headstart: which model answers?", ignoreFocusOut: true });
  if (picked === undefined) return;
  if (picked.isRecording) return void vscode.commands.executeCommand("headstart.tryRecording");
  const { provider = "openai" } = picked;
  const baseUrl = picked.asksAddress ? await askAddress(provider) : "";
  if (baseUrl === undefined) return;
  const server = { provider, baseUrl };
  const isLocal = picked.asksAddress === true;
  const wantsKey = !isLocal && WANT_KEY.includes(provider);
  let key = await keys.get(server);
  if (key === undefined && wantsKey) {
    key = (await askKey(serverName(server)))?.trim();
    if (!key) return;
    await keys.set(server, key);
  }
  const model = picked.model ?? (await askName(provider, baseUrl, key));
  if (model === undefined) return;
  const config = vscode.workspace.getConfiguration("headstart");
  for (const [name, value] of Object.entries({ provider, baseUrl, model })) await config.update(name, value, vscode.ConfigurationTarget.Global);
}

export function askKey(server: string): Thenable<string | undefined> {
  return vscode.window.showInputBox({
    title: `headstart: API key for ${server}`,
    prompt: "Kept in VS Code's secret storage, and sent to this server only.",
    password: true,
    ignoreFocusOut: true,
  });
}

function askAddress(provider: Provider): Thenable<string | undefined> {
  return vscode.window.showInputBox({
    title: "headstart: where is the server?",
    value: settings().baseUrl || (provider === "ollama" ? "http://localhost:11434" : "http://localhost:8000/v1"),
    ignoreFocusOut: true,
    validateInput: (text) => (URL.canParse(text.trim()) && /^https?:/.test(text.trim()) ? undefined : "an address that begins with http:// or https://"),
  }).then((text) => text?.trim());
}

/** Asks for the name of the model: one of those that the server lists, or any if it lists none. */
async function askName(provider: Provider, baseUrl: string, key: string | undefined): Promise<string | undefined> {
  const title = "headstart: the name of the model";
  const names = baseUrl === "" ? [] : await served(provider, baseUrl, key);
  if (0 < names.length) return vscode.window.showQuickPick(names, { title, ignoreFocusOut: true });
  const name = await vscode.window.showInputBox({ title, prompt: "As its provider calls it.", value: settings().provider === provider ? settings().model : "", ignoreFocusOut: true });
  return name?.trim() || undefined;
}

/** How long the list of a server is waited for. */
const PATIENCE_MS = 3_000;

/** The models that a server lists; none if it does not answer. */
async function served(provider: Provider, baseUrl: string, key: string | undefined): Promise<string[]> {
  const base = baseUrl.replace(/\/+$/, "");
  const address = provider === "ollama" ? `${base}/api/tags` : `${base}/models`;
  try {
    const answer = await fetch(address, { signal: AbortSignal.timeout(PATIENCE_MS), ...(key && { headers: { authorization: `Bearer ${key}` } }) });
    const { data, models } = (await answer.json()) as { data?: { id: string }[]; models?: { name: string }[] };
    const names = [...(data ?? []).map(({ id }) => id), ...(models ?? []).map(({ name }) => name)];
    return names.filter((name) => typeof name === "string");
  } catch {
    return [];
  }
}
