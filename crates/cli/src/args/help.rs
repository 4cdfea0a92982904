//! Help texts that teach: what a command is for, and lines to try.

pub(super) const STATE_DIR: &str =
    "The folder that keeps speculations [env: HEADSTART_STATE_DIR] [default: $XDG_STATE_HOME/headstart]";
pub(super) const MODEL: &str = "PROVIDER:NAME of anthropic, gemini, openai, responses, dashscope or ollama; or replay:FILE, in a chat also replay:demo [env: HEADSTART_MODEL]";
pub(super) const FAST_MODEL: &str =
    "The model of suggestions and speculation, if another one [env: HEADSTART_FAST_MODEL]";
pub(super) const BASE_URL: &str = "Where the model's provider is reached [env: HEADSTART_BASE_URL]";
pub(super) const MODE: &str = "How much runs without a question [env: HEADSTART_MODE] [default: default]";

pub(super) const ABOUT: &str = "\
headstart predicts what you will ask a coding agent next, runs that prompt in a copy-on-write view of \
your project while you still read, and hands the finished work over the moment you press Tab. If you \
type something else, it leaves no trace.

Start with `headstart demo`: it shows the whole flow in a few seconds and needs neither key nor \
network. With `headstart chat --model replay:demo` you press Tab yourself. Then run `headstart chat` in a \
project of your own: it says which models it sees. Or drive the other commands from any language with --json.";

pub(super) const AFTER: &str = "\
Exit codes:
  0  done
  1  failed; standard error says why
  2  usage: the command line or the environment asks for what does not exist (a mistake in a
     configuration file is 1)
  3  a speculation stopped at a boundary, a call that needs your consent; or a chat on a pipe
     declined one, because nobody could be asked
  4  conflict: the workspace changed meanwhile, and nothing was written
Ctrl-C (SIGINT), SIGTERM or SIGHUP: what is at work is given up, and the command ends by that \
signal; a shell says 130, 143 or 129.

Approval modes (--mode):
  plan       reads run, nothing is written
  chat       the model has no tools and answers in words
  default    reads run, writes are staged, and asked about once at the end of a turn;
             without views each asks when it comes
  auto-edit  edits of files run too
  yolo       your own turns ask nothing; a speculation treats it as auto-edit

