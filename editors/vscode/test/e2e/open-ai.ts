import type { Workbench } from "./workbench.js";

export interface Asked {
  authorization: string | undefined;
  body: { model: string; messages: { role: string; content: string | null }[]; tools?: unknown[]; stream?: boolean };
}

/** A server that speaks OpenAI's chat completions and gives scripted answers. */
export function openAi(answer: (asked: Asked) => object[]) {
  const asked: Asked[] = [];
  const handlers: NonNullable<Parameters<typeof Workbench.open>[0]>["handlers"] = new Map([
    ["/v1/chat/completions", (request, body, response) => {
      const one: Asked = { authorization: request.headers.authorization, body: JSON.parse(body) as Asked["body"] };
      asked.push(one);
      response.writeHead(200, { "content-type": "text/event-stream" });
      for (const event of answer(one)) response.write(`data: ${JSON.stringify(event)}\n\n`);
      response.end("data: [DONE]\n\n");
    }],
  ]);
  return { asked, handlers };
}

function chunk(delta: object, finish: string | null = null): object {
  return { id: "1", object: "chat.completion.chunk", model: "tiny", choices: [{ index: 0, delta, finish_reason: finish }] };
}
const USAGE = { id: "1", object: "chat.completion.chunk", model: "tiny", choices: [], usage: { prompt_tokens: 900, completion_tokens: 100, total_tokens: 1_000 } };
export const says = (text: string) => [chunk({ role: "assistant", content: text }), chunk({}, "stop"), USAGE];
export const calls = (name: string, args: object) => [
  chunk({ role: "assistant", tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name, arguments: JSON.stringify(args) } }] }),
  chunk({}, "tool_calls"),
  USAGE,
];

/** The settings of an extension that uses this server. */
export const SETTINGS = { "headstart.model": "tiny", "headstart.baseUrl": "http://app.localhost:{PORT}/v1" };

/** Whether the request is the one for a suggestion. */
export const wantsSuggestion = ({ body }: Asked) => /suggest|Guess the message/.test(JSON.stringify(body.messages.at(-1))) || "response_format" in body;
