#!/usr/bin/env node
// Starts the binary of this machine, which npm has installed as an optional dependency: it is not fetched here.
"use strict";
const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const { platform, arch } = process;
const base = `headstart-cli-${platform}-${arch}`;
// The report names the libc where there is glibc; where a package manager installs both, the fitting one comes first.
const isMusl = platform === "linux" && !process.report?.getReport?.().header?.glibcVersionRuntime;
const names = isMusl ? [`${base}-musl`] : [base, `${base}-musl`];

function find() {
  for (const name of names) {
    try {
      return require.resolve(`${name}/bin/headstart${platform === "win32" ? ".exe" : ""}`);
    } catch {
      // The next one may be there.
    }
  }
  return undefined;
}

const binary = find();
if (!binary) {
  console.error(`headstart: there is no binary for ${platform} ${arch}${isMusl ? " with musl" : ""} among this package's optional dependencies (${names.join(", ")}).`);
  console.error("If they were left out (--omit=optional, --no-optional), install again with them; else build it: cargo install headstart");
  process.exit(1);
}

const child = spawn(binary, process.argv.slice(2), { stdio: "inherit" });
child.on("error", (error) => {
  console.error(`headstart: ${binary} cannot be started: ${error.message}`);
  process.exit(1);
});
// What is meant for the binary reaches it: a terminal sends Ctrl-C to both, and this one must outlive it to tell how it ended.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"]) {
  process.on(signal, () => {
    if (signal !== "SIGINT" || !process.stdin.isTTY) child.kill(signal);
  });
}
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"]) process.removeAllListeners(name);
  process.kill(process.pid, signal);
  // Where the signal does not end this process, the code says which it was, as a shell does.
  setTimeout(() => process.exit(128 + (constants.signals[signal] ?? 0)), 100);
});
