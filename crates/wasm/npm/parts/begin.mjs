// Finds out what runs of the module until a conversation has begun. `node begin.mjs PACKAGE MODULE MARKS COUNT` begins
// some conversations with the module that `watched.mjs` made, and prints a list of the numbers of the functions that
// ran. If this misses a function, a page still works: the function only comes later, with the rest of the module.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [packageFile, moduleFile, marks, count] = process.argv.slice(2);
const { Agent, MemoryTree, fetchModel, initSync, recordedModel, systemText } = createRequire(import.meta.url)(packageFile);

// The instance is intercepted, because the package does not give access to its memory.
const { Instance } = WebAssembly;
let memory;
WebAssembly.Instance = function (...given) {
  const instance = new Instance(...given);
  ({ memory } = instance.exports);
  return instance;
};
initSync(readFileSync(moduleFile));

const LOOK = { name: "look", description: "Looks.", parameters: { type: "object", properties: { path: { type: "string" } } }, reads: ["path"], run: async () => "" };

for (const provider of ["openai", "responses", "anthropic", "gemini", "dashscope", "ollama"]) {
  const unreachable = async () => Promise.reject(new Error("nobody is there"));
  await begin(fetchModel({ provider, key: "key", fetch: unreachable, retries: 0 }), { modelName: "model" });
}
const TURNS = [{ text: "Hello." }, { text: "Yes." }, { text: "So.", delayMs: 1, toolCalls: [{ name: "look", args: { path: "a.txt" } }], usage: { inputTokens: 1, outputTokens: 1 } }];
const SUGGESTIONS = ["run the tests", { text: "commit", delayMs: 1, usage: { inputTokens: 1, outputTokens: 1 } }];
const recorded = () => recordedModel({ turns: TURNS, suggestions: SUGGESTIONS }, { speed: Infinity });
await begin(recorded(), { opening: "fix the tests", window: 100_000, price: { input: 1, output: 2 } });
const kept = await begin(recorded(), { free: true, background: "auto" });
await begin(recorded(), { free: true, background: "off", restore: kept.lines, ledger: kept.ledger });

const ran = new Uint8Array(memory.buffer, Number(marks), Number(count));
console.log(JSON.stringify([...ran.keys()].filter((index) => ran[index] === 1)));

/** Holds a conversation up to its first answers, with what a user may do meanwhile. Gives what was kept of it. */
async function begin(model, { ledger = { past: "" }, ...options } = {}) {
  const tree = new MemoryTree({ "src/lib.rs": "// to fix\n", "AGENTS.md": "Be brief.\n", ".gitignore": "target\n" });
  // Several lengths are written, because short and long texts are hashed by different code.
  for (const length of [0, 3, 12, 100, 200, 1_000, 20_000]) await tree.write(`docs/of/${length}.md`, "é".repeat(length / 2));
  for (const length of [3, 20_000]) await tree.write(`docs/of/${length}.md`, "e".repeat(length));
  await tree.createDir("empty");
  await tree.remove("docs/of/12.md");
  void [await tree.metadata("docs/of/100.md"), await tree.read("docs/of/100.md"), tree.snapshot()];
  const kept = { lines: "", ledger };
  const given = { model, tree, mode: "auto-edit", workspace: "/project", deny: ["*.pem"], tools: [LOOK], runCommand: async () => ({ output: "" }), ...options };
  const mentions = { selection: () => "nothing" };
  const beside = { projectRules() {}, mentions, sessions: { append: (more) => void (kept.lines += more) }, ledger: { ...ledger, append: (more, habits) => void (kept.ledger = { past: kept.ledger.past + more, habits }) } };
  const { restore: _, ...first } = { ...given, ...beside };
  const agent = new Agent({ ...given, ...beside, system: await systemText(first) });
  agent.onUpdate(() => {});
  const steps = [
    () => {},
    () => agent.edited("fix the co"),
    () => agent.edited("fix the comment", "recalled"),
    () => agent.edited("", "changed"),
    () => agent.complete("see @src/l"),
    () => agent.modeChanged(),
    () => agent.filesChanged(),
    () => agent.setBackground("auto"),
    () => agent.setCandidates(2),
    () => agent.setRules({ deny: ["*.pem"], aheadWrites: "ask" }),
    () => agent.setTitle("The comment"),
    () => agent.submit("fix the comment of @src/lib.rs"),
    () => agent.idle(),
    () => agent.submit("and the tests"),
    () => agent.submit("and the rest"),
    () => agent.interrupt(),
    () => agent.dismiss(),
  ];
  for (const step of steps) {
    const done = step();
    // The view is read at once and a little later, because different code draws different states.
    void [agent.view, agent.costs, agent.allowed];
    await done;
    void agent.view;
  }
  await agent.close();
  return kept;
}
