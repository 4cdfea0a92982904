use std::fmt::Write as _;
use std::time::Duration;

use headstart_forked_query::ToolCall;
use headstart_git_ahead::GitChange;
use headstart_overlay_fs::{
    ChangeSummary, Conflict, ConflictKind, LeftOut, Stayed, SweepOutcome, Swept, WorkspacePath,
};
use headstart_speculation::{Event, Limit};
use headstart_tool_gate::Declaration;

use headstart_terminal::sanitize;

/// Whether text for people is colored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColorMode {
    Plain,
    Colored,
}

impl ColorMode {
    pub fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    pub fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    pub fn red(self, text: &str) -> String {
        self.paint("31", text)
    }

    pub fn green(self, text: &str) -> String {
        self.paint("32", text)
    }

    pub fn cyan(self, text: &str) -> String {
        self.paint("36", text)
    }

    fn paint(self, code: &str, text: &str) -> String {
        match self {
            Self::Plain => text.to_owned(),
            Self::Colored => format!("\x1b[{code}m{text}\x1b[0m"),
        }
    }
}

/// The name of a limit.
pub fn limit_name(limit: Limit) -> &'static str {
    match limit {
        Limit::Turns => "turns",
        Limit::Messages => "messages",
        Limit::Tokens => "tokens",
        Limit::Cost => "what it may cost",
        Limit::Staged => "what may be staged",
        Limit::Time => "time",
        Limit::Output => "the length of an answer",
        Limit::Repeated => "calls that are answered with the same again and again",
        Limit::Window => "what the model sees at once",
        _ => "its work",
    }
}

/// Text from a model, a file or a repository, without control characters for the terminal.
pub fn printable(text: &str) -> String {
    sanitize(text).into_owned()
}

/// Like [`printable`], but on one line: each run of white space becomes one blank.
pub fn one_line(text: &str) -> String {
    printable(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// A call in short: its name and the most important argument.
pub fn call_title(call: &ToolCall) -> String {
    let argument = ["command", "pattern", "file_path", "path"]
        .into_iter()
        .find_map(|key| call.args.get(key).and_then(serde_json::Value::as_str))
        .unwrap_or_default();
    format!("{} {}", one_line(&call.name), marked(&one_line(argument), 100)).trim_end().to_owned()
}

/// What a model says of a command that it wants to run; `None` if it says nothing, or the call runs no command.
pub fn said_of_command(call: &ToolCall) -> Option<String> {
    let runs_command = Declaration::of_ours(&call.name).is_some_and(Declaration::runs_commands);
    let said = call.args.get("description").filter(|_| runs_command)?;
    Some(said.as_str().map_or_else(|| said.to_string(), str::to_owned))
}

/// Like [`call_title`], but a shell command is shown completely, with its further lines below the first, because all of
/// it will run. The text still contains control characters, which the screen must remove.
pub fn call_in_full(call: &ToolCall) -> String {
    let is_command = Declaration::is_shell(&call.name);
    match call.args.get("command").and_then(serde_json::Value::as_str).filter(|_| is_command) {
        Some(command) => {
            let lines: Vec<_> = command.trim().lines().collect();
            format!("{} {}", call.name, marked(&lines.join("\n    "), 500))
        }
        None => call_title(call),
    }
}

/// A text, shortened if it is long, with a mark that says how much is missing.
fn marked(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((cut, _)) => format!("{}… (+{} characters)", &text[..cut], text[cut..].chars().count()),
        None => text.to_owned(),
    }
}

/// A call on one line, shortened if it is long.
pub fn call_on_one_line(call: &ToolCall) -> String {
    const CHARS: usize = 160;
    // A value in JSON is on one line, and its blanks are significant.
    let argument = |(name, value): (&String, &serde_json::Value)| {
        format!("{}={}", one_line(name), printable(&value.to_string()))
    };
    let args: Vec<_> = call.args.iter().map(argument).collect();
    shortened(&format!("{}({})", one_line(&call.name), args.join(", ")), CHARS)
}

/// A text, shortened if it is long.
pub fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text.to_owned(),
    }
}

/// A change, on one line.
pub fn change_line(change: &ChangeSummary) -> String {
    let path = one_line(&change.path.to_string());
    let from = change.from.as_ref().map(|from| format!(" from {}", one_line(&from.to_string())));
    let counts = match mode_words(change) {
        _ if change.binary => "binary".to_owned(),
        Some(mode) if (change.added, change.removed) == (0, 0) => mode,
        Some(mode) => format!("+{} -{}, {mode}", change.added, change.removed),
        None => format!("+{} -{}", change.added, change.removed),
    };
    format!("{:<15}  {path}{}  {counts}", change.kind, from.unwrap_or_default())
}

/// A change of a file's permissions: `mode 644→755`.
pub fn mode_words(change: &ChangeSummary) -> Option<String> {
    change.mode.as_ref().map(|mode| format!("mode {}→{}", mode.old, mode.new))
}

