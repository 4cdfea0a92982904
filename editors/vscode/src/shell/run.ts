// One process, with all that it starts.
import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable } from "node:stream";
import type { CommandOutput } from "headstart";
import { KeptOutput } from "./kept-output.js";

/** When the command is over, what a process that left its group still prints is waited for no longer than this. */
const DRAIN_MS = 100;
/** Whoever sees the output while it comes is told of no more of its end. */
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
 * Runs a command to its end. It is a process group of its own, ended as a whole when the command is over, when its time is up or when the
 * signal fires; a process that starts a session of its own is not reached by that. Rejects where it cannot be started, or with the signal's reason.
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
      // Without an id it was not started; where none of the group is left, there is nothing to end.
      try {
        if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
      } catch {
        // It has ended.
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
      // What it left in the background ends with it.
      end();
      const done = () => over(() => resolve({ ...kept.finish(), exitCode: timedOut ? null : code, timedOut }));
      child.on("close", done);
      setTimeout(done, DRAIN_MS);
    });
  });
}

/** One stream for all that it prints, so that it stays in order. */
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

/** Tells now and then, as long as there is more. */
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