Configuration, each layer over the one before:
  your file     $XDG_CONFIG_HOME/headstart/config.toml
                model, fast_model, base_url, mode, deny, deny_defaults, suggestions, speculation;
                candidates: how many suggestions at a time, 3 at most;
                at_boundary = \"commit\" or \"discard\": what becomes of work that needs consent; in
                [requests] retries, connect_seconds, first_byte_seconds, idle_seconds,
                stalled_seconds, cache_seconds; in [limits] turns, messages, tokens, staged_files,
                staged_bytes, staged_file_bytes, staged_depth, time_seconds, command_seconds; [tools] and
                [[policy]] (docs/policies.md); [mcp.NAME] and [http_tool.NAME]: tools of others
                (docs/tool-servers.md); rules = false: the project's own rules go to no model;
                in [code-index] enabled, history, max_bytes, embeddings, rerank (docs/code-index.md);
                [shadow]: views for commands that write (docs/formats.md);
                background = \"off\", \"auto\" or \"always\": the one switch of all work ahead;
                what it may cost and keep: ledger, [budget], [models.\"MODEL\"] (docs/formats.md)
  project file  WORKSPACE/.headstart/config.toml
                can only make things stricter: add deny rules, lower mode and limits, turn
                background work off; and choose another model of your provider
  environment   HEADSTART_MODEL, HEADSTART_FAST_MODEL, HEADSTART_BASE_URL, HEADSTART_MODE,
                HEADSTART_SUGGEST=off, HEADSTART_SPECULATE=off, HEADSTART_SHADOW=off,
                HEADSTART_BACKGROUND=off, HEADSTART_RULES=off, HEADSTART_SESSIONS=off,
                HEADSTART_SCREEN_READER=on
  flags
Deny rules of both files count together. Keys come from the environment alone: ANTHROPIC_API_KEY, \
GEMINI_API_KEY (or GOOGLE_API_KEY), OPENAI_API_KEY, DASHSCOPE_API_KEY, OLLAMA_API_KEY.

With --json a command that fails ends with {\"type\":\"error\",\"message\":...} on standard output; where \
a model's run fails, its {\"type\":\"finished\",\"status\":\"failed\",\"error\":...,\"code\":...} says so.";

pub(super) const DEMO: &str = "\
Everything is real but the model: a recording stands in for it. The sample project is copied to a \
temporary folder, and nothing else is touched.

Examples:
  headstart demo";

pub(super) const CHAT: &str = "\
Tab takes the grey suggestion and the work done ahead for it; in default mode you are asked once before anything is written. \
Right puts it into the prompt to be edited, Esc dismisses it, typing something else drops the work. \
Where there are more suggestions, Down lists them, and 1, 2 or 3 takes one.

Examples:
  headstart chat --model replay:demo           a recording, in a sample project of its own
  headstart chat --model ollama:NAME \"why does the test fail?\"
  ANTHROPIC_API_KEY=... headstart chat --model anthropic:NAME --mode auto-edit
  headstart chat --model openai:NAME --base-url http://localhost:8000/v1
  headstart chat --continue                    the last conversation here goes on
  HEADSTART_SPECULATE=off headstart chat";

pub(super) const SESSIONS: &str = "\
Each chat is kept in the state folder, without keys and tokens that are known by their shape, until there are 100 of a workspace or 256 MiB. \
`sessions = false` in a configuration file, or HEADSTART_SESSIONS=off, keeps none.

Examples:
  headstart sessions
  headstart chat --continue
  headstart chat --resume k3v
  headstart sessions show k3v
  headstart sessions remove k3v";

pub(super) const SUGGEST: &str = "\
The history is a JSON array of messages:
  [{\"role\":\"user\"|\"model\"|\"tool\",\"parts\":[{\"type\":\"text\",\"text\":...},
    {\"type\":\"toolCall\",\"id\":...,\"name\":...,\"args\":{...}},
    {\"type\":\"toolResult\",\"id\":...,\"name\":...,\"output\":... or \"error\":...}]}]

Examples:
  headstart suggest --history chat.json --model ollama:NAME
  headstart suggest --history chat.json --model replay:recording.json --json";

pub(super) const SPECULATE: &str = "\
Nothing in the workspace changes: what the tools write is staged, and kept for `diff`, `accept` and \
`abort`. The speculation stops, with exit code 3, at the first call that can neither be staged nor run \
in a view without your yes. With --json the last line is \
 {\"type\":\"finished\",\"id\":...,\"status\":...,\"changes\":[...],...}.

Examples:
  headstart speculate --model ollama:NAME --mode auto-edit \"fix the failing test\"
  headstart speculate --workspace ../site --model replay:recording.json --json \"add a footer\"";

pub(super) const LIST: &str = "\
Of the workspace that you stand in, or name with --workspace; --all shows those of all. The newest come first. \
Status: running, completed, boundary, exhausted or failed (how it ended), accepted, aborted, and \
interrupted (its process died). A record that cannot be read is reported and left alone.

Examples:
  headstart list
  headstart list --all
  headstart list --json | jq -r 'select(.status == \"completed\") | .id'";

pub(super) const SHOW: &str = "\
Examples:
  headstart show 7k2m
  headstart show 7k2m --json";

pub(super) const DIFF: &str = "\
With --json: one object a file, with its counts and its part of the diff.

Examples:
  headstart diff 7k2m
  headstart diff 7k2m --patch | git apply --check";

pub(super) const ACCEPT: &str = "\
If a file that the work rests on has changed meanwhile, nothing is written and the exit code is 4; \
only edits in other places of a text are merged. \
If the speculation stopped at a boundary, what it did before is applied, the pending call is shown, \
and the exit code is 3; with `at_boundary = \"discard\"` in your configuration nothing is applied, and the exit \
code is 1. \
A speculation of another workspace is accepted only where that is named or you agree to it.

Examples:
  headstart accept 7k2m
  headstart accept 7k2m --require-fresh
  headstart accept 7k2m --workspace ../site";

pub(super) const ABORT: &str = "\
A speculation that another process still runs is told to stop. One whose record is damaged is removed; \
what of it was accepted stays in the workspace.

Examples:
  headstart abort 7k2m";

pub(super) const UNDO: &str = "\
Everything that the turn or the accept replaced or removed is back, or nothing is: if one of its files \
has changed since, the exit code is 4. Of the repository, what work ahead did goes back too, and what \
of these files was staged is not staged any more. The last 20 changes of a workspace are kept, up to \
256 MiB. A speculation can be accepted again.

Examples:
  headstart undo                               the last turn of a chat, or accept, that wrote here
  headstart undo 7k2m
  headstart diff 7k2m --patch | git apply --reverse     for one that is not kept any more";

pub(super) const SWEEP: &str = "\
Removed: speculations whose process died, those accepted or aborted long ago, what a killed accept \
left in a workspace, and what is kept to undo accepts in a workspace that is long gone. Left: what \
runs, what waits for your decision (unless --undecided), and every file that headstart does not \
understand.

Examples:
  headstart sweep
  headstart sweep --older-than 0 --undecided";

pub(super) const STATS: &str = "\
The ledger of a project is a file of JSON Lines in the state folder. Wasted is what went into prompts \
that ran ahead and were not taken, and into queries for suggestions. Amounts of the policy are in \
input tokens of the conversation's model: a token from the cache counts a tenth, one written four, \
or what `prices` of a model in your configuration say.

Examples:
  headstart stats
  headstart stats --json | jq 'select(.type == \"kind\") | {kind, runs, why}'";

pub(super) const EVALUATE: &str = "\
For each prompt that follows a finished turn, your own model is asked what you would type, with the conversation up to there, and its suggestions are \
compared with what you did type. The files are only read; what is in them goes to that model and nowhere else, without keys that are known by \
their shape. Before anything is sent you are told how many requests that is and what they cost at most. Where the sessions are:
  ~/.claude/projects  ~/.qwen/projects  ~/.codex/sessions  ~/.gemini/tmp  ~/.local/state/headstart/sessions
docs/evaluate.md tells what the columns mean.

Examples:
  headstart evaluate ~/.claude/projects --dry-run
  headstart evaluate ~/.claude/projects ~/.codex/sessions --model ollama:NAME
  headstart evaluate session.jsonl --limit 10 --show
  headstart evaluate ~/.qwen/projects --yes --json | jq 'select(.type == \"total\")'";

pub(super) const KEYS: &str = "\
Each line names an action, its keys and what it does. [keys] in your own configuration file gives an action other keys; docs/chat.md \
tells how they are written. A key that does two things is an error that names both.

Examples:
  headstart keys
  headstart keys --json";

pub(super) const TOOLS: &str = "\
Each line names a tool, its policy (automatic, ask, exclude, or mode where nothing is said of it), what the mode says, and which \
entry of which file says something. [tools] in a configuration file sets policies; docs/policies.md tells how.

Examples:
  headstart tools
  headstart tools --mode plan
  headstart tools --json --workspace ../site";

#[cfg(feature = "mcp")]
pub(super) const TOOL_SERVERS: &str = "\
Servers of the Model Context Protocol (MCP) are named in a configuration file, [mcp.NAME], tools behind an address in \
[http_tool.NAME]; docs/tool-servers.md tells how, and how [web] names a service that searches. One that the project's file names starts only after you said yes.

Examples:
  headstart tool-servers
  headstart tool-servers test github
  headstart tool-servers test github --json
  headstart tool-servers allow docs
  headstart tool-servers login docs
  headstart tool-servers logout docs";

pub(super) const GATE: &str = "\
Without COMMAND the calls are read from standard input. Each line is {\"tool\":NAME,\"args\":{...}} or, for a shell command, {\"cmd\":\"...\"}; other fields are \
ignored. Each answer is
  {\"decision\":\"allow\"|\"redirect\"|\"boundary\",\"reason\":CODE,\"detail\":TEXT,
   \"effects\":[...],\"reads\":[...],\"writes\":[...]}
With --shadow the decision of a command may be \"shadow\": it runs ahead in a view, and what it writes is staged. \
A line that is no such call is a boundary with the reason invalid_input, so answer N is always that \
of line N. Nothing is run or read; the workspace need not exist here. The exit code is 0 whatever the verdict is.
--mode changes the verdicts on edits alone.

Examples:
  headstart gate --brief 'git log --oneline | head'
  headstart gate --explain 'git log'
  echo '{\"cmd\":\"cargo test\"}' | headstart gate --shadow
  headstart gate --mode auto-edit --workspace /srv/site < calls.jsonl";

pub(super) const HOOK: &str = "\
A product that asks before it runs a command starts this, and gets \"allow\" where the gate proves that the command only reads. All else \
gets no answer, and the product asks as it always did. Nothing is ever allowed that the gate does not allow. Claude Code is told to \
run the command through `headstart run --read-only`; the others run it as it is, which is allowed only where no variable, no folder on \
PATH and no other shell than bash can make something else of it. What remains there: aliases and functions of your own shell.

Examples:
  headstart hook claude-code --install
  headstart hook claude-code --check 'git log -1'
  headstart hook gemini-cli --install --deny
  headstart hook codex --uninstall";

#[cfg(feature = "mcp")]
pub(super) const MCP: &str = "\
Another agent starts this as a server of the Model Context Protocol, and calls what these commands do: gate, run --read-only, search, \
shadow run, shadow diagnostics, list, show, diff and accept. Only ahead_accept changes a file. No tool takes a path of the workspace: it \
is that of --workspace, or the one folder that the client works in. (`headstart tool-servers` is the other way round: servers whose tools \
a chat here may use.) docs/mcp.md has the rest.

Example:
  headstart mcp --workspace ~/project";

#[cfg(feature = "acp")]
pub(super) const ACP: &str = "\
An editor starts this and talks to it: each of its sessions is a chat in the folder that it names, with your configuration, and what \
is suggested after a turn runs ahead there as in a chat. Editors that know suggestions show them; in all others the command /next takes \
the one that its description names. /diff, /undo, /stats and /ahead on|off are there, too. Answers, files and keys never go to standard \
error. docs/acp.md has the settings of editors.

Examples:
  headstart acp --model anthropic:claude-sonnet-5
  headstart acp --setup";

#[cfg(feature = "acp")]
pub(super) const ACP_PROXY: &str = "\
An editor starts this in place of its agent. All messages pass through as they are. After a turn a second process of the agent, in a \
copy-on-write view of the project, is asked for the next prompt and does it; what it did is shown and written when you take the \
suggestion, in editors that show them or by the command /next, and is gone without a trace when you type something else. docs/acp-proxy.md says for \
which agents, and what they may do meanwhile. Messages never go to standard error; the agent's own does.

Examples:
  headstart acp-proxy -- claude-agent-acp
  headstart acp-proxy --suggestions off -- my-agent --acp";

pub(super) const RUN: &str = "\
The gate judges the command as it judges work ahead. One that only reads runs in a clean environment, below Landlock, git in its \
hardened form; its exit code, output and signals are the command's. Any other does not run: the exit code is 125, and standard \
error says why. It runs in the current folder, which has to be in the workspace. With --json one line says whether it ran, and holds what \
it printed.

Examples:
  headstart run --read-only -- 'grep -rn TODO src | head'
  headstart run --read-only -- git log -1";

pub(super) const SHADOW: &str = "\
Work that runs ahead may run commands that write (tests, builds, formatters) in a view: a copy-on-write \
picture of the workspace at its own path, without a network, a socket or a secret. What they wrote is \
staged. Where there is no view, such a command stops the work as before. `[shadow]` in your \
configuration sets limits; `enabled = false` switches views off.

Examples:
  headstart shadow check
  headstart shadow run -- cargo test";

pub(super) const SHADOW_RUN: &str = "\
The exit code is the command's; 125 where there is no view or --network was refused, 4 where --apply met a conflict.

Examples:
  headstart shadow run -- cargo fmt
  headstart shadow run --speculation 7k2m -- cargo test
  headstart shadow run --apply -- npx prettier --write src
  headstart shadow run --network --apply -- npm install";

pub(super) const SHADOW_WARM: &str = "\
The command runs in a view of the files as they are. What it builds (target, node_modules, ...) is kept in the state \
folder, and every view begins with it until the folder on disk is built anew.

Examples:
  headstart shadow warm -- cargo test --no-run
  headstart shadow warm";

pub(super) const SHADOW_SERVE: &str = "\
Speaks the exchange of docs/formats.md until its input ends. It keeps a copy of each workspace that was sent \
(`[shadow] copy_bytes` in the user's file bounds all of them), and runs commands in views over it. With --here there \
is no copy: an editor on this machine has commands of work ahead run in views over the folder itself, and stages what they changed.

In the configuration of the machine that has the workspace:
  [shadow]
  remote = [\"ssh\", \"-oBatchMode=yes\", \"builder\", \"headstart\", \"shadow\", \"serve\"]";

pub(super) const SHADOW_DIAGNOSTICS: &str = "\
What is new is compared with the workspace on disk, where a server is started first; that may take a while. \
The exit code is 0, or 1 where there are new errors or no answer.

Examples:
  headstart shadow diagnostics src/lib.rs
  headstart shadow diagnostics --speculation 7k2m src/lib.rs src/main.rs";

pub(super) const DOCTOR: &str = "\
Looks at the configuration, the model's key or server, the state folder, git, commands, views, language servers and \
the terminal. Nothing is sent to a model. What is missing has a line that says what to do. The exit code is 1 where \
a chat is not possible. With --json each line is {\"type\":\"check\",\"name\",\"state\",\"detail\",\"help\"}.

Examples:
  headstart doctor
  headstart doctor --json";

pub(super) const FILTER: &str = "\
Each line is {\"text\":\"...\"}; other fields are ignored. Each answer is {\"keep\":true} or \
{\"keep\":false,\"reason\":CODE}. A line that is no such object is not kept, with the reason \
invalid_input, so answer N is always that of line N.

Examples:
  echo '{\"text\":\"run the tests\"}' | headstart filter";

pub(super) const MATCH: &str = "\
Each line is {\"guess\":\"...\",\"typed\":\"...\"} and what the model said of the guess, if anything: \"kind\" \
(permission, choice, habit, plan or trade), \"sign\" of the option it takes, and \"also\", a list of other wordings. \
Each answer is {\"match\":\"match\",\"rule\":RULE}, {\"match\":\"extends\",\"rule\":\"adds\",\"adds\":TEXT} \
or {\"match\":\"no\",\"rule\":\"none\"}. A line that is no such object has the answer no, with the reason invalid_input.

Examples:
  echo '{\"guess\":\"yes, rename it\",\"kind\":\"permission\",\"typed\":\"sure\"}' | headstart match";

pub(super) const SEARCH: &str = "\
The best place first: path:line, the definition there, and two of its lines with the words that were asked for. \
With --json each place is a line {\"path\",\"lines\",\"score\",\"symbol\",\"why\"}. The exit code is 1 where nothing fits, and 2 where --path is wrong. The index follows the files for two seconds \
before it answers; standard error says where it is not whole yet.

Examples:
  headstart search 'where are passwords checked?'
  headstart search parse_query
  headstart search 'retry of failed requests in crates/providers' --json";

pub(super) const INDEX: &str = "\
The index is a database in the state folder, one for each project, that only you can read. Files that a \
.gitignore or .headstart/ignore leaves out, and those that a deny rule covers, are not in it. In the home \
folder and above it the folder has to be named.

Examples:
  headstart index
  headstart index status --json
  headstart index rebuild";

pub(super) const COMPLETIONS: &str = "\
Examples:
  headstart completions bash > ~/.local/share/bash-completion/completions/headstart
  headstart completions zsh > \"${fpath[1]}/_headstart\"
  headstart completions fish > ~/.config/fish/completions/headstart.fish";
