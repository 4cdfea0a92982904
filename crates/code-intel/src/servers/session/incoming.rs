//! Messages and requests that a server sends by itself.

use serde_json::{Value, json};

use super::{Published, Session};
use crate::diagnostic::message_of;
use crate::servers::protocol;
use crate::uri::{UriTarget, target_of};
use crate::{Diagnostic, LineIndex, Severity};

/// The most paths whose diagnostics are kept.
const PATHS: usize = 5_000;
/// The most diagnostics of one path.
const DIAGNOSTICS: usize = 500;
/// The beginning of the title of a search for errors.
const SEARCHES: &str = "diagnosing";
/// The most concurrent tasks of a server that are tracked.
const TASKS: usize = 1_000;

impl Session {
    /// Reads one message. What is not understood is skipped, because a server may send more than a client knows.
    pub(super) fn handle_message(&mut self, message: &Value) {
        match (message["method"].as_str(), message.get("id")) {
            (Some(method), None) => self.handle_notification(method, &message["params"]),
            (Some(method), Some(id)) => {
                let answer = self.answer(method, &message["params"]);
                let response = match answer {
                    Some(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
                    None => {
                        json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32601, "message": "not supported" } })
                    }
                };
                self.connection.send(&response);
            }
            (None, Some(id)) => {
                // An answer that came too late, or was never asked for, is dropped.
                if let Some(id) = id.as_i64().filter(|id| self.waiting.remove(id)) {
                    let answer = match message.get("error") {
                        Some(error) if !error.is_null() => Err(error.clone()),
                        _ => Ok(message["result"].clone()),
                    };
                    self.answers.insert(id, answer);
                }
            }
            (None, None) => {}
        }
    }

    fn handle_notification(&mut self, method: &str, params: &Value) {
        match method {
            "textDocument/publishDiagnostics" => self.handle_diagnostics(params),
            "$/progress" => self.handle_progress(params),
            "experimental/serverStatus" => {
                self.reports.quiescent = params["quiescent"].as_bool().or(self.reports.quiescent);
            }
            "textDocument/clangd.fileStatus" => self.handle_file_status(params),
            _ => {}
        }
    }

    fn handle_file_status(&mut self, params: &Value) {
        let Some(UriTarget::Inside(path)) = params["uri"].as_str().map(|uri| target_of(self.root(), uri))
        else {
            return;
        };
        if params["state"] != "idle" {
            self.reports.finished_documents.remove(&path);
        } else if self.documents.contains_key(&path) {
            self.reports.finished_documents.insert(path);
            self.reports.reports_finished = true;
        }
    }

    /// The answer to a request of the server; `None` if it is not supported.
    fn answer(&mut self, method: &str, params: &Value) -> Option<Value> {
        Some(match method {
            "workspace/configuration" => {
                let items = params["items"].as_array().map(Vec::as_slice).unwrap_or_default();
                items.iter().map(|item| self.setting(item["section"].as_str())).collect()
            }
            "client/registerCapability" => {
                let registered = params["registrations"].as_array().map(Vec::as_slice).unwrap_or_default();
                self.reports.offers_pull |=
                    registered.iter().any(|one| one["method"] == "textDocument/diagnostic");
                Value::Null
            }
            // An edit that was not asked for is refused.
            "workspace/applyEdit" => {
                self.reports.refused_edits += 1;
                json!({ "applied": false, "failureReason": "edits are made by whoever asks for them" })
            }
            "workspace/workspaceFolders" => json!([{ "uri": self.uri(&self.folder), "name": "workspace" }]),
            "window/showDocument" => json!({ "success": false }),
            "workspace/diagnostic/refresh" => {
                self.reports.refreshes += 1;
                Value::Null
            }
            "window/workDoneProgress/create"
            | "client/unregisterCapability"
            | "window/showMessageRequest"
            | "workspace/codeLens/refresh"
            | "workspace/inlayHint/refresh"
            | "workspace/semanticTokens/refresh"
            | "workspace/foldingRange/refresh"
            | "workspace/inlineValue/refresh" => Value::Null,
            _ => return None,
        })
    }

    fn setting(&self, section: Option<&str>) -> Value {
        match section {
            None | Some("") => self.adapter.options.clone(),
            Some(section) => self.adapter.settings.get(section).cloned().unwrap_or(Value::Null),
        }
    }

    fn handle_diagnostics(&mut self, params: &Value) {
        let Some(UriTarget::Inside(path)) = params["uri"].as_str().map(|uri| target_of(self.root(), uri))
        else {
            return;
        };
        self.reports.publications += 1;
        self.reports.finished_documents.remove(&path);
        self.reports.last_publication = Some(self.host.now());
        let version = params["version"].as_i64().and_then(|version| i32::try_from(version).ok());
        let diagnostics = self.diagnostics_of(&path, &params["diagnostics"]);
        let full = PATHS <= self.reports.published.len();
        // Those of an open document are always kept, because somebody waits for them.
        if full && !self.reports.published.contains_key(&path) && !self.documents.contains_key(&path) {
            return;
        }
        self.keep_raw(&path, &params["diagnostics"]);
        let serial = self.reports.publications;
        self.reports.published.insert(path, Published { version, serial, diagnostics });
    }

    pub(super) fn keep_raw(&mut self, path: &headstart_workspace_path::WorkspacePath, list: &Value) {
        if self.documents.contains_key(path) {
            let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
            self.reports.raw.insert(path.clone(), list.iter().take(DIAGNOSTICS).cloned().collect());
        }
    }

    /// Reads a list of diagnostics; those that cannot be read are skipped.
    pub(super) fn diagnostics_of(
        &self,
        path: &headstart_workspace_path::WorkspacePath,
        list: &Value,
    ) -> Vec<Diagnostic> {
        let text = self.documents.get(path).map(|document| document.text.clone());
        let lines = text.as_ref().map(|text| LineIndex::of(text));
        let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
        let read = list.iter().take(DIAGNOSTICS).filter_map(|value| {
            let found: protocol::Diagnostic = serde_json::from_value(value.clone()).ok()?;
            let start = found.range.start;
            let (line, column) = match &lines {
                Some(lines) => lines.for_people(start, self.encoding),
                None => (start.line.saturating_add(1), start.character.saturating_add(1)),
            };
            Some(Diagnostic {
                path: path.clone(),
                line,
                column,
                severity: severity(found.severity),
                code: found.code.map(|code| match code {
                    Value::String(name) => name,
                    number => number.to_string(),
                }),
                source: found.source,
                message: message_of(&found.message.into_text()),
            })
        });
        read.collect()
    }

    fn handle_progress(&mut self, params: &Value) {
        let token = match &params["token"] {
            Value::String(token) => token.clone(),
            token => token.to_string(),
        };
        let value = &params["value"];
        let is_check = token.to_ascii_lowercase().contains("flycheck");
        match value["kind"].as_str() {
            Some("begin") if self.reports.progress.len() < TASKS => {
                if is_check {
                    self.reports.checks_begun += 1;
                    self.reports.checks.insert(token.clone());
                }
                let title = value["title"].as_str().unwrap_or_default();
                if title.starts_with(SEARCHES) {
                    self.reports.searches_begun += 1;
                }
                self.reports.progress.insert(token, title.chars().take(60).collect());
            }
            Some("end") => {
                self.reports.progress.remove(&token);
                if is_check {
                    self.reports.checks.remove(&token);
                    self.reports.last_check = Some(self.host.now());
                }
            }
            _ => {}
        }
    }
}

fn severity(severity: Option<u32>) -> Severity {
    match severity {
        Some(2) => Severity::Warning,
        Some(3) => Severity::Information,
        Some(4) => Severity::Hint,
        _ => Severity::Error,
    }
}
