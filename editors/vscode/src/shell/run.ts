// Runs one process, with all processes that it starts.
import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable } from "node:stream";
import type { CommandOutput } from "headstart";
import { KeptOutput } from "./kept-output.js";

/** How long the output of a process that left the group is waited for after the command is over. */
const DRAIN_MS = 100;
/** How many bytes from the end of the output are reported while the command runs. */
const TOLD_BYTES = 4 * 1024;
const TOLD_EVERY_MS = 100;

export interface Command {
  /** The program, and its arguments as they are. */
  program: string[];
  directory: string;
  environment: Record<string, string | undefined>;
  timeLimitMs: number;
  outputLimit: number;
}

/**
 * Runs a command to its end. It is a process group of its own. The whole group is ended when the command is over, when
 * its time is up, or when the signal fires; a process that starts a session of its own is not reached by that. Rejects
 * if the command cannot be started, or with the signal's reason.
 */
export function run(command: Command, signal: AbortSignal, printed?: (end: string) => void): Promise<CommandOutput> {
  const { program, directory, environment, timeLimitMs, outputLimit } = command;
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason as Error);
    const child = started(program, directory, environment);
    const kept = new KeptOutput(outputLimit);
    let timedOut = false;
    let isOver = false;
    const end = (): void => {
      // A command without an id was not started. If no process of the group is left, `kill` throws.
      try {
        if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
      } catch {
        // The group has already ended.
      }
    };
    const tell = teller(() => printed?.(kept.end(TOLD_BYTES)));
    const stopped = (): void => {
      end();
      over(() => reject(signal.reason as Error));
    };
    const late = setTimeout(() => {
      timedOut = true;
      end();
    }, Math.min(timeLimitMs, 2 ** 31 - 1));
    const over = (settle: () => void): void => {
      if (isOver) return;
      isOver = true;
      clearTimeout(late);
      tell.stop();
      signal.removeEventListener("abort", stopped);
      child.stdout.destroy();
      settle();
    };
    signal.addEventListener("abort", stopped);
    child.stdout.on("data", (bytes: Uint8Array) => {
      kept.push(bytes);
      tell.more();
    });
    child.on("error", (error) => over(() => reject(notStarted(error))));
    child.on("exit", (code) => {
      // Processes that the command left in the background end with it.
      end();
      const done = () => over(() => resolve({ ...kept.finish(), exitCode: timedOut ? null : code, timedOut }));
      child.on("close", done);
      setTimeout(done, DRAIN_MS);
    });
  });
}

/** Starts the process with one stream for both of its outputs, so that they stay in order. */
function started(program: string[], cwd: string, env: Command["environment"]): ChildProcessByStdio<null, Readable, null> {
  try {
    return spawn("/bin/sh", ["-c", 'exec "$@" 2>&1', "sh", ...program], { cwd, env, detached: true, stdio: ["ignore", "pipe", "ignore"] });
  } catch (error) {
    throw notStarted(error as Error);
  }
}

function notStarted({ message }: Error): Error {
  return new Error(`the command cannot be started: ${message}`);
}

/** Calls `tell` from time to time, as long as there is more output. */
function teller(tell: () => void): { more(): void; stop(): void } {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let last = 0;
  const due = (): void => {
    timer = undefined;
    last = Date.now();
    tell();
  };
  return {
    more: () => void (timer ??= setTimeout(due, Math.max(0, last + TOLD_EVERY_MS - Date.now()))),
    stop: () => clearTimeout(timer),
  };
}
