//! What a model is told of a command in a view besides what it printed.

use headstart_overlay_fs::{LeftOut, WorkspacePath};
use headstart_shadow::{NotStaged, NotStagedReason};

/// What the model is told if a new view replaced one that held something which no change set contains.
pub(super) fn lost_output_note(left: &[WorkspacePath]) -> Option<String> {
    let (first, more) = left.split_first()?;
    let rest = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
    Some(format!(
        "the workspace changed, so this ran in a new view, without what earlier commands left in {first}{rest}"
    ))
}

/// What the model is told about ignored files that are staged.
pub(super) fn brought_note(brought: &[WorkspacePath]) -> Option<String> {
    let (first, more) = brought.split_first()?;
    Some(if more.is_empty() {
        format!("{first} is kept too, though git ignores it, for what was taken away may be in it")
    } else {
        let more = more.len();
        format!(
            "{first} and {more} more are kept too, though git ignores them, for what was taken away may be in them"
        )
    })
}

/// What the model is told of what is left out, unless it was told the same before.
pub(super) fn left_out_note(rows: &[LeftOut], told: &mut Option<String>) -> Option<String> {
    let list = LeftOut::list(rows);
    let is_new = list.is_some() && list != *told;
    told.clone_from(&list);
    let words = "not kept when the user takes this work, for git ignores it or it is build output";
    is_new.then_some(list).flatten().map(|list| format!("{words}: {list}"))
}

/// What the model is told of a file that is not staged as it is. Build output is told with all that is left out.
pub(super) fn not_staged(left: &NotStaged) -> Option<String> {
    let path = &left.path;
    Some(match left.why {
        NotStagedReason::Fifo => format!("{path} is a FIFO, and not kept"),
        NotStagedReason::Socket => format!("{path} is a socket, and not kept"),
        NotStagedReason::Device => format!("{path} is a device, and not kept"),
        NotStagedReason::SpecialBits => {
            format!("{path} is kept without its set-user-ID, set-group-ID or sticky bit")
        }
        NotStagedReason::FolderBits => {
            format!("{path} exists, and keeps the permission bits that it has: the new ones are not kept")
        }
        NotStagedReason::LinkLeadsOut => {
            format!("{path} is a link that leads out of the workspace, and not kept")
        }
        NotStagedReason::Unreadable => format!("{path} cannot be read, and is not kept"),
        NotStagedReason::BuildOutput => return None,
    })
}
