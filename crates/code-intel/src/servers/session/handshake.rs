//! The handshake: what this client supports, and what the server does.

use serde_json::{Value, json};

use super::{Deadline, Session};
use crate::{IntelError, PositionEncoding};

impl Session {
    pub(super) fn begin_handshake(&mut self) {
        let root = self.uri(&self.folder);
        let path = match self.folder.as_str() {
            Some("") | None => self.root().to_owned(),
            Some(folder) => format!("{}/{folder}", self.root()),
        };
        let params = json!({
            // In the view's namespace of processes this number would mean another process, and a server ends when
            // that process does.
            "processId": null,
            "clientInfo": { "name": "headstart", "version": env!("CARGO_PKG_VERSION") },
            "rootUri": root,
            "rootPath": path,
            "workspaceFolders": [{ "uri": root, "name": "workspace" }],
            "initializationOptions": self.adapter.options,
            "capabilities": capabilities(),
        });
        self.starting = Some(self.send_request("initialize", &params));
    }

    /// Waits for the end of the handshake.
    pub(crate) async fn ready(&mut self, deadline: Deadline) -> Result<(), IntelError> {
        let Some(id) = self.starting else { return Ok(()) };
        let answer = loop {
            if let Some(answer) = self.answers.remove(&id) {
                break answer;
            }
            if !self.listen_once(deadline.at).await? {
                return Err(IntelError::Loading { server: self.adapter.name.clone(), progress: None });
            }
        };
        let answer = answer.map_err(|error| IntelError::Protocol {
            server: self.adapter.name.clone(),
            detail: format!(
                "it refused to start: {}",
                error["message"].as_str().unwrap_or("no reason given")
            ),
            source: None,
        })?;
        self.starting = None;
        self.capabilities = answer["capabilities"].clone();
        let encoding = self.capabilities["positionEncoding"].as_str();
        let older = answer["offsetEncoding"].as_str();
        self.encoding = encoding.or(older).and_then(PositionEncoding::from_name).unwrap_or_default();
        self.notify("initialized", &json!({}));
        let settings: Value =
            self.adapter.settings.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        self.notify("workspace/didChangeConfiguration", &json!({ "settings": settings }));
        Ok(())
    }

    /// Whether it can be asked for the diagnostics of a document.
    pub(super) fn pulls(&self) -> bool {
        self.reports.offers_pull || self.offers("diagnosticProvider")
    }
}

fn capabilities() -> Value {
    json!({
        "general": { "positionEncodings": ["utf-8", "utf-16"] },
        "window": { "workDoneProgress": true },
        "workspace": {
            "applyEdit": false,
            "configuration": true,
            "workspaceFolders": true,
            "didChangeConfiguration": { "dynamicRegistration": true },
            "didChangeWatchedFiles": { "dynamicRegistration": true, "relativePatternSupport": true },
            "symbol": {},
            "diagnostics": { "refreshSupport": true },
            "workspaceEdit": {
                "documentChanges": true,
                "resourceOperations": ["create", "rename", "delete"],
                "failureHandling": "transactional",
            },
        },
        "textDocument": {
            "synchronization": { "didSave": true, "dynamicRegistration": true },
            "publishDiagnostics": { "versionSupport": true, "tagSupport": { "valueSet": [1, 2] } },
            "diagnostic": { "dynamicRegistration": true, "relatedDocumentSupport": true },
            "definition": { "linkSupport": true },
            "references": {},
            "hover": { "contentFormat": ["plaintext", "markdown"] },
            "documentSymbol": { "hierarchicalDocumentSymbolSupport": true },
            "rename": { "prepareSupport": false },
            "codeAction": {
                "codeActionLiteralSupport": { "codeActionKind": { "valueSet": [
                    "quickfix", "refactor", "refactor.extract", "refactor.inline", "refactor.rewrite", "source",
                    "source.organizeImports", "source.fixAll",
                ] } },
                "isPreferredSupport": true,
                "disabledSupport": true,
                "dataSupport": true,
                "resolveSupport": { "properties": ["edit"] },
            },
        },
        "experimental": { "serverStatusNotification": true },
    })
}
