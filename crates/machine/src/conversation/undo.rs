use headstart_agent::{ActionError, AgentHandle, Turn, UndoneBefore};
use headstart_overlay_fs::{ContentHash, KeptTurn, SeveralUndone, UndoOutcome, WorkspacePath};
use headstart_speculation::TakenBack;

use super::words::{conflicts, counted};
use crate::output::{one_line, shortened};
use crate::parts::ConversationParts;
use crate::undo::{KEPT, NOT_WHOLE, Undo, git_changes};

/// The most files that are named.
const MAX_NAMED: usize = 12;

/// The result of taking back what the last turn has changed, in words.
#[derive(Debug, PartialEq, Eq)]
pub enum UndoResult {
    /// There is nothing to take back.
    Nothing(String),
    /// Nothing was taken back, for this reason.
    Refused(String),
    /// Only some changes were taken back: the restored files, and why older changes of that turn are left.
    Part { files: String, left: String },
    /// Everything was taken back: the restored files, and what is not covered by that.
    Whole { files: String, summary: String },
}

/// The undo about which its user was asked: the last turn then, the turn that would be taken back, and why they were asked.
pub type AskedUndo = (ContentHash, ContentHash, String);

/// Takes back everything that the last turn that changed something wrote, or nothing at all. The conversation must be
/// idle. Where that may not be what the user expects, it says why, and does it when it is called once more with the same
/// `asked`.
pub fn take_back_last_turn(
    agent: &AgentHandle,
    parts: &ConversationParts,
    asked: &mut Option<AskedUndo>,
) -> UndoResult {
    take_back(agent, parts, asked, false)
}

/// Takes back everything that the work wrote which was taken last, because other words than its guess asked for it.
pub fn take_back_matched(
    agent: &AgentHandle,
    parts: &ConversationParts,
    asked: &mut Option<AskedUndo>,
) -> UndoResult {
    take_back(agent, parts, asked, true)
}

/// Takes back the last turn that changed something; with `is_newest`, only if it is the last turn of all.
fn take_back(
    agent: &AgentHandle,
    parts: &ConversationParts,
    asked: &mut Option<AskedUndo>,
    is_newest: bool,
) -> UndoResult {
    if agent.unwritten().is_some() {
        return take_back_staged(agent);
    }
    let tree = &parts.tree;
    let turns = agent.turns();
    let kept = match tree.kept_turns() {
        Ok(kept) => kept,
        Err(error) => return UndoResult::Refused(format!("nothing was taken back: {error}")),
    };
    let found = LastTurn::find(&turns, &kept);
    let newest = turns.last().map(|turn| turn.id);
    let found = found.filter(|found| !is_newest || newest == Some(found.turn.id));
    let Some(LastTurn { turn, kept, later }) = found else {
        return UndoResult::Nothing(format!(
            "no turn of this chat has changed a file that could be taken back ({KEPT}); `headstart undo` takes back the \
             last turn of another chat"
        ));
    };
    let prompt = shortened(&one_line(&turn.prompt), 60);
    let nothing = format!("nothing of \"{prompt}\" was taken back");
    if !kept.is_whole {
        return UndoResult::Refused(format!("{nothing}: {NOT_WHOLE}"));
    }
    let undo = Undo::of(kept, &parts.workspace);
    let commit = undo.commit_since();
    let committed = commit.map(|commit| format!("files of \"{prompt}\" were committed since ({commit})"));
    let pushed = undo.pushed_to();
    let pushed =
        pushed.map(|branch| format!("the commit of \"{prompt}\" was pushed to {branch}, where it stays"));
    let why: Vec<_> = later_turns(later).into_iter().chain(committed).chain(pushed).collect();
    if !why.is_empty() {
        let question = (turns.last().unwrap_or(turn).id, turn.id, why.join(", and "));
        if asked.take().as_ref() != Some(&question) {
            let text = format!("{}; /undo again takes back what \"{prompt}\" wrote", question.2);
            *asked = Some(question);
            return UndoResult::Nothing(text);
        }
    }
    *asked = None;
    let undone = match tree.undo_several(&kept.commits) {
        Ok(undone) => undone,
        Err(error) => return UndoResult::Refused(format!("{nothing}: {error}")),
    };
    let SeveralUndone { commits, paths, others, stopped } = &undone;
    tracing::info!(commits, paths = paths.len(), is_whole = stopped.is_none(), "commits were taken back");
    let why = match stopped {
        None => String::new(),
        Some(UndoOutcome::Conflict(found)) => {
            format!("what it wrote has changed since\n{}", conflicts(found))
        }
        Some(_) => format!("it is not kept any more ({KEPT})"),
    };
    if *commits == 0 {
        return UndoResult::Refused(format!("{nothing}: {why}"));
    }
    let files = undo.finish(&undone, MAX_NAMED).join("\n");
    if stopped.is_some() {
        let left = counted(kept.commits.len() - commits, "older change");
        return UndoResult::Part { files, left: format!("{left} of that turn stayed: {why}") };
    }
    let is_told = agent.note_turn_undone(turn, paths, &git_changes(&undone));
    let summary = format!(
        "what \"{prompt}\" wrote is taken back{}; what commands did outside of views{} is not",
        if is_told { ", and the model is told with your next prompt" } else { "" },
        if others.is_empty() { "" } else { " besides" }
    );
    UndoResult::Whole { files, summary }
}

