// Has a session of `headstart acp` through the protocol's own client, and writes to standard output what the agent
// writes, line by line.
// Arguments: the folder of node_modules, the workspace, and the command of the agent.
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const [modules, workspace, ...command] = process.argv.slice(2);
const acp = await import(pathToFileURL(`${modules}/@agentclientprotocol/sdk/dist/v1/stable/acp.js`).href);
const agent = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "inherit"] });
const [kept, read] = Readable.toWeb(agent.stdout).tee();
const written = (async () => {
  for await (const piece of kept) process.stdout.write(piece);
})();

let suggestion;
let told;
const questions = [];
const client = acp
  .client({ name: "test" })
  .onRequest("session/request_permission", ({ params }) => {
    questions.push(params.toolCall.title);
    return { outcome: { outcome: "selected", optionId: params.options[0].optionId } };
  })
  .onNotification("session/update", ({ params: { update } }) => {
    const first = update._meta?.promptSuggestions?.suggestions[0];
    if (first?._meta?.headstart?.state === "ready") {
      suggestion = first.text;
      told?.();
    }
  });

await client.connectWith(acp.ndJsonStream(Writable.toWeb(agent.stdin), read), async (context) => {
  const { agentCapabilities } = await context.request("initialize", {
    protocolVersion: acp.PROTOCOL_VERSION,
    clientCapabilities: { session: { configOptions: { boolean: {} }, notices: {} } },
  });
  if (!agentCapabilities.loadSession) throw new Error("no session/load");
  const opened = await context.request("session/new", { cwd: workspace, mcpServers: [] });
  const { sessionId } = opened;
  if (opened.configOptions.length !== 3) throw new Error("three options were expected");
  await context.request("session/set_mode", { sessionId, modeId: "default" });
  await context.request("session/set_config_option", { sessionId, configId: "headstart_ahead", type: "boolean", value: true });
  const prompt = async (text) => {
    const { stopReason } = await context.request("session/prompt", { sessionId, prompt: [{ type: "text", text }] });
    if (stopReason !== "end_turn") throw new Error(`${text}: ${stopReason}`);
  };
  const suggested = new Promise((resolve) => (told = resolve));
  await prompt("begin");
  await suggested;
  if (suggestion !== "add tests") throw new Error(`suggested: ${suggestion}`);
  await prompt("/next");
  if (questions.length !== 1) throw new Error(`questions: ${questions}`);
  await prompt("/undo");
  const { sessions } = await context.request("session/list", { cwd: workspace });
  if (sessions.length !== 1) throw new Error(`sessions: ${JSON.stringify(sessions)}`);
  await context.request("session/close", { sessionId });
  await context.request("session/load", { sessionId, cwd: workspace, mcpServers: [] });
  await context.request("session/delete", { sessionId });
  await context.request("session/close", { sessionId }).then(
    () => Promise.reject(new Error("what is deleted was closed")),
    (error) => (error.code === -32602 ? undefined : Promise.reject(error)),
  );
});
agent.stdin.end();
await written;
