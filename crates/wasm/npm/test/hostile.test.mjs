// Tests with trees, paths and change sets that are not what the types say.

import assert from "node:assert/strict";
import { test } from "node:test";
import vm from "node:vm";
import { ChangeSet, commit, InputError, MemoryTree, Overlay, TreeError } from "headstart";
import { failsWith, hostTree, text } from "./support.mjs";

const over = (methods) => new Overlay({ ...hostTree({ a: "1" }), ...methods });

test("answers of the wrong type name the callback and the path", async () => {
  const read = (answer) => over({ read: () => answer }).read("a");
  const list = (answer) => over({ list: () => answer }).list("");
  const look = (answer) => over({ metadata: () => answer }).metadata("a");
  const link = (answer) => over({ metadata: () => ({ kind: "symlink", size: 0 }), readLink: () => answer }).readLink("a");
  const file = { kind: "file", size: 1 };
  const cases = [
    [read("text"), /^a: read of the tree gave "text"; it has to give a Uint8Array$/],
    [read(undefined), /^a: read of the tree gave undefined; /],
    [read([1, 2]), /gave an array; it has to give a Uint8Array/],
    [read(new ArrayBuffer(1)), /gave a value of type object/],
    [read({ [Symbol.toStringTag]: "Uint8Array" }), /it has to give a Uint8Array/],
    [look(7), /^a: metadata of the tree gave 7; it has to give an object or undefined$/],
    [look({}), /a kind of file, directory/],
    [look({ ...file, kind: "fifo" }), /gave "fifo"; it has to give a kind of/],
    [look({ ...file, size: -1 }), /a size of 0 or more bytes/],
    [look({ ...file, size: 1.5 }), /a size/],
    [look({ ...file, size: 2 ** 53 }), /a size/],
    [look({ ...file, size: "1" }), /a size/],
    [look({ ...file, executable: 1 }), /executable as a boolean/],
    [look({ ...file, modified: NaN }), /gave NaN; it has to give modified as a finite number/],
    [look({ ...file, modified: new Date() }), /modified/],
    [look({ get kind() { throw new Error("no"); } }), /^a: metadata of the tree failed: no$/],
    [list("ab"), /^\.: list of the tree gave "ab"; it has to give an array$/],
    [list(["a"]), /entries \{ name, kind \}/],
    [list([{ name: "a" }]), /gave undefined; it has to give a kind/],
    [list([{ name: 1, kind: "file" }]), /gave 1; it has to give a string/],
    [list([, ]), /entries/],
    [list([{ name: "..", kind: "directory" }]), /^\.: list gave the name "\.\."; a name is/],
    [list([{ name: ".", kind: "directory" }]), /the name "\."/],
    [list([{ name: "", kind: "file" }]), /the name ""/],
    [list([{ name: "a/b", kind: "file" }]), /the name "a\/b"/],
    [list([{ name: "/etc", kind: "file" }]), /the name "\/etc"/],
    [list([{ name: "a\0", kind: "file" }]), /the name "a\\0"/],
    [list([{ name: "\ud800", kind: "file" }]), /"\\ud800", which is not well-formed Unicode/],
    [list([{ name: "a", kind: "file" }, { name: "a", kind: "file" }]), /the name "a" twice/],
    [link(1), /^a: readLink of the tree gave 1; it has to give a string$/],
    [link("\udc00"), /not well-formed/],
  ];
  for (const [answer, message] of cases) await assert.rejects(answer, failsWith(TreeError, "io", message));
  await assert.rejects(over({ metadata: () => ({ kind: "symlink", size: 0 }) }).readLink("a"), failsWith(TreeError, "unsupported", /the tree has no readLink/, "a"));
});

test("whatever is thrown is an error with the callback's name", async () => {
  const symbol = Symbol("odd");
  const thrown = [
    [new Error("no"), "io", /^a: read of the tree failed: no$/],
    ["a text", "io", /a text/],
    [undefined, "io", /undefined/],
    [null, "io", /null/],
    [symbol, "io", /Symbol\(odd\)/],
    [{ toString() { throw new Error("!"); } }, "io", /cannot be shown/],
    [new Proxy({}, { get() { throw new Error("!"); } }), "io", /cannot be shown/],
    [Object.assign(new Error("x"), { code: "constructor" }), "io", /x/],
    [Object.assign(new Error("x"), { code: "ENOENT" }), "not_found", /^a does not exist$/],
    [new TreeError("is_a_directory", "x"), "is_a_directory", /^a is a directory$/],
    [new DOMException("x", "NotFoundError"), "not_found", /^a does not exist$/],
    [Object.assign(new Error("x"), { code: "FileNotADirectory" }), "not_a_directory", /^a is not a directory$/],
  ];
  for (const [what, code, message] of thrown) {
    for (const read of [() => { throw what; }, () => Promise.reject(what)]) {
      const error = await over({ read }).read("a").catch((error) => error);
      failsWith(TreeError, code, message, "a")(error);
      if (code === "io") assert.ok("cause" in error && error.cause === what);
    }
  }
});

