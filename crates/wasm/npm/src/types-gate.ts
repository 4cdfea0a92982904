// The gate.

/**
 * How much the user lets an agent do without being asked. `plan`: reads run, nothing is written. `chat`: the model is offered no
 * tools, and verdicts are those of `plan`. `default`: reads run, every write asks. `auto-edit`: edits of files run, too. `yolo`: the user's own turns ask nothing; a speculation treats it as `auto-edit`.
 */
export type ApprovalMode = "plan" | "chat" | "default" | "auto-edit" | "yolo";

/** What a verdict depends on besides the call. */
export interface GateContext {
  /** Default: `default`. */
  mode?: ApprovalMode | undefined;
  /**
   * Where the workspace is: an absolute path as bash spells it, from which relative paths start. On Windows that is
   * `/c/project` for `C:\project`; in calls, a path with a backslash is an unusual name in the workspace. Default:
   * `/workspace`.
   */
  workspace?: string | undefined;
  /** Paths that no tool may touch, as in `.gitignore`: `.env`, `*.pem`, `/config/prod.yml`. */
  deny?: string[] | undefined;
  /**
   * If `false`, files whose names suggest a secret (`.env`, `*.pem`, `id_rsa`, `credentials.json`, …) are treated like
   * all others. By default they are boundaries, with the reason `secret_path`. Leave it out unless your user said so.
   */
  denyDefaults?: boolean | undefined;
  /** What the user adds to what the gate knows of programs. */
  policies?: PolicyRule[] | undefined;
}

/** A rule about a program: `{ program: "terraform", words: ["show"], decision: "allow" }`. */
export interface PolicyRule {
  /** The plain name of the program. */
  program: string;
  /** The words behind the name: a sub-command. */
  words?: string[] | undefined;
  /**
   * For an allow: every option that may be given, as `--check`, `--format=json`, `--format=VALUE`, `--format VALUE` or `-jVALUE`. For a
   * boundary: options of which one must be there.
   */
  options?: string[] | undefined;
  /** For an allow: options of which each must be given, in the same forms. */
  requires?: string[] | undefined;
  /** For an allow: what else may be given. Default: `none`. */
  operands?: "none" | "files" | "any" | undefined;
  /** `allow`: you say that it only reads. `boundary`: it asks first, whatever the gate knows of it. */
  decision: "allow" | "boundary";
  /** Why, for people. */
  reason?: string | undefined;
  /** Commands that this rule must decide; this is checked when the rule is added. */
  match?: string[] | undefined;
  /** Commands that it must not decide. */
  not_match?: string[] | undefined;
}

/**
 * What happens to a tool's calls. `automatic`: a turn asks nobody, and nothing changes for work ahead; `ask`: the user
 * is asked in every mode; `exclude`: the tool is not offered.
 */
export type ToolPolicy = "automatic" | "ask" | "exclude";

/** A policy for some calls of a tool. */
export interface ToolRule {
  /** The tool's name; `*` stands for any text. */
  tool: string;
  /**
   * Arguments by name, each with a pattern that it has to match: `path` a glob of workspace paths, `command` the words
   * of a simple command (a line matches if each of its commands does), any other argument a text in which `*` stands
   * for any text.
   */
  when?: Record<string, string> | undefined;
  policy: ToolPolicy;
}

/**
 * A user's rules for tools, as in `[tools]` in the file of the program `headstart`: `{ default: "ask", read_file:
 * "automatic", rule: [{ tool: "shell", when: { command: "cargo test *" }, policy: "automatic" }] }`. Rules come first,
 * then names, then `default`; if none of them decides, the mode does.
 */
export type ToolPolicies = { default?: ToolPolicy | undefined; rule?: ToolRule[] | undefined } & { [tool: string]: ToolPolicy | ToolRule[] | undefined };

/** What a call would do. */
export type EffectKind =
  | "readOnly"
  | "writesWorkspace"
  | "writesOutside"
  | "network"
  | "executes"
  | "readsOutside"
  | "environment"
  | "nonTerminating"
  | "unknown";

/** Why the gate decided so, for programs. */
export type VerdictReason =
  | "read_only"
  | "staged_write"
  | "staged_asks_first"
  | "invalid_argument"
  | "ambiguous_path"
  | "write_tool_no_auto"
  | "outside_workspace"
  | "denied_path"
  | "secret_path"
  | "protected_path"
  | "unknown_tool"
  | "writes"
  | "network"
  | "executes"
  | "reads_outside"
  | "environment"
  | "reads_staged"
  | "policy"
  | "non_terminating"
  | "not_understood"
  | "limit";

/** What the gate says of a call. */
export interface Verdict {
  /** `allow`: it runs. `redirect`: it runs, and its writes are staged. `boundary`: it does not run without consent. */
  decision: "allow" | "redirect" | "boundary";
  /** Why, for programs. */
  reason: VerdictReason;
  /** Why, for people. */
  detail: string;
  /** What it would do. At a boundary, only what makes it one: the parts of a command that just read are left out. */
  effects: {
    kind: EffectKind;
    detail: string;
    /** Where in a shell command, in bytes of UTF-8; `classifyShell` has `parts` in JavaScript's own offsets. */
    span?: [from: number, to: number];
  }[];
  /**
   * Paths in the workspace that may be read: `.` is all of it, a folder stands for everything below it. The list is
   * complete unless the verdict is a boundary. There it is what was found so far, and may contain an operand that is
   * written, for example the output file of `sort -o`.
   */
  reads: string[];
  /**
   * The file that a call of a file tool writes, and files behind `>` in a command. What a program itself writes
   * (`rm a`, `cp a b`, `tee a`) is not looked up: such a command is a boundary whatever its operands are, and `effects`
   * tell the kind.
   */
  writes: string[];
  /** How an allowed command must run, if its plain form could do more than read. */
  hardened?: Hardened;
}

/** The form in which an allowed command must run, over an environment without anything that names programs. */
export interface Hardened {
  /** Variables that must be set. They are frozen, because several verdicts share them. */
  environment: Readonly<Record<string, string>>;
  /** The command to run instead. */
  command?: string;
  /** What must hold if the command starts git. */
  git?: GitNeeds;
}

/**
 * Requirements that no variable can make git meet, so you have to check them before the command runs; if they do not
 * hold, it must not run. An engine checks them with your `look`.
 */
export interface GitNeeds {
  /** `git version` is at least this. */
  version: [major: number, minor: number];
  /** Folders of the workspace from which git looks for a repository. */
  folders: string[];
  /** Files below `.git` that must not exist, or must not contain the words `filter`, `diff`, `merge` and `[attr]`. */
  hides: string[];
  /** Whether the command may show the repository's configuration. Then that must hold no password and no token. */
  showsSettings?: boolean;
}

/** A verdict on a shell command, with its parts. */
export interface Classified extends Verdict {
  /** Where in the command each of the `effects` comes from, sorted by `from`, in UTF-16 units as in `command.slice(from, to)`. They may overlap. */
  parts: { from: number; to: number; kind: EffectKind; detail: string }[];
}

/** A call of a tool, as a model wrote it. */
export interface ToolCall {
  /** Pairs it with its result; unique in a conversation. */
  id: string;
  name: string;
  args: Record<string, unknown>;
}
