// The tools of `headstart mcp` by the protocol's own client.
// Arguments: the folder of node_modules, the workspace, and the program.
import { pathToFileURL } from "node:url";

const [modules, workspace, program] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(`${modules}/@modelcontextprotocol/sdk/dist/esm/${path}`).href);
const { Client } = await load("client/index.js");
const { StdioClientTransport } = await load("client/stdio.js");
const { ListRootsRequestSchema } = await load("types.js");

const client = new Client({ name: "test", version: "1" }, { capabilities: { roots: {} } });
client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: pathToFileURL(workspace).href }] }));
const env = { ...process.env };
await client.connect(new StdioClientTransport({ command: program, args: ["mcp"], env, stderr: "inherit" }));
const { tools } = await client.listTools();
if (tools.length !== 9) throw new Error(`tools: ${tools.map((tool) => tool.name)}`);
const call = async (name, args) => {
  const { isError, content } = await client.callTool({ name, arguments: args });
  if (isError) throw new Error(name);
  return JSON.parse(content[0].text);
};
const expect = (is, what) => {
  if (!is) throw new Error(JSON.stringify(what));
};
const verdict = await call("judge", { command: "rm -r ." });
expect(verdict.decision === "boundary", verdict);
const write = { tool: "write_file", args: { file_path: "x", content: "y" }, mode: "auto-edit" };
const staged = await call("judge", write);
expect(staged.decision === "redirect", staged);
const read = await call("run_read_only", { command: "cat notes.txt" });
expect(read.output === "one\n", read);
const refused = await call("run_read_only", { command: "touch x" });
expect(refused.ran === false, refused);
const found = await client.callTool({ name: "search_code", arguments: { query: "one" } });
expect(/^notes\.txt:1-1\n1: one\n/.test(found.content[0].text), found);
const listed = await call("ahead_list", {});
expect(listed.speculations.length === 0, listed);
const tried = await call("try_in_shadow", { command: "echo two >> notes.txt" });
expect(tried.changes.length === 1, tried);
const error = await client.callTool({ name: "judge", arguments: {} }).catch((error) => error);
expect(error.code === -32602, error);
await client.close();
console.log("as expected");
