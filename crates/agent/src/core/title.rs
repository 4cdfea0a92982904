//! The title that a fast model gives to a conversation. Until it comes, or if none comes, the title is the beginning of
//! the first prompt.

use headstart_forked_query::{CacheSafeParams, Message, QueryAnswer, QueryError, Role};

use super::session_file::TitleQuery;
use super::{Core, Effect};
use crate::item::Item;
use crate::session::Session;

/// The task for the model. The first prompt and its answer come before it.
pub(crate) const TITLE_PROMPT: &str = "Name this conversation for a list of conversations: what it is about, in at most eight words of the user's language, without \
quotation marks and without a full stop. Answer with the name alone.";
/// The most tokens that the answer may have.
pub(crate) const TITLE_TOKENS: u32 = 60;
/// How much of the prompt and of its answer the model is shown, in characters each.
const SHOWN_CHARS: usize = 2_000;
/// The most characters of a title; what is longer is taken to be no title.
const MOST_CHARS: usize = 120;

impl Core {
    /// Asks for a title, once, if the conversation is kept, background work is allowed, and a model other than that of
    /// the conversation does it: the model of the conversation would cost more than a title is worth.
    pub(super) fn ask_for_title(&mut self) {
        let params = self.conversation.params();
        let has_fast_model = !self.engine.background.shares_cache(params);
        let is_wanted = self.options.titles && self.session_file.title == TitleQuery::Wanted;
        if !is_wanted || !has_fast_model || !self.suggesting.controller.is_enabled() {
            return;
        }
        self.update_machine();
        if self.options.metering.may_ask(self.now.unix_ms).is_err() {
            return;
        }
        let shown =
            |role, text: &str| Message::text(role, text.chars().take(SHOWN_CHARS).collect::<String>());
        let prompt = self.log.items().iter().find_map(|item| match &**item {
            Item::Prompt { text } => Some(text.as_str()),
            _ => None,
        });
        let answers = self.conversation.history().iter().filter(|message| message.role == Role::Model);
        let answer = answers.map(Message::to_text).rfind(|text| !text.trim().is_empty()).unwrap_or_default();
        let history = [shown(Role::User, prompt.unwrap_or_default()), shown(Role::Model, &answer)];
        let model = self.engine.background.name.clone();
        let params = Box::new(CacheSafeParams::new(None, Vec::new(), &history, &model));
        self.session_file.title = TitleQuery::Asked;
        self.effects.push_back(Effect::AskTitle { params });
    }

    pub(super) fn titled(&mut self, answer: Result<QueryAnswer, QueryError>, work_ms: u64) {
        if self.session_file.title != TitleQuery::Asked {
            return;
        }
        self.session_file.title = TitleQuery::Done;
        let usage = answer.as_ref().map_or_else(|error| error.usage, |answer| answer.usage);
        self.options.metering.record_title(self.now.unix_ms, usage, work_ms);
        if let Some(title) = answer.ok().and_then(|answer| parse_title(&answer.text)) {
            self.effects.push_back(Effect::KeepSession(Session::title_line(&title)));
        }
    }

    /// Stops asking a model for a title. If it was asked already, what that has cost is not known.
    pub(super) fn drop_title(&mut self) {
        if std::mem::replace(&mut self.session_file.title, TitleQuery::Done) == TitleQuery::Asked {
            self.effects.push_back(Effect::DropTitle);
            self.options.metering.record_dropped_title(self.now.unix_ms);
        }
    }
}

/// The title in an answer; `None` if the answer is something else.
fn parse_title(answer: &str) -> Option<String> {
    let line = answer.lines().map(str::trim).find(|line| !line.is_empty())?;
    let line: String = line.chars().filter(|c| !c.is_control()).collect();
    let title = line.trim_matches(|c: char| c.is_whitespace() || "\"'`*#“”„«».".contains(c));
    (!title.is_empty() && title.chars().count() <= MOST_CHARS).then(|| title.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_one_line_without_what_models_put_around_it() {
        let long = "x".repeat(MOST_CHARS + 1);
        for (answer, title) in [
            ("Parser fixed", Some("Parser fixed")),
            ("\n  \"Fix the parser's add.\"\nand more", Some("Fix the parser's add")),
            ("# **Fix** `lib.rs`", Some("Fix** `lib.rs")),
            ("a\u{1b}[2Jb", Some("a[2Jb")),
            (" \n", None),
            ("\"\"", None),
            (long.as_str(), None),
        ] {
            assert_eq!(parse_title(answer).as_deref(), title, "{answer:?}");
        }
    }
}
