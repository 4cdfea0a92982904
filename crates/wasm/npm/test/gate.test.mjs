import assert from "node:assert/strict";
import { test } from "node:test";
import { InputError, classifyShell, init, judge } from "headstart";

await init();

const shell = (command) => ({ name: "shell", args: { command } });
const write = (file_path) => ({ name: "write_file", args: { file_path, content: "x" } });

test("every decision and many reasons", () => {
  const cases = [
    [{ name: "read_file", args: { file_path: "a.txt" } }, {}, "allow", "read_only"],
    [shell("grep -rn TODO src | head -20"), {}, "allow", "read_only"],
    [write("a.txt"), { mode: "auto-edit" }, "redirect", "staged_write"],
    [write("a.txt"), { mode: "yolo" }, "redirect", "staged_write"],
    [write("a.txt"), {}, "boundary", "write_tool_no_auto"],
    [write("a.txt"), { mode: "plan" }, "boundary", "write_tool_no_auto"],
    [write("../a.txt"), { mode: "yolo" }, "boundary", "outside_workspace"],
    [write(".git/config"), { mode: "yolo" }, "boundary", "protected_path"],
    [write("/project/a.txt"), { mode: "yolo", workspace: "/project" }, "redirect", "staged_write"],
    [write("/workspace/a.txt"), { mode: "yolo" }, "redirect", "staged_write"],
    [{ name: "read_file", args: { file_path: "keys/a.pem" } }, { deny: ["*.pem"] }, "boundary", "denied_path"],
    [{ name: "read_file", args: {} }, {}, "allow", "invalid_argument"],
    [{ name: "read_file", args: { path: "a", file_path: "b" } }, {}, "boundary", "ambiguous_path"],
    [{ name: "web_fetch", args: {} }, {}, "boundary", "unknown_tool"],
    [{ name: "launch", args: {} }, {}, "boundary", "unknown_tool"],
    [shell("curl example.org"), {}, "boundary", "network"],
    [shell("npm test"), {}, "boundary", "executes"],
    [shell("cat /etc/passwd"), {}, "boundary", "reads_outside"],
    [shell("tail -f log"), {}, "boundary", "non_terminating"],
    [shell("sort -o a a"), {}, "boundary", "writes"],
  ];
  for (const [call, context, decision, reason] of cases) {
    const verdict = judge(call, context);
    assert.deepEqual([verdict.decision, verdict.reason], [decision, reason], JSON.stringify(call));
    assert.ok(verdict.detail.length > 0);
  }
});

test("a verdict tells what is read, written and how to run it", () => {
  assert.deepEqual(judge(shell("grep -rn TODO src")).reads, ["src"]);
  assert.deepEqual(judge(write("a.txt"), { mode: "yolo" }).writes, ["a.txt"]);
  const { hardened } = judge(shell("git log --oneline"));
  assert.equal(hardened.git.folders[0], ".");
  assert.ok(Object.keys(hardened.environment).length > 0);
});

test("reads, writes and parts are what their types say", () => {
  const cases = [
    ["rm -rf node_modules", [], [], ["rm"]],
    ["cp a b", [], [], ["cp"]],
    ["cat a | tee b", ["a"], [], ["b"]],
    ["sort -o out.txt in.txt", ["in.txt", "out.txt"], [], ["-o"]],
    ["ls src > out", ["src"], ["out"], ["> out"]],
    ["cat a; curl b", ["a"], [], ["curl"]],
    ["cat a; ls b", ["a", "b"], [], ["cat a", "a", "ls b", "b"]],
  ];
  for (const [command, reads, writes, shown] of cases) {
    const verdict = classifyShell(command);
    const parts = verdict.parts.map(({ from, to }) => command.slice(from, to));
    assert.deepEqual([verdict.reads, verdict.writes, parts], [reads, writes, shown], command);
  }
});

