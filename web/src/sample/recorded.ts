import { type Message, type Model, type ModelRequest, type Part, recordedModel } from "headstart";
import { FIRST_PROMPT } from "./files.js";
import { type Answer, type Result, SCENES, type Scene, UNKNOWN, nearest } from "./scenes.js";

/**
 * The recording as a model. It finds its place in the recording by the conversation that it is sent: the user's last
 * prompt names the scene, and the number of answers since then says how far the scene is. For that reason discarded
 * work, and prompts between the recorded ones, do not confuse it.
 */
export function sceneModel(speed: number): Model {
  return {
    stream(request, signal) {
      const recording = request.responseSchema ? { suggestions: [suggestion(request)] } : { turns: [turn(request)] };
      return recordedModel(recording, { speed }).stream(request, signal);
    },
  };
}

function turn({ messages }: ModelRequest) {
  const place = placeIn(messages);
  if (!place) return UNKNOWN[Math.min(answersSince(messages), UNKNOWN.length - 1)] ?? { text: "" };
  const answer: Answer | undefined = place.scene.answers[place.given];
  if (!answer) return { text: "That is all that was recorded here." };
  return typeof answer === "function" ? answer(lastResults(place.since)) : answer;
}

function suggestion({ messages }: ModelRequest) {
  // The last message is the question for a suggestion, so it is not part of the conversation.
  const said = messages.slice(0, -1);
  const [near] = isRecorded(lastPrompt(said)) ? [] : nearest(lastPrompt(said));
  const place = placeIn(said, true);
  const next = place ? place.scene.next(resultsOf(place.since)) : FIRST_PROMPT;
  return { text: near !== undefined && NEAR <= near.likeness ? near.prompt : next, delayMs: 350 };
}

/** From which likeness on a recorded prompt is offered for another one. */
const NEAR = 0.5;

/** Whether there is a scene of this prompt. */
export function isRecorded(prompt: string): boolean {
  return SCENES.some((scene) => normal(scene.prompt) === normal(prompt));
}

function lastPrompt(messages: readonly Message[]): string {
  const message = messages.findLast(({ role }) => role === "user");
  return message === undefined ? "" : (textOf(message).split("\n\n").at(-1) ?? "");
}

/** How many answers the model has given since the last prompt. */
function answersSince(messages: readonly Message[]): number {
  return messages.slice(messages.findLastIndex(({ role }) => role === "user") + 1).filter(({ role }) => role === "model").length;
}

interface InScene {
  scene: Scene;
  /** How many answers the model has given since the prompt. */
  given: number;
  since: Message[];
}

/** The scene of the last prompt. With `earlier`, the scene of the last prompt that is in the recording. */
function placeIn(messages: readonly Message[], earlier = false): InScene | undefined {
  for (let index = messages.length - 1; 0 <= index; index -= 1) {
    const message = messages[index];
    if (message?.role !== "user") continue;
    // If the user has undone something, a note about it precedes the words of the prompt.
    const prompt = normal(textOf(message).split("\n\n").at(-1) ?? "");
    const scene = SCENES.find((candidate) => normal(candidate.prompt) === prompt);
    const since = messages.slice(index + 1);
    if (scene) return { scene, since, given: since.filter(({ role }) => role === "model").length };
    if (!earlier) return undefined;
  }
  return undefined;
}

const textOf = ({ parts }: Message) => parts.map((part) => (part.type === "text" ? part.text : "")).join("");
const normal = (prompt: string) => prompt.trim().toLowerCase().replace(/[.!]+$/, "");

const resultsOf = (messages: readonly Message[]) => messages.flatMap(({ parts }) => parts).flatMap(result);
const lastResults = (messages: readonly Message[]) => resultsOf(messages.filter(({ role }) => role === "tool").slice(-1));

function result(part: Part): Result[] {
  if (part.type !== "toolResult") return [];
  if ("error" in part) return [{ name: part.name, text: part.error, failed: true }];
  return [{ name: part.name, text: typeof part.output === "string" ? part.output : JSON.stringify(part.output), failed: false }];
}
