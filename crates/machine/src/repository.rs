//! The repository of a workspace, for the tool that shows the differences from the last commit.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use headstart_overlay_fs::WorkspacePath;
use headstart_tool_gate::{ConditionalCommand, Decision, DenyRules, Gate, GateContext, ToolPolicies};
use headstart_toolbox::{
    CommandEnvironment, CommandOutput, CommandRequest, CommandRunner, CommittedFile, Repository,
    RepositoryStatus, SecretAccess, ToolError,
};

use crate::shell_words::shell_line;

/// The time limit for one question to git.
const TIME: Duration = Duration::from_secs(20);
/// The most bytes of git's answer that are kept.
const MAX_BYTES: usize = 8 * 1024 * 1024;

/// Asks git with commands that are judged, hardened and confined, as every command that nobody was asked about.
pub(crate) struct GitRepository {
    runner: Arc<dyn CommandRunner>,
}

/// The kind of question.
#[derive(Clone, Copy, PartialEq, Eq)]
enum QueryKind {
    /// Only names, for which git may have to compare files that a rule closes.
    Names,
    /// Content of files.
    Content,
}

impl GitRepository {
    pub(crate) fn new(runner: Arc<dyn CommandRunner>) -> Self {
        Self { runner }
    }

    async fn git(
        &self,
        words: &[&str],
        asked: QueryKind,
        rules: &GateContext,
    ) -> Result<CommandOutput, ToolError> {
        let failed = |message: String| ToolError::failed(message);
        let line = shell_line(["git", "-c", "core.quotepath=off"].iter().chain(words));
        // Closed paths are judged by the caller, who only names open files, so no path is closed here.
        let open = DenyRules::default().with_secrets_open();
        let judged = GateContext { deny: open, tool_policies: ToolPolicies::default(), ..rules.clone() };
        let verdict = Gate::new().judge_command(&line, &judged);
        if verdict.decision != Decision::Allow {
            return Err(failed(format!("git may not be asked: {}", verdict.detail)));
        }
        let secrets = match asked {
            QueryKind::Names => SecretAccess::Open,
            QueryKind::Content => SecretAccess::of(&rules.deny),
        };
        let request = CommandRequest {
            command: ConditionalCommand::allowed(&line, verdict.hardened.as_ref()),
            directory: WorkspacePath::root(),
            environment: CommandEnvironment::Clean,
            secrets,
            deny: DenyRules::default(),
            time_limit: TIME,
            output_limit: MAX_BYTES,
        };
        let done = self.runner.run(request).await?;
        if done.timed_out {
            return Err(failed(format!("git did not answer within {} s", TIME.as_secs())));
        }
        if done.truncated {
            return Err(failed(format!("git says more than {MAX_BYTES} bytes; name a path")));
        }
        Ok(done)
    }
}

#[async_trait]
impl Repository for GitRepository {
    async fn status(&self, rules: &GateContext) -> Result<Option<RepositoryStatus>, ToolError> {
        let words = ["status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=normal", "--", "."];
        let done = self.git(&words, QueryKind::Names, rules).await?;
        if done.exit_code == Some(0) {
            let top = self.git(&["rev-parse", "--show-prefix"], QueryKind::Names, rules).await?;
            return Ok(Some(status_of(&done.output, top.output.trim_end_matches('\n'))));
        }
        if done.output.contains("not a git repository") {
            return Ok(None);
        }
        Err(refused(&done))
    }

    async fn diff(
        &self,
        paths: &[WorkspacePath],
        indexed: bool,
        rules: &GateContext,
    ) -> Result<String, ToolError> {
        let names: Vec<_> = paths.iter().map(ToString::to_string).collect();
        let mut words = vec!["--literal-pathspecs", "diff", "--relative", "--no-color", "--no-renames"];
        words.extend(indexed.then_some("--cached"));
        words.extend(["HEAD", "--"]);
        words.extend(names.iter().map(String::as_str));
        let done = self.git(&words, QueryKind::Content, rules).await?;
        if done.exit_code == Some(0) { Ok(done.output) } else { Err(refused(&done)) }
    }

    async fn committed(&self, path: &WorkspacePath, rules: &GateContext) -> Result<CommittedFile, ToolError> {
        let name = format!("HEAD:./{path}");
        let done = self.git(&["cat-file", "blob", &name], QueryKind::Content, rules).await?;
        Ok(match done.exit_code {
            // Output that is not text contains these characters in place of its bytes.
            Some(0) if done.output.contains(['\0', '\u{fffd}']) => CommittedFile::Binary,
            Some(0) => CommittedFile::Text(done.output),
            _ => CommittedFile::Absent,
        })
    }
}

fn refused(done: &CommandOutput) -> ToolError {
    if ["bad revision 'HEAD'", "ambiguous argument 'HEAD'"].iter().any(|said| done.output.contains(said)) {
        let message = "the repository has no commit yet, so there is nothing to compare with".to_owned();
        return ToolError::failed(message);
    }
    let said = done.output.lines().next().unwrap_or("nothing");
    ToolError::failed(format!("git does not tell it: {said}"))
}

/// Reads the output of `git status --porcelain=v1 -z`, whose paths begin at the top of the repository. `prefix` is the
/// path of the workspace there, empty or with a slash at its end.
fn status_of(said: &str, prefix: &str) -> RepositoryStatus {
    let mut status = RepositoryStatus::default();
    for entry in said.split('\0') {
        // Git prints a warning before the entry at which it found the problem.
        let entry =
            entry.rsplit_once('\n').filter(|(before, _)| is_warning(before)).map_or(entry, |(_, rest)| rest);
        let Some((marks, name)) = entry.split_at_checked(3) else { continue };
        let below = if name.ends_with('/') && prefix.starts_with(name) {
            Some(".")
        } else {
            name.strip_prefix(prefix)
        };
        let Some(Ok(path)) = below.map(|below| WorkspacePath::parse(below.trim_end_matches('/'))) else {
            continue;
        };
        match marks.as_bytes() {
            b"?? " => status.untracked.push(path),
            b"!! " => {}
            [index, _, b' '] => {
                if *index != b' ' {
                    status.indexed.push(path.clone());
                }
                status.changed.push(path);
            }
            _ => {}
        }
    }
    status
}

fn is_warning(text: &str) -> bool {
    text.lines().all(|line| line.starts_with("warning: ") || line.starts_with("hint: "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_says_is_read_by_name() {
        let said = " M src/a.rs\0warning: odd\nMM b c.rs\0?? new/\0A  d\n.rs\0D  gone\0!! target/\0";
        let status = status_of(said, "");
        let names = |paths: &[WorkspacePath]| paths.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(names(&status.changed), ["src/a.rs", "b c.rs", "d\n.rs", "gone"]);
        assert_eq!(names(&status.indexed), ["b c.rs", "d\n.rs", "gone"]);
        assert_eq!(names(&status.untracked), ["new"]);
        // In a folder below the top.
        let status = status_of(" M lib/src/a.rs\0?? lib/\0?? other\0 M library\0", "lib/");
        assert_eq!(
            (names(&status.changed), names(&status.untracked)),
            (vec!["src/a.rs".to_owned()], vec![".".to_owned()])
        );
    }
}
