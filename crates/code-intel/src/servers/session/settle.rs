//! Decides when a server has published everything about the state that it was told.

use std::collections::BTreeSet;
use std::time::Duration;

use headstart_workspace_path::WorkspacePath;
use serde_json::json;

use super::{Deadline, OpenText, SendReason, Session};
use crate::servers::adapter::SettleSignal;
use crate::{Diagnostic, IntelError};

/// A server that sends nothing for this long counts as silent.
const SILENCE: Duration = Duration::from_millis(300);
/// A server that does not number its diagnostics may have none for a text. It counts as finished if it sends nothing
/// for this long.
const LONG_SILENCE: Duration = Duration::from_secs(1);
/// A check that replaces one that was ended starts within this time.
const RESTART: Duration = Duration::from_millis(150);
/// How long a server needs that watches the disk itself to notice a change.
const WATCH_DELAY: Duration = Duration::from_millis(100);

impl Session {
    /// Notes that a check on disk was asked for.
    pub(super) fn expect_check(&mut self) {
        if self.adapter.settling == SettleSignal::Status {
            self.awaited_check = Some(self.reports.checks_begun);
        }
    }

    /// Waits until the server has published everything, or the time is over: then returns why there may be more.
    pub(crate) async fn settle(
        &mut self,
        wanted: &[OpenText],
        deadline: Deadline,
    ) -> Result<Option<String>, IntelError> {
        let holds = self.settled_refreshes == self.reports.refreshes || !self.pulls();
        if self.changed.is_none() && holds && self.unsettled.is_empty() && self.awaited_check.is_none() {
            return Ok(None);
        }
        if self.adapter.settling == SettleSignal::Status && !self.wait_until_quiescent(deadline).await? {
            return Ok(Some(self.not_settled(deadline)));
        }
        let asks = self.pulls() || self.adapter.settling == SettleSignal::Tsserver;
        let mut settled = asks || self.wait_for_silence(wanted, deadline).await?;
        // Some servers only register after the start that they can be asked.
        if self.adapter.settling == SettleSignal::Tsserver {
            settled = self.ask_tsserver(wanted, deadline).await?;
        } else if settled && self.pulls() {
            settled = self.pull_until_stable(wanted, deadline).await?;
        }
        if !settled || !self.wait_for_check(wanted, deadline).await? {
            return Ok(Some(self.not_settled(deadline)));
        }
        self.changed = None;
        self.file_set_changed = false;
        self.unsettled.clear();
        Ok(None)
    }

    /// All that it has published about files of the workspace.
    pub(crate) fn diagnostics(&self) -> Vec<Diagnostic> {
        // This server publishes the same diagnostics that it was asked for, only later.
        let counts = |path: &WorkspacePath| {
            self.adapter.settling != SettleSignal::Tsserver || !self.reports.pulled.contains_key(path)
        };
        let published = self.reports.published.iter().filter(|(path, _)| counts(path));
        let published = published.flat_map(|(_, published)| &published.diagnostics);
        let mut all: Vec<Diagnostic> =
            published.chain(self.reports.pulled.values().flatten()).cloned().collect();
        all.sort();
        all.dedup();
        without_duplicates(all)
    }

    /// What it reports to be doing.
    pub(crate) fn current_task(&self) -> Option<String> {
        self.reports.progress.values().find(|title| !title.is_empty()).cloned()
    }

    fn not_settled(&self, deadline: Deadline) -> String {
        let doing = self.current_task().map_or_else(String::new, |doing| format!(" ({doing})"));
        format!("{} had not settled after {:.1} s{doing}", self.adapter.name, deadline.limit.as_secs_f32())
    }

