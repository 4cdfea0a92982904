import * as vscode from "vscode";
import type { Model, ModelFacts, ProviderName, ProviderWait, Recording } from "headstart";
import type { Headstart } from "../session/options.js";
import { type Keys, serverName } from "../secrets.js";
import type { Settings } from "../settings.js";
import type { ItemAction } from "../view/protocol.js";
import { editorModel } from "./lm.js";

export type Chosen = { model: Model; name: string; label: string; facts: ModelFacts } | { missing: string; actions: ItemAction[] };

const pickAction: ItemAction = { title: "Choose a model", action: "command", command: "headstart.pickModel" };
const settingsAction: ItemAction = { title: "Open the settings", action: "command", command: "headstart.openSettings" };
const keyAction: ItemAction = { title: "Set API key", action: "command", command: "headstart.setApiKey" };
const recordingAction: ItemAction = { title: "Try with a recording", action: "command", command: "headstart.tryRecording" };

/** Providers whose servers require a key. Other providers, and servers at an address of the user's, may need none. */
export const WANT_KEY = ["openai", "responses", "anthropic", "gemini", "dashscope"];

/** The model that the settings choose, or what is missing for it. */
export async function chooseModel(headstart: Headstart, settings: Settings, keys: Keys, root: vscode.Uri, onWait: (wait: ProviderWait | undefined) => void): Promise<Chosen> {
  const { provider, model, baseUrl } = settings;
  if (provider === "vscode") {
    const found = await editorModel(headstart, model);
    if ("missing" in found) return { ...found, actions: [pickAction, recordingAction] };
    const { window } = found;
    return { ...found, label: found.name, facts: { ...known(settings), ...(window !== undefined && { window }) } };
  }
  if (provider === "recording") {
    if (settings.recording === "") return { missing: "The setting headstart.recording names no recording.", actions: [settingsAction, recordingAction] };
    try {
      const bytes = await vscode.workspace.fs.readFile(vscode.Uri.joinPath(root, settings.recording));
      const recording = JSON.parse(new TextDecoder().decode(bytes)) as Recording;
      return { model: headstart.recordedModel(recording), name: "recording", label: "a recording", facts: { free: true } };
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      return { missing: `${settings.recording} could not be read as a recording: ${why}`, actions: [settingsAction] };
    }
  }
  if (model === "") return { missing: "No model is chosen yet.", actions: [pickAction, settingsAction, recordingAction] };
  const key = await keys.get({ provider, baseUrl });
  if (key === undefined && baseUrl === "" && WANT_KEY.includes(provider)) {
    return { missing: `There is no API key for ${serverName(settings)} yet.`, actions: [keyAction, pickAction, recordingAction] };
  }
  try {
    const options = { provider: provider as ProviderName, ...(baseUrl && { baseUrl }), ...(key && { key }), onWait };
    return { model: headstart.fetchModel(options), name: model, label: model, facts: known(settings) };
  } catch (error) {
    return { missing: error instanceof Error ? error.message : String(error), actions: [settingsAction] };
  }
}

/** What the settings say about the model. Models of Ollama run on a machine of the user's, so a token costs nothing. */
function known({ window, price, provider }: Settings): ModelFacts {
  return { ...(window !== undefined && { window }), ...(price && { price }), ...(provider === "ollama" && { free: true }) };
}
