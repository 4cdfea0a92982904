use std::mem;

use crate::{Message, Part, Role};

/// The most entries of a conversation that a snapshot keeps.
pub const MAX_HISTORY_ENTRIES: usize = 40;

/// How many entries are left after a cut: the cut stays where it is until the maximum is reached again.
const ENTRIES_AFTER_CUT: usize = 20;

/// A cut leaves no less than this: a fork that has forgotten what is going on is worth nothing.
const LEAST_ENTRIES: usize = 10;

/// The end of a legal conversation, at most [`MAX_HISTORY_ENTRIES`] long, legal, and beginning with a user's text.
///
/// The place of the cut depends only on what came before it was made, never on what follows: it is found by letting
/// the conversation grow entry by entry. So consecutive forks share one prefix until the next cut.
///
/// A turn without any user's text for longer than that keeps the text that began it and then the latest steps. In a
/// conversation that is cut, tool messages that follow each other become one entry.
///
/// `is_end` says that the history is the kept end of one that was too long, and what followed it.
pub(crate) fn cut_history(history: Vec<Message>, is_end: bool) -> Vec<Message> {
    if !is_end && history.len() <= MAX_HISTORY_ENTRIES {
        return history;
    }
    let history = join_tool_messages(history);
    let mut cut = Cut { opening: None, start: 0 };
    for end in 1..=history.len() {
        if MAX_HISTORY_ENTRIES < cut.entries(end) {
            cut = cut_before(&history[..end], &cut);
        }
    }
    if cut.start == 0 {
        return history;
    }
    let Some(opening) = cut.opening else {
        let start = history[cut.start..].iter().position(is_user_text);
        return start.map(|skipped| history[cut.start + skipped..].to_vec()).unwrap_or_default();
    };
    let mut kept = vec![history[opening].clone()];
    kept.extend_from_slice(&history[cut.start..]);
    kept
}

struct Cut {
    /// The user's text that began the turn in the middle of which `start` lies.
    opening: Option<usize>,
    start: usize,
}

impl Cut {
    fn entries(&self, end: usize) -> usize {
        end - self.start + usize::from(self.opening.is_some())
    }
}

fn cut_before(history: &[Message], last: &Cut) -> Cut {
    let end = history.len();
    let wanted = end - ENTRIES_AFTER_CUT;
    let latest = end - LEAST_ENTRIES;
    let earliest = end - MAX_HISTORY_ENTRIES;
    let nearest = |from: usize, is_place: fn(&Message) -> bool| {
        (from..=latest).filter(|index| is_place(&history[*index])).min_by_key(|index| index.abs_diff(wanted))
    };
    if let Some(start) = nearest(earliest.max(last.start + 1), is_user_text) {
        return Cut { opening: None, start };
    }
    let opening = history[..wanted].iter().rposition(is_user_text).or(last.opening);
    // One entry is the opening's. Between two model messages lies at most one tool message, so there is a place.
    let start = nearest(earliest + 1, |message| message.role == Role::Model).unwrap_or(end);
    match opening {
        Some(opening) => Cut { opening: Some(opening), start },
        // Nobody asked anything yet: there is no legal beginning before the next user's text.
        None => Cut { opening: None, start: end },
    }
}

fn is_user_text(message: &Message) -> bool {
    message.role == Role::User && message.parts.iter().any(|part| matches!(part, Part::Text { .. }))
}

fn join_tool_messages(history: Vec<Message>) -> Vec<Message> {
    let mut joined: Vec<Message> = Vec::with_capacity(history.len());
    for mut message in history {
        match joined.last_mut() {
            Some(last) if last.role == Role::Tool && message.role == Role::Tool => {
                last.parts.append(&mut mem::take(&mut message.parts));
            }
            _ => joined.push(message),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::check_pairing;
    use crate::testing::{call, legal_history, message, result, text};

    #[test]
    fn forty_entries_stay_and_the_next_one_cuts_half() {
        let history = |turns: usize| -> Vec<Message> {
            (0..turns)
                .flat_map(|turn| {
                    [message(Role::User, [text(&turn.to_string())]), message(Role::Model, [text("ok")])]
                })
                .collect()
        };
        assert_eq!(cut_history(history(20), false), history(20));
        assert_eq!(cut_history(history(21), false), history(21)[20..]);
        // The cut stays until the kept part is full again.
        assert_eq!(cut_history(history(30), false), history(30)[20..]);
        assert_eq!(cut_history(history(31), false), history(31)[40..]);
    }

    #[test]
    fn a_long_turn_keeps_what_began_it() {
        let mut history = vec![message(Role::User, [text("do it all")])];
        for step in 0..60 {
            history.push(message(Role::Model, [call(&step.to_string())]));
            history.push(message(Role::Tool, [result(&step.to_string())]));
        }
        let kept = cut_history(history.clone(), false);
        assert_eq!(kept[0], history[0]);
        assert_eq!(kept.last(), history.last());
        assert!((LEAST_ENTRIES..=MAX_HISTORY_ENTRIES).contains(&kept.len()), "{}", kept.len());
        assert_eq!(check_pairing(&kept), Ok(()));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn kept_is_short_and_legal_and_begins_with_the_user(history in legal_history(0..90)) {
            let kept = cut_history(history.clone(), false);
            prop_assert!(kept.len() <= MAX_HISTORY_ENTRIES);
            prop_assert_eq!(check_pairing(&kept), Ok(()));
            if kept.len() < join_tool_messages(history).len() {
                prop_assert!(kept.first().is_none_or(is_user_text));
            }
        }

        /// As a conversation grows, its beginning moves seldom; in between each fork begins with the one before.
        #[test]
        fn consecutive_forks_share_one_prefix(history in legal_history(60..90)) {
            let mut moves = 0;
            let ends: Vec<usize> = (1..=history.len()).filter(|end| check_pairing(&history[..*end]).is_ok()).collect();
            for pair in ends.windows(2) {
                let before = cut_history(history[..pair[0]].to_vec(), false);
                let after = cut_history(history[..pair[1]].to_vec(), false);
                if !after.starts_with(&before) && !before.is_empty() {
                    moves += 1;
                }
            }
            // Also counted: the first cut, which joins tool messages.
            prop_assert!(moves <= 1 + history.len() / LEAST_ENTRIES, "{} moves in {}", moves, history.len());
        }
    }
}