    async fn wait_until_quiescent(&mut self, deadline: Deadline) -> Result<bool, IntelError> {
        self.listen(deadline.at.min(self.host.now() + WATCH_DELAY)).await?;
        while self.reports.quiescent != Some(true) {
            if !self.listen_once(deadline.at).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Asks for the diagnostics, again if the server invalidates its answers.
    async fn pull_until_stable(
        &mut self,
        wanted: &[OpenText],
        deadline: Deadline,
    ) -> Result<bool, IntelError> {
        loop {
            let asked_at = self.reports.refreshes;
            if !self.pull(wanted, deadline).await? {
                return Ok(false);
            }
            // The server may notice a file that appeared or vanished only after it has answered.
            let until = if self.file_set_changed { self.host.now() + SILENCE } else { self.host.now() };
            while self.reports.refreshes == asked_at && self.listen_once(until.min(deadline.at)).await? {}
            if self.reports.refreshes == asked_at {
                self.settled_refreshes = asked_at;
                return Ok(true);
            }
            self.file_set_changed = false;
            if deadline.at <= self.host.now() {
                return Ok(false);
            }
        }
    }

    async fn pull(&mut self, wanted: &[OpenText], deadline: Deadline) -> Result<bool, IntelError> {
        for OpenText { path, .. } in wanted {
            let params = json!({ "textDocument": { "uri": self.uri(path) } });
            match self.ask("textDocument/diagnostic", &params, deadline).await {
                Ok(report) => {
                    let diagnostics = self.diagnostics_of(path, &report["items"]);
                    self.keep_raw(path, &report["items"]);
                    self.reports.pulled.insert(path.clone(), diagnostics);
                }
                Err(IntelError::TimedOut { .. }) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    async fn wait_for_silence(
        &mut self,
        wanted: &[OpenText],
        deadline: Deadline,
    ) -> Result<bool, IntelError> {
        let Some(has_answered) = self.round_trip(wanted, deadline).await? else { return Ok(false) };
        let heard_all = self.host.now();
        loop {
            if self.pulls() || self.all_documents_finished() || has_answered && self.has_searched() {
                return Ok(true);
            }
            let last_word = self.reports.last_publication.unwrap_or_default().max(heard_all);
            let silent_at = self
                .silence()
                .filter(|_| self.reports.progress.is_empty())
                .map(|silence| last_word + silence);
            if silent_at.is_some_and(|silent_at| silent_at <= self.host.now()) {
                return Ok(true);
            }
            let until = silent_at.map_or(deadline.at, |silent_at| silent_at.min(deadline.at));
            if !self.listen_once(until).await? && deadline.at <= self.host.now() {
                return Ok(false);
            }
        }
    }

    /// Waits for an answer, because a server handles messages in order: once it answers, it has read everything that
    /// it was told, and started whatever follows from that. Returns whether it answered; `None` if it was not in
    /// time.
    async fn round_trip(
        &mut self,
        wanted: &[OpenText],
        deadline: Deadline,
    ) -> Result<Option<bool>, IntelError> {
        let Some(open) = wanted.first().filter(|_| self.offers("documentSymbolProvider")) else {
            return Ok(Some(false));
        };
        let params = json!({ "textDocument": { "uri": self.uri(&open.path) } });
        match self.ask("textDocument/documentSymbol", &params, deadline).await {
            Ok(_) | Err(IntelError::Refused { .. }) => Ok(Some(true)),
            Err(IntelError::TimedOut { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether it has searched for errors since it was told of changes, has finished, and has published something for
    /// each text.
    fn has_searched(&self) -> bool {
        self.adapter.settling == SettleSignal::Progress
            && self.changed.is_some_and(|before| before < self.reports.searches_begun)
            && self.reports.progress.is_empty()
            && self.silence().is_some()
    }

    /// Whether it has published something for each text that it was sent, and then reported to be done with it.
    fn all_documents_finished(&self) -> bool {
        let rests = |path: &WorkspacePath| {
            self.has_published_for(path) && self.reports.finished_documents.contains(path)
        };
        self.adapter.settling == SettleSignal::FileStatus
            && self.reports.reports_finished
            && !self.unsettled.is_empty()
            && self.unsettled.keys().all(rests)
    }

    /// How long it has to be silent to count as finished; `None` if it still has to publish something for a text.
    fn silence(&self) -> Option<Duration> {
        let mut owed =
            self.unsettled.iter().filter(|(path, _)| !self.has_published_for(path)).map(|(_, sent)| *sent);
        let numbers = matches!(
            self.adapter.settling,
            SettleSignal::Versions | SettleSignal::FileStatus | SettleSignal::Progress
        );
        match owed.next() {
            None => Some(SILENCE),
            Some(first)
                if numbers
                    && (first == SendReason::Changed || owed.any(|sent| sent == SendReason::Changed)) =>
            {
                None
            }
            Some(_) => Some(LONG_SILENCE),
        }
    }

    /// Whether it has published something for the text that it was sent last.
    fn has_published_for(&self, path: &WorkspacePath) -> bool {
        let version = self.documents.get(path).map(|document| document.version);
        self.reports.published.get(path).is_some_and(|published| {
            let is_current = match published.version {
                None => true,
                Some(of) => version.is_none_or(|version| version <= of),
            };
            is_current && 0 < published.serial
        })
    }

    async fn wait_for_check(&mut self, wanted: &[OpenText], deadline: Deadline) -> Result<bool, IntelError> {
        let Some(before) = self.awaited_check else { return Ok(true) };
        let mut answered = None;
        loop {
            let over = before < self.reports.checks_begun && self.reports.checks.is_empty();
            let ended = self.reports.last_check.unwrap_or_default();
            // Other threads publish what it found than the one that reports the end, and on a busy machine both this
            // and an answer take time.
            if over && answered.is_none_or(|at| at < ended) {
                if self.round_trip(wanted, deadline).await?.is_none() {
                    return Ok(false);
                }
                answered = Some(self.host.now());
                continue;
            }
            let over_at = ended + RESTART;
            if over && over_at <= self.host.now() {
                self.awaited_check = None;
                return Ok(true);
            }
            let until = if over { deadline.at.min(over_at) } else { deadline.at };
            if !self.listen_once(until).await? && deadline.at <= self.host.now() {
                return Ok(false);
            }
        }
    }
}

/// Removes duplicates: what rust-analyzer finds by itself is dropped if the compiler, which says more, has the same
/// code on the same line.
fn without_duplicates(mut all: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let place = |one: &Diagnostic| (one.path.clone(), one.line, one.code.clone());
    let is_of = |one: &Diagnostic, source: &str| one.source.as_deref() == Some(source);
    let compiled: BTreeSet<_> = all.iter().filter(|one| is_of(one, "rustc")).map(place).collect();
    all.retain(|one| !is_of(one, "rust-analyzer") || one.code.is_none() || !compiled.contains(&place(one)));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Severity;

    /// An error that rust-analyzer and the compiler both find is shown once, in the words of the compiler.
    #[test]
    fn what_the_compiler_says_as_well_is_left_out() {
        let one = |source: &str, line, code: Option<&str>| Diagnostic {
            path: WorkspacePath::parse("a.rs").unwrap(),
            line,
            column: 1,
            severity: Severity::Error,
            code: code.map(str::to_owned),
            source: Some(source.to_owned()),
            message: "m".to_owned(),
        };
        let kept = [
            one("rust-analyzer", 1, Some("E0425")),
            one("rust-analyzer", 2, Some("E0308")),
            one("rust-analyzer", 1, None),
            one("rustc", 1, Some("E0308")),
        ];
        let all = [kept.to_vec(), vec![one("rust-analyzer", 1, Some("E0308"))]].concat();
        assert_eq!(without_duplicates(all), kept);
    }
}
