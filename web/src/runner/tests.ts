import workerSource from "./guest/worker.js?raw";
import { LoadError, Modules } from "./modules.js";

/** The output of a test run, and how it ended. */
export interface TestRun {
  output: string;
  exitCode: number;
  timedOut: boolean;
}

interface Told {
  name: string;
  message: string;
  stack: string;
}

type Report =
  | { line: string }
  | { name: string; depth: number; suite: true }
  | { name: string; depth: number; skipped: true }
  | { name: string; depth: number; ms: number; error?: Told }
  | { broken: Told }
  | { done: true };

const TEST_FILE = /(^|\/)(test|[^/]*[-_.]test|test-[^/]*)\.m?js$|(^|\/)test\/(.*\/)?[^/]*\.m?js$/;

/** The files that `node --test` would run, sorted. */
export function testFiles(paths: Iterable<string>): string[] {
  return [...paths].filter((path) => TEST_FILE.test(path) && !path.includes("node_modules/")).sort();
}

/** Runs each test file in a worker of its own, because Node runs each in a process of its own. */
export async function runTests(
  files: ReadonlyMap<string, string>,
  chosen: readonly string[],
  options: { timeLimitMs: number; signal: AbortSignal },
): Promise<TestRun> {
  const run = new Run(await Modules.open(files));
  const deadline = performance.now() + options.timeLimitMs;
  try {
    for (const path of chosen) {
      if (!(await run.file(path, deadline, options.signal))) return run.end(true);
    }
    return run.end(false);
  } finally {
    run.close();
  }
}

class Run {
  readonly #modules: Modules;
  readonly #worker = URL.createObjectURL(new Blob([workerSource], { type: "text/javascript" }));
  readonly #lines: string[] = [];
  readonly #started = performance.now();
  #passed = 0;
  #failed = 0;
  #skipped = 0;

  constructor(modules: Modules) {
    this.#modules = modules;
  }

  close(): void {
    this.#modules.close();
    URL.revokeObjectURL(this.#worker);
  }

  /** Runs one file. Gives `false` if the time was over before the file had ended. */
  async file(path: string, deadline: number, signal: AbortSignal): Promise<boolean> {
    let entry: string;
    try {
      entry = this.#modules.url(path);
    } catch (error) {
      if (!(error instanceof LoadError)) throw error;
      this.#fail(path, 0, error.message);
      return true;
    }
    const worker = new Worker(this.#worker, { type: "module", name: path });
    try {
      return await this.#watch(worker, path, entry, deadline, signal);
    } finally {
      worker.terminate();
    }
  }

  #watch(worker: Worker, path: string, entry: string, deadline: number, signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#fail(path, 0, "did not end in time");
        resolve(false);
      }, deadline - performance.now());
      const settle = (act: () => void) => {
        clearTimeout(timer);
        signal.removeEventListener("abort", onAbort);
        act();
      };
      const onAbort = () => settle(() => reject(signal.reason));
      signal.addEventListener("abort", onAbort, { once: true });
      if (signal.aborted) return onAbort();
      worker.onmessage = ({ data }: MessageEvent<Report>) => {
        if ("done" in data) settle(() => resolve(true));
        else this.#note(path, data);
      };
      worker.onerror = (event) => {
        event.preventDefault();
        this.#fail(path, 0, event.message || "the worker could not be started");
        settle(() => resolve(true));
      };
      worker.postMessage({ test: this.#modules.test, entry });
    });
  }

  #note(path: string, report: Exclude<Report, { done: true }>): void {
    if ("line" in report) this.#lines.push(this.#modules.readable(report.line));
    else if ("broken" in report) this.#fail(path, 0, ...this.#told(report.broken));
    else if ("suite" in report) this.#lines.push(`${indent(report.depth)}▶ ${report.name}`);
    else if ("skipped" in report) {
      this.#skipped += 1;
      this.#lines.push(`${indent(report.depth)}﹣ ${report.name} # SKIP`);
    } else if (report.error) {
      this.#fail(`${report.name} (${report.ms.toFixed(2)}ms)`, report.depth, ...this.#told(report.error));
    } else {
      this.#passed += 1;
      this.#lines.push(`${indent(report.depth)}✔ ${report.name} (${report.ms.toFixed(2)}ms)`);
    }
  }

  #fail(name: string, depth: number, ...why: string[]): void {
    this.#failed += 1;
    this.#lines.push(`${indent(depth)}✖ ${name}`, ...why.map((line) => `${indent(depth + 1)}${line}`));
  }

  /** The lines for an error: its message, and the first place of the project in its stack. */
  #told(error: Told): string[] {
    const stack = this.#modules.readable(error.stack);
    const at = stack.split("\n").find((line) => /\bat\b/.test(line) && /\.m?js:\d+/.test(line) && !line.includes("node:"));
    const message = this.#modules.readable(`${error.name}: ${error.message}`).split("\n");
    return at ? [...message, `  ${at.trim()}`] : message;
  }

  end(timedOut: boolean): TestRun {
    const tests = this.#passed + this.#failed + this.#skipped;
    const counts = { tests, pass: this.#passed, fail: this.#failed, skipped: this.#skipped };
    for (const [name, count] of Object.entries(counts)) this.#lines.push(`ℹ ${name} ${count}`);
    this.#lines.push(`ℹ duration_ms ${(performance.now() - this.#started).toFixed(1)}`);
    return { output: `${this.#lines.join("\n")}\n`, exitCode: this.#failed || timedOut ? 1 : 0, timedOut };
  }
}

const indent = (depth: number) => "  ".repeat(depth);