/// A file that also contains edits of the user's, on one line.
pub fn merged_line(path: &WorkspacePath) -> String {
    format!("{:<15}  {}  with what you changed meanwhile", "merged", one_line(&path.to_string()))
}

/// What work did to the repository, one line for each ref.
pub fn git_lines(change: &GitChange) -> impl Iterator<Item = String> {
    change.lines().into_iter().map(|line| format!("{:<15}  {}", "git", one_line(&line)))
}

/// The result of the project's own check of work ahead.
pub fn checked_line(checked: &headstart_speculation::CheckResult) -> String {
    let seconds = Duration::from_millis(checked.millis).as_secs_f64();
    let command = one_line(&checked.command);
    if let Some(why) = &checked.not_run {
        return format!("not checked: {command} did not run ({})", one_line(why));
    }
    let outcome = match (&checked.tests, checked.passed) {
        (Some(tests), _) => tests.clone(),
        (None, true) => "passed".to_owned(),
        (None, false) => "failed".to_owned(),
    };
    format!("checked with {command}: {outcome} ({seconds:.1} s)")
}

/// A command that ran in a view, on one line.
pub fn shadow_line(event: &Event) -> String {
    let Event::ShadowRan { command, millis, git, .. } = event else { return String::new() };
    let came_of_it = shadow_outcome(event);
    if git.is_some() {
        return format!("{} {came_of_it}", git_command(command));
    }
    let command = shortened(&one_line(command), 80);
    let tenths = (millis + 50) / 100;
    format!("ran {command} {came_of_it} ({}.{} s)", tenths / 10, tenths % 10)
}

/// The outcome of a command that ran in a view, without the command and its time.
pub fn shadow_outcome(event: &Event) -> String {
    let Event::ShadowRan { exit_code, staged, tests, git, .. } = event else { return String::new() };
    if let Some(git) = git {
        return format!("in the view: {}", one_line(git));
    }
    let files = match staged {
        0 => None,
        1 => Some("1 file staged".to_owned()),
        many => Some(format!("{many} files staged")),
    };
    let ended = match exit_code {
        Some(0) => None,
        Some(code) => Some(format!("exit code {code}")),
        None => Some("ended".to_owned()),
    };
    let mut parts: Vec<String> = tests.clone().or(ended).into_iter().chain(files).collect();
    if parts.is_empty() {
        parts.push("done".to_owned());
    }
    format!("in the view: {}", parts.join(", "))
}

/// The git command in a command line, in two words; without one, the whole line.
fn git_command(command: &str) -> String {
    let line = one_line(command);
    let mut words = line.split_whitespace().skip_while(|word| *word != "git");
    // The last git command counts, as in `git add -A && git commit`.
    let mut found = None;
    while let Some(word) = words.next() {
        if word == "git" {
            found =
                words.next().filter(|name| name.chars().all(|letter| letter.is_ascii_lowercase())).or(found);
        }
    }
    found.map_or_else(|| shortened(&line, 80), |name| format!("git {name}"))
}

/// A remark about files that changed since a command ran in a view.
pub fn stale_line(files: usize) -> Option<String> {
    match files {
        0 => None,
        1 => Some("1 file changed since the last command ran ahead, which has not seen it".to_owned()),
        many => {
            Some(format!("{many} files changed since the last command ran ahead, which has not seen them"))
        }
    }
}

/// A remark about what an accept does not bring.
pub fn not_kept_line(rows: &[LeftOut]) -> Option<String> {
    LeftOut::list(rows).map(|list| format!("not kept: {}", one_line(&list)))
}

/// As [`not_kept_line`], with the reasons why it cannot be kept.
pub fn not_kept_because(rows: &[LeftOut]) -> Option<String> {
    LeftOut::list_with_obstacles(rows).map(|list| format!("not kept: {}", one_line(&list)))
}

/// As [`not_kept_line`], with what the user can do about it: `how` names the key, if something can be kept.
pub fn not_kept_offer(rows: &[LeftOut], how: Option<&str>) -> Option<String> {
    let line = not_kept_line(rows)?;
    let Some(how) = how else { return Some(line) };
    let but = LeftOut::list_unkept(rows).map(|list| format!(", but not {}", one_line(&list)));
    Some(format!("{line} · {how}{}", but.unwrap_or_default()))
}

/// A conflict, on one line.
pub fn conflict_line(conflict: &Conflict) -> String {
    if conflict.kind == ConflictKind::Ref {
        return ref_line(&conflict.path.to_string());
    }
    let what = match conflict.kind {
        ConflictKind::Modified => "was changed meanwhile",
        ConflictKind::Deleted => "was removed meanwhile",
        ConflictKind::Created => "was created meanwhile",
        ConflictKind::Replaced => "is another kind of thing now",
        ConflictKind::StaleRead => "was read, and was changed meanwhile",
        _ => "is not what it was",
    };
    format!("{} {what}", one_line(&conflict.path.to_string()))
}