test("bytes of another realm, and a host that keeps or changes what it gave", async () => {
  const foreign = vm.runInNewContext("new Uint8Array([102, 111])");
  assert.equal(await over({ read: () => foreign }).readText("a"), "fo");
  const own = new Uint8Array([49]);
  const base = { ...hostTree({ a: "1" }), read: () => own };
  const overlay = new Overlay(base);
  await overlay.write("a", "2");
  own[0] = 50;
  assert.equal(text(overlay.changeSet().sides("a").before), "1");
  // Bytes that a commit gave must stay valid for the host although the module's memory grows afterwards.
  const kept = [];
  const target = { ...hostTree(), write: async (_, content) => void kept.push(content) };
  const work = new Overlay(target);
  await work.write("x", "kept");
  await commit(target, work.changeSet());
  new MemoryTree({ big: new Uint8Array(8_000_000) }).dispose();
  assert.equal(text(kept[0]), "kept");
  const mine = new TextEncoder().encode("mine");
  const memory = new MemoryTree({ mine });
  mine[0] = 0;
  (await memory.read("mine"))[1] = 0;
  assert.equal(text(await memory.read("mine")), "mine");
});

test("paths that leave the tree, or are none", async () => {
  const overlay = new Overlay(new MemoryTree({ a: "1" }));
  for (const path of ["..", "../a", "a/../../b", "/etc/passwd"]) {
    await assert.rejects(overlay.read(path), failsWith(TreeError, "escapes", /outside the workspace/, path));
    await assert.rejects(overlay.write(path, ""), failsWith(TreeError, "escapes"));
    await assert.rejects(overlay.rename("a", path), failsWith(TreeError, "escapes"));
  }
  for (const path of [undefined, null, 1, {}, ["a"], "\ud800", "a\0b"]) {
    await assert.rejects(overlay.read(path), failsWith(InputError, "invalid_input", /path/));
  }
  for (const content of [undefined, null, 1, [1], new ArrayBuffer(1), "\udfff"]) {
    await assert.rejects(overlay.write("a", content), failsWith(InputError, "invalid_input", /content/));
  }
  assert.equal(await overlay.readText("./x/..//a"), "1");
  assert.deepEqual((await overlay.list("")).length, 1);
});

test("a link out of the tree is not followed", async () => {
  const base = {
    ...hostTree({ a: "1" }),
    metadata: (path) => (path === "" ? { kind: "directory", size: 0 } : { kind: "symlink", size: 4 }),
  };
  for (const target of ["/etc/passwd", "../x", "a/../../x", "", "link"]) {
    const overlay = new Overlay({ ...base, readLink: () => target });
    await assert.rejects(overlay.read("link"), failsWith(TreeError, "escapes", undefined, "link"));
    await assert.rejects(overlay.write("link/x", ""), failsWith(TreeError, "escapes"));
  }
});

test("what is no tree is refused at once", async () => {
  for (const tree of [undefined, null, 1, "x", {}, { metadata() {}, read() {} }]) {
    assert.throws(() => new Overlay(tree), failsWith(InputError, "invalid_input", /^tree/));
  }
  const readOnly = { metadata() {}, read() {}, list() {} };
  const changes = new Overlay(readOnly).changeSet();
  await assert.rejects(commit(readOnly, changes), failsWith(InputError, "invalid_input", /tree\.write/, "tree.write"));
  await assert.rejects(commit(new MemoryTree(), {}), failsWith(InputError, "invalid_input", /ChangeSet/));
  await assert.rejects(commit(new MemoryTree(), changes, { merge: "all" }), failsWith(InputError, "invalid_input", /merge/));
});

test("a change set that is none names the field", async () => {
  const overlay = new Overlay(new MemoryTree({ a: "1" }));
  await overlay.write("a", "2");
  const good = () => overlay.changeSet().toJSON();
  const spoilt = (spoil) => {
    const json = good();
    spoil(json);
    return json;
  };
  const cases = [
    [undefined, /changes/],
    ["text", /is string/],
    [null, /changes/],
    [{}, /changes/],
    [spoilt((set) => (set.changes[0].path = "../a")), /changes\[0\]\.path/],
    [spoilt((set) => (set.changes[0].path = ".")), /the workspace itself/],
    [spoilt((set) => (set.changes[0].path = [255])), /not UTF-8/],
    [spoilt((set) => (set.changes[0].path = "\ud800")), /changes\[0\]\.path/],
    [spoilt((set) => set.changes.push(set.changes[0])), /changes\[1\]\.path.*two changes/],
    [spoilt((set) => (set.changes[0].kind.type = "chmod")), /chmod/],
    [spoilt((set) => (set.changes[0].kind.content = { base64: "?" })), /changes\[0\]/],
    [spoilt((set) => (set.changes[0].base.device = -1)), /changes\[0\]\.base\.device/],
    [spoilt((set) => (set.changes[0].base.device = "x")), /changes\[0\]\.base\.device/],
    [spoilt((set) => delete set.reads), /reads/],
  ];
  for (const [json, message] of cases) assert.throws(() => ChangeSet.fromJSON(json), failsWith(InputError, "invalid_input", message));
  assert.deepEqual(ChangeSet.fromJSON(good()).toJSON(), good());
});

test("a change set that lies about its base changes nothing", async () => {
  const base = hostTree({ a: "1" });
  const overlay = new Overlay(base);
  await overlay.write("a", "2");
  await overlay.write("b/c", "3");
  const json = overlay.changeSet().toJSON();
  json.changes[0].baseContent = "other";
  json.changes[0].base.changedNs = 1;
  const odd = [json, { changes: [...json.changes, { path: "a/x", base: null, kind: { type: "createDirectory" } }], reads: [] }];
  for (const changes of odd) {
    const outcome = await commit(base, ChangeSet.fromJSON(changes)).catch((error) => error);
    assert.notEqual(outcome.type, "committed");
    assert.deepEqual(base.snapshot(), { a: "1" });
  }
  const both = ChangeSet.fromJSON(odd[1]).followedBy(overlay.changeSet());
  both.summary();
  both.diff();
});
