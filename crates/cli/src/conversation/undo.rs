use headstart_agent::AgentHandle;
use headstart_git_ahead::GitChange;
use headstart_overlay_fs::{OsTree, SeveralUndone, UndoOutcome};

use super::words::{conflicts, counted};
use crate::output::{one_line, shortened};

/// The most files that are named.
const MAX_NAMED: usize = 12;

/// The result of taking back what the last turn has changed, in words.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum UndoResult {
    /// There is nothing to take back.
    Nothing(String),
    /// Nothing was taken back, for this reason.
    Refused(String),
    /// Only some changes were taken back: the restored files, and why older changes of that turn are left.
    Part { files: String, left: String },
    /// Everything was taken back: the restored files, and what is not covered by that.
    Whole { files: String, summary: String },
}

/// Takes back everything that the last turn wrote, or nothing at all. The conversation must be idle.
pub(crate) fn take_back_last_turn(agent: &AgentHandle, tree: &OsTree) -> UndoResult {
    let Some(turn) = agent.last_commits() else {
        return UndoResult::Nothing(
            "no turn of this chat has changed a file that is not as before; \
             `headstart undo` takes back what was changed before this chat"
                .to_owned(),
        );
    };
    let prompt = shortened(&one_line(&turn.prompt), 60);
    let nothing = format!("nothing of \"{prompt}\" was taken back");
    let SeveralUndone { commits, paths, others, stopped } = match tree.undo_several(&turn.commits) {
        Ok(several) => several,
        Err(error) => return UndoResult::Refused(format!("{nothing}: {error}")),
    };
    let is_whole = stopped.is_none();
    tracing::info!(commits, paths = paths.len(), is_whole, "commits were taken back");
    let why = match stopped {
        None => String::new(),
        Some(UndoOutcome::Conflict(found)) => {
            format!("what it wrote has changed since\n{}", conflicts(&found))
        }
        Some(_) => "it is not kept any more (the last 20 changes are, up to 256 MiB)".to_owned(),
    };
    if commits == 0 {
        return UndoResult::Refused(format!("{nothing}: {why}"));
    }
    let mut lines: Vec<_> = paths.iter().take(MAX_NAMED).map(|path| format!("as before  {path}")).collect();
    if MAX_NAMED < paths.len() {
        lines.push(format!("… {} more", paths.len() - MAX_NAMED));
    }
    let changes_of_git = others.iter().filter_map(|other| GitChange::try_from(other.as_str()).ok());
    lines.extend(changes_of_git.map(|change| format!("taken back {}", change.summary())));
    let files = lines.join("\n");
    if !is_whole {
        let left = counted(turn.commits.len() - commits, "older change");
        return UndoResult::Part { files, left: format!("{left} of that turn stayed: {why}") };
    }
    agent.note_commits_undone(&turn);
    let summary = format!(
        "what \"{prompt}\" wrote is taken back, and the model is told with your next prompt; what its commands did{} is not",
        if others.is_empty() { "" } else { " besides" }
    );
    UndoResult::Whole { files, summary }
}