/// A conflict about one of git's files, in the terms of git's users.
fn ref_line(path: &str) -> String {
    let path = path.strip_prefix(".git/").unwrap_or(path);
    let kinds = [("refs/heads/", "the branch "), ("refs/tags/", "the tag "), ("", "")];
    let (name, kind) = kinds
        .into_iter()
        .find_map(|(start, kind)| Some((path.strip_prefix(start)?, kind)))
        .unwrap_or((path, ""));
    match name {
        "HEAD" => "another branch or commit is checked out than when the work began".to_owned(),
        "index" => "another git is at work on the index".to_owned(),
        _ => format!("{kind}{} has moved since the work began: git was used meanwhile", one_line(name)),
    }
}

/// How long ago something was, in the largest unit that fits.
pub fn age(milliseconds: u64) -> String {
    let seconds = milliseconds / 1_000;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// A duration in days.
pub fn days(time: Duration) -> String {
    match time.as_secs() / 86_400 {
        1 => "1 day".to_owned(),
        days => format!("{days} days"),
    }
}

/// What became of an accept or an undo whose process died, what did not go back, and where the former content is.
pub fn interrupted(swept: &Swept) -> String {
    if swept.stayed.is_empty() {
        return format!("{}: {}", swept.name, self::swept(swept.outcome));
    }
    let begin = match swept.outcome {
        SweepOutcome::UndoRolledBack => "an undo was cut off when its process died; it is taken back",
        _ => "an accept or undo was cut off when its process died; it is taken back",
    };
    let mut text = format!("{begin}, but not in what was changed since:");
    for Stayed { path, former } in &swept.stayed {
        let rest = match former {
            Some(former) => format!("what it held before is in {former}"),
            None => "it was not there before".to_owned(),
        };
        let _ = write!(text, "\n  {path} stays as it is now; {rest}");
    }
    text
}

/// What a sweep did with a staging folder, and why.
pub fn swept(outcome: SweepOutcome) -> &'static str {
    match outcome {
        SweepOutcome::Removed => "nothing in it is needed any more",
        SweepOutcome::RolledBack => {
            "its process died in mid-accept; the workspace is as it was before that accept"
        }
        SweepOutcome::UndoRolledBack => {
            "its process died in mid-undo; the accept stands, and can be undone again"
        }
        SweepOutcome::Alive => "an accept is at work on it",
        SweepOutcome::Undoable => "it holds what an accept replaced; `headstart undo` puts it back",
        SweepOutcome::Waiting => "it holds finished work that waits to be accepted",
        SweepOutcome::Kept => "it holds what could not be put back; take what you need, then remove it",
        SweepOutcome::Orphan => "what it was kept for is gone: its workspace was removed",
        SweepOutcome::RecentOrphan => "its workspace was removed; it was in use not long ago",
        SweepOutcome::Damaged => {
            "its process died in mid-accept and its journal is damaged, so nothing is guessed; it may hold your only copy"
        }
        _ => "is not one of headstart's",
    }
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_has_no_line_feed_and_drives_no_terminal() {
        assert_eq!(one_line(" a\n\n b\t"), "a b");
        assert_eq!(one_line("a\x1b[2Jb"), "a\\u{1b}[2Jb");
    }

    #[test]
    fn a_call_that_is_cut_says_so() {
        let call = |name: &str, key: &str, value: &str| ToolCall {
            id: "1".into(),
            name: name.into(),
            args: [(key.to_owned(), value.into())].into_iter().collect(),
        };
        let long = format!("{}; rm x", "a".repeat(120));
        let shown = format!("{}… (+26 characters)", "a".repeat(100));
        assert_eq!(call_title(&call("grep", "pattern", &long)), format!("grep {shown}"));
        assert_eq!(call_title(&call("shell", "command", &long)), format!("shell {shown}"));
        assert_eq!(call_in_full(&call("grep", "pattern", &long)), format!("grep {shown}"));
        assert_eq!(call_in_full(&call("shell", "command", &long)), format!("shell {long}"));
        assert_eq!(call_in_full(&call("shell", "command", "\na\n  b\n")), "shell a\n      b");
        let longer = format!("{}{}", "é".repeat(500), "b".repeat(340));
        let shown = format!("Bash {}… (+340 characters)", "é".repeat(500));
        assert_eq!(call_in_full(&call("Bash", "command", &longer)), shown);
        let blanks = call("shell", "command", "printf 'a  b\tc'\n  \u{1b}[2J");
        assert_eq!(call_on_one_line(&blanks), r#"shell(command="printf 'a  b\tc'\n  \u001b[2J")"#);
    }

    #[test]
    fn an_age_has_the_largest_unit_that_fits() {
        let cases =
            [(0, "0 s"), (59_999, "59 s"), (60_000, "1 min"), (3_600_000, "1 h"), (172_800_000, "2 d")];
        for (milliseconds, expected) in cases {
            assert_eq!(age(milliseconds), expected);
        }
    }
}
