//! The verdict on a tool call, and what a shell command would do.
//!
//! [`Gate::judge`] takes a call as a model wrote it and says whether it may run while the user has not asked
//! for it: *allow* (it only reads), *redirect* (its writes can be staged) or *boundary* (the speculation stops
//! here). A shell command is read as bash would read it, each word down to the bytes that a program would get;
//! each program is looked up in a table that knows its options; whatever is left over is a boundary. Nothing is
//! run, opened or asked for on the way.
//!
//! ```
//! # #[cfg(feature = "shell")] {
//! use headstart_tool_gate::{CallRef, Decision, Gate, GateContext, Reason};
//! use serde_json::json;
//!
//! let context = GateContext { workspace: "/home/ada/project".to_owned(), ..GateContext::default() };
//! let args = json!({ "command": "grep -rn TODO src 2>/dev/null | head -20" });
//! let call = CallRef { name: "shell", args: args.as_object().expect("an object as written above") };
//! let verdict = Gate::new().judge(call, &context);
//! assert_eq!(verdict.decision, Decision::Allow);
//! assert_eq!(verdict.reads[0].to_string(), "src");
//!
//! let verdict = Gate::new().judge_command("find . -del\"ete\"", &context);
//! assert_eq!((verdict.decision, verdict.reason), (Decision::Boundary, Reason::Writes));
//! # }
//! ```
//!
//! # Limitations
//!
//! - The gate knows text only. A symbolic link inside the workspace that leads out of it has to be refused by the
//!   tree that opens the path, and for a command by the executor.
//! - It trusts the programs on the executor's path to be the GNU ones (or ripgrep, jq, git 2.34 or later), and the
//!   executor to run a command in [`clean_environment`] plus the verdict's [`Hardened`] form, under a time limit.
//! - What no option of git rules out (`.git/info/attributes`, a `core.worktree` outside) the executor has to check
//!   before it runs a command. A [`ConditionalCommand`] asks for it, and hands out its line only to an executor that
//!   answered.
//! - [`known_programs`] lists what is understood of which program.
//! - A command that is allowed may still print much or take long; limits are the executor's.
//!
//! # Features
//!
//! - `shell` (default): shell commands are read. Without it there is no grammar, no table of programs and no policy,
//!   which makes a small module for a host that runs no commands; every shell call is then a boundary
//!   ([`Reason::NotUnderstood`]), and the other tools are judged as before.
//! - `tool-policies`: what a user says of each tool (`GateContext::tool_policies`): ask, automatic or exclude, also for some of its calls. Without `shell`
//!   no line of a command is understood, so no rule about a command lets one run.
//!
//! # Decisions that are not obvious
//!
//! - **A command's line is handed out last** (`src/conditional.rs`). What no variable can prevent git from doing (a
//!   filter in `.git/info/attributes`, a work tree elsewhere) only the machine can tell, and a field of a verdict
//!   that says so can be overlooked. So a runner gets a value that asks one question after the other, without doing
//!   any IO itself, and that contains the line only in the answer to the last one; the npm package asks its host the
//!   same before it hands a command over.
//! - **Only the user can widen what is allowed.** The gate's own table is asked first; then a user's policy may vouch
//!   for what the table does not know. A policy that stops only adds an effect. So a project's file, which can only
//!   stop, never makes anything run or turns a denied path into a question.
//! - **A policy of a tool makes a verdict stricter, or answers a question in advance** (`src/tool_policy`). The verdict comes first. Work ahead
//!   only ever gets the stricter part, inside `Gate::judge_ahead`, so that an accept judges by it as well; the answer (`Gate::standing_consent`) is
//!   asked for by turns alone. Commands are compared as the simple commands that both readers of the line agree on
//!   (`shell/simple_commands.rs`), never as text.
//! - **A tool is judged by its declaration, the built-in ones as those of hosts** (`src/declaration`). It says which arguments are paths that are read or
//!   changed, commands, folders or addresses, what the tool does, and how people are told of it. A tool that nobody declares is a boundary, so there is
//!   no list of tools that may not run.
//! - **A host vouches for its own tools, and for nothing else** (`GateContext::tools`). A built-in tool is looked up
//!   first, under each of its names, so a host's declaration cannot replace it. A path that is declared as changed is
//!   judged as such whatever else is declared. A command runs only by the built-in shell, which gets the form that
//!   the gate proved. What a host's tool stages is checked against the rules path by path after it ran.
//! - **An edit that asks is asked about where it is applied.** In `default` mode a host may have edits of work ahead
//!   staged (`AheadWrites::Ask`; the default is a boundary). Only `Gate::judge_ahead` says so, which nobody but a
//!   speculation calls. The accept of such work answers `NeedsApproval`, and the only way to a yes is through that
//!   value, for exactly these changes. So a host that does not know about it cannot apply them, and what changed
//!   between the question and the answer (a rule, a mode, an edit) is judged again at the answer.

mod call;
mod conditional;
mod context;
#[cfg(feature = "shell")]
mod decide;
mod declaration;
mod deny;
mod elsewhere;
mod environment;
mod error;
mod files;
#[cfg(any(all(test, feature = "shell"), feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
mod gate;
#[cfg(feature = "shell")]
mod needs_host;
#[cfg(any(feature = "shell", feature = "tool-policies"))]
mod origin;
mod path_pattern;
#[cfg(feature = "shell")]
mod policy;
mod protected;
mod secrets;
#[cfg(feature = "tool-servers")]
mod server_tools;
#[cfg(feature = "shell")]
mod shadow;
#[cfg(feature = "shell")]
mod shell;
#[cfg(feature = "tool-policies")]
mod tool_policy;
mod verdict;

pub use call::CallRef;
pub use conditional::{
    ConditionalCommand, Probe, Probed, Probes, ProvenCommand, UnmetNeed, Unproven, git_config_holds_token,
    no_repository,
};
pub use context::{AheadWrites, ApprovalMode, GateContext};
pub use declaration::{Behaviour, Declaration, Role, Words, built_in, ours};
pub use deny::{DenyRule, DenyRules};
pub use elsewhere::{CommandRead, ElsewhereVerdict, Extent, ReadNames, UsedVariable};
pub use environment::clean_environment;
pub use error::GateError;
pub use files::Access;
pub use gate::{DecidingPolicy, Gate, StandingConsent};
#[cfg(any(feature = "shell", feature = "tool-policies"))]
pub use origin::PolicyOrigin;
#[cfg(feature = "shell")]
pub use policy::{Policies, PolicyDecision, PolicyOperands, PolicyRule};
pub use protected::{PROTECTED_FILES, ProtectedFiles, protected};
pub use secrets::{SECRET_FILES, SecretFiles, is_test_data};
#[cfg(feature = "shell")]
pub use shell::{KnownProgram, ProgramKind, known_programs};
#[cfg(feature = "tool-policies")]
pub use tool_policy::{
    SessionRule, ToolDecision, ToolPolicies, ToolPolicy, ToolPolicyError, ToolRule, ToolTable,
};
pub use verdict::{Decision, Effect, EffectKind, GitNeeds, Hardened, Reason, Verdict};