/// Takes back what the last turn has staged, which is not written.
fn take_back_staged(agent: &AgentHandle) -> UndoResult {
    let TakenBack { paths, git } = match agent.take_back_staged() {
        Ok(taken) => taken,
        Err(ActionError::Stale) => {
            return UndoResult::Nothing(
                "what is staged was staged before this chat was opened: n or /drop drops all of it"
                    .to_owned(),
            );
        }
        Err(error) => return UndoResult::Refused(error.to_string()),
    };
    let (named, more) = paths.split_at(paths.len().min(MAX_NAMED));
    let more = (!more.is_empty()).then(|| format!("and {}", counted(more.len(), "more file")));
    let git = git.map(|git| one_line(&git.summary()));
    let lines: Vec<_> = named.iter().map(|path| one_line(&path.to_string())).chain(more).chain(git).collect();
    let summary = "what the last turn staged is taken back, and the model is told with your next prompt";
    UndoResult::Whole { files: lines.join("\n"), summary: summary.to_owned() }
}

/// Tells what of the turns of a continued conversation was taken back since it was open, or by a process that was killed
/// in mid-undo.
pub(super) fn tell_undone_before(agent: &AgentHandle, parts: &ConversationParts) {
    let kept = match parts.tree.kept_turns() {
        Ok(kept) => kept,
        Err(error) => return tracing::debug!(%error, "it is not known what was taken back"),
    };
    for turn in agent.turns() {
        let of_turn = |kept: &&KeptTurn| kept.turn == Some(turn.id) && kept.is_undone;
        let Some(kept) = kept.iter().find(of_turn) else { continue };
        let is_left = |path: &&WorkspacePath| !kept.written.contains_key(*path);
        let undone = UndoneBefore {
            prompt: shortened(&one_line(&turn.prompt), 60),
            restored: kept.restored.iter().filter(is_left).cloned().collect(),
            stayed: kept.written.keys().cloned().collect(),
        };
        agent.note_undone_before(&turn, &undone);
    }
}

/// The last turn of a conversation that changed something and was not taken back.
struct LastTurn<'a> {
    turn: &'a Turn,
    kept: &'a KeptTurn,
    /// How many turns came after it that changed nothing.
    later: usize,
}

impl<'a> LastTurn<'a> {
    fn find(turns: &'a [Turn], kept: &'a [KeptTurn]) -> Option<Self> {
        let mut later = 0;
        for turn in turns.iter().rev() {
            match kept.iter().find(|kept| kept.turn == Some(turn.id)) {
                Some(kept) if !kept.commits.is_empty() => return Some(Self { turn, kept, later }),
                // It was taken back.
                Some(_) => {}
                None => later += 1,
            }
        }
        None
    }
}

fn later_turns(later: usize) -> Option<String> {
    match later {
        0 => None,
        1 => Some("the last turn changed no file".to_owned()),
        later => Some(format!("the last {later} turns changed no file")),
    }
}