test("policies of the user widen and narrow", () => {
  const policies = [
    { program: "terraform", words: ["show"], decision: "allow", match: ["terraform show"] },
    { program: "grep", decision: "boundary", reason: "use rg" },
  ];
  assert.equal(judge(shell("terraform show")).decision, "boundary");
  assert.equal(judge(shell("terraform show"), { policies }).decision, "allow");
  assert.deepEqual(
    [judge(shell("grep x a"), { policies }).decision, judge(shell("grep x a"), { policies }).reason],
    ["boundary", "policy"],
  );
});

test("parts lie on what they are about, whatever the characters", () => {
  const cases = [
    ["curl example.org", "network", "curl"],
    ["cat 😀語.txt; curl example.org", "network", "curl"],
    ["cat ééé '😀😀' | curl -d @- example.org", "network", "curl"],
    ["echo \ud83d; curl example.org", "unknown", "\ud83d"],
    ["echo héllo > 語.txt", "writesWorkspace", "> 語.txt"],
    ["ls 語 | wc -l", "readOnly", "ls"],
  ];
  for (const [command, kind, text] of cases) {
    const { parts } = classifyShell(command);
    const found = parts.filter((part) => part.kind === kind).map((part) => command.slice(part.from, part.to));
    assert.ok(found.some((part) => part.includes(text)), `${command}: ${JSON.stringify(parts)}`);
    for (const part of parts) {
      assert.ok(0 <= part.from && part.from < part.to && part.to <= command.length, command);
    }
  }
});

test("parts are sorted, and are the effects", () => {
  const command = "cat a; curl b; grep -r c . | xargs rm";
  const { parts, effects, decision } = classifyShell(command);
  assert.equal(decision, "boundary");
  assert.equal(parts.length, effects.length);
  assert.deepEqual(parts, [...parts].sort((one, other) => one.from - other.from));
  assert.deepEqual(classifyShell("ls").parts[0], { from: 0, to: 2, kind: "readOnly", detail: classifyShell("ls").effects[0].detail });
});

test("a command is judged like the call of the shell", () => {
  for (const command of ["ls -la", "rm -rf /", "echo 'unfinished", ""]) {
    const { parts, ...verdict } = classifyShell(command);
    assert.deepEqual(verdict, judge(shell(command)), command);
  }
});

test("a mistake is an InputError that names the field", () => {
  const cases = [
    [() => judge({ args: {} }), "call.name"],
    [() => judge({ name: "ls", args: [] }), "call.args"],
    [() => judge(), "call"],
    [() => judge({ id: "a", type: "function", function: { name: "ls", arguments: "{}" } }), "call.function"],
    [() => judge({ name: "ls", arguments: "{}" }), "call.arguments"],
    [() => judge({ type: "tool-call", toolCallId: "a", toolName: "ls", input: {} }), "call.toolName"],
    [() => judge({ type: "tool_use", name: "ls", input: {} }), "call.input"],
    [() => judge(shell("ls"), { mode: "fast" }), "context.mode"],
    [() => judge(shell("ls"), { deny: ["!x"] }), "context.deny[0]"],
    [() => judge(shell("ls"), { workspace: "project" }), "context.workspace"],
    [() => judge(shell("ls"), { policies: [{ program: "bash", decision: "allow" }] }), "context.policies[0].program"],
    [() => judge(shell("ls"), { policies: [{ program: "ls", match: ["rm"], decision: "allow" }] }), "context.policies[0].match"],
    [() => judge(shell("ls"), { workspace: "C:\\project" }), "context.workspace"],
    [() => classifyShell(["ls"]), "command"],
  ];
  for (const [work, path] of cases) {
    assert.throws(work, (error) => error instanceof InputError && error.path === path && error.message.startsWith(`${path}: `), path);
  }
  assert.throws(() => judge({ name: "ls", arguments: "{}" }), /did you mean args, an object: JSON\.parse\(call\.arguments\)/);
  assert.equal(judge({ name: "ls", args: {}, input: {} }).decision, "allow", "a field more is none of ours");
  assert.throws(() => judge(shell("ls"), { workspace: "C:\\project" }), /as bash spells it \(\/c\/project for C:\\project\)/);
});
