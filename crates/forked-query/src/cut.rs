use std::mem;

use crate::{Message, Part, Role};

/// The smallest limit for which a cut is possible.
const LEAST_MAXIMUM: usize = 4;

/// The end of a legal conversation: at most `most` messages long, legal, and beginning with a user's text. A
/// conversation within the limit stays as it is.
///
/// The place of the cut depends only on what came before it was made, never on what follows: it is found by adding
/// the messages to the conversation one by one. So consecutive forks share one prefix until the next cut.
///
/// If a turn has no user's text within the limit, the text that began it is kept, followed by the latest steps. In a
/// conversation that is cut, tool messages that follow each other become one message.
pub(crate) fn cut_history(history: Vec<Message>, most: usize) -> Vec<Message> {
    let most = most.max(LEAST_MAXIMUM);
    if history.len() <= most {
        return history;
    }
    let history = join_tool_messages(history);
    let mut cut = Cut { opening: None, start: 0 };
    for end in 1..=history.len() {
        if most < cut.entries(end) {
            cut = cut_before(&history[..end], &cut, most);
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
    /// The index of the user's text with which the turn began, if `start` lies within a turn.
    opening: Option<usize>,
    start: usize,
}

impl Cut {
    fn entries(&self, end: usize) -> usize {
        end - self.start + usize::from(self.opening.is_some())
    }
}

fn cut_before(history: &[Message], last: &Cut, most: usize) -> Cut {
    let end = history.len();
    // A cut leaves half of the limit, and stays where it is until the limit is reached again.
    let wanted = end - most / 2;
    // And it leaves at least a quarter, because a fork that does not know what is going on is useless.
    let latest = end - most / 4;
    let earliest = end - most;
    let nearest = |from: usize, is_place: fn(&Message) -> bool| {
        (from..=latest).filter(|index| is_place(&history[*index])).min_by_key(|index| index.abs_diff(wanted))
    };
    if let Some(start) = nearest(earliest.max(last.start + 1), is_user_text) {
        return Cut { opening: None, start };
    }
    let opening = history[..wanted].iter().rposition(is_user_text).or(last.opening);
    // One message is the opening. Between two messages of the model lies at most one of tools, so there always is a
    // place.
    let start = nearest(earliest + 1, |message| message.role == Role::Model).unwrap_or(end);
    match opening {
        Some(opening) => Cut { opening: Some(opening), start },
        // Nobody has asked anything yet, so no legal beginning exists before the next user's text.
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
        assert_eq!(cut_history(history(20), MOST), history(20));
        assert_eq!(cut_history(history(21), MOST), history(21)[20..]);
        // The cut stays until the limit is reached again.
        assert_eq!(cut_history(history(30), MOST), history(30)[20..]);
        assert_eq!(cut_history(history(31), MOST), history(31)[40..]);
    }

    #[test]
    fn a_long_turn_keeps_what_began_it() {
        let mut history = vec![message(Role::User, [text("do it all")])];
        for step in 0..60 {
            history.push(message(Role::Model, [call(&step.to_string())]));
            history.push(message(Role::Tool, [result(&step.to_string())]));
        }
        let kept = cut_history(history.clone(), MOST);
        assert_eq!(kept[0], history[0]);
        assert_eq!(kept.last(), history.last());
        assert!((MOST / 4..=MOST).contains(&kept.len()), "{}", kept.len());
        assert_eq!(check_pairing(&kept), Ok(()));
    }

    const MOST: usize = 40;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn whatever_the_maximum_what_is_kept_is_legal(history in legal_history(0..60), most in 0..50_usize) {
            let kept = cut_history(history, most);
            prop_assert!(kept.len() <= most.max(LEAST_MAXIMUM));
            prop_assert_eq!(check_pairing(&kept), Ok(()));
        }

        #[test]
        fn kept_is_short_and_legal_and_begins_with_the_user(history in legal_history(0..90)) {
            let kept = cut_history(history.clone(), MOST);
            prop_assert!(kept.len() <= MOST);
            prop_assert_eq!(check_pairing(&kept), Ok(()));
            if kept.len() < join_tool_messages(history).len() {
                prop_assert!(kept.first().is_none_or(is_user_text));
            }
        }

        /// As a conversation grows, its beginning moves rarely; in between, each fork begins with the one before.
        #[test]
        fn consecutive_forks_share_one_prefix(history in legal_history(60..90)) {
            let mut moves = 0;
            let ends: Vec<usize> = (1..=history.len()).filter(|end| check_pairing(&history[..*end]).is_ok()).collect();
            for pair in ends.windows(2) {
                let before = cut_history(history[..pair[0]].to_vec(), MOST);
                let after = cut_history(history[..pair[1]].to_vec(), MOST);
                if !after.starts_with(&before) && !before.is_empty() {
                    moves += 1;
                }
            }
            // The first cut counts too, which joins tool messages.
            prop_assert!(moves <= 1 + history.len() / (MOST / 4), "{} moves in {}", moves, history.len());
        }
    }
}
