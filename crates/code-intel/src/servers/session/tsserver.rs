//! Diagnostics of TypeScript's own server, through a request that its language server passes on.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Deadline, OpenText, Session};
use crate::IntelError;

/// How long it may need to notice that a file appeared or vanished.
const WATCH_DELAY: Duration = Duration::from_millis(500);

impl Session {
    /// Asks for the diagnostics of documents; if files appeared or vanished, until two answers agree.
    pub(super) async fn ask_tsserver(
        &mut self,
        wanted: &[OpenText],
        deadline: Deadline,
    ) -> Result<bool, IntelError> {
        if self.file_set_changed {
            self.listen(deadline.at.min(self.host.now() + WATCH_DELAY)).await?;
        }
        let mut earlier = None;
        loop {
            let mut answers = Vec::new();
            for open in wanted {
                let Some(list) = self.of_tsserver(open, deadline).await? else { return Ok(false) };
                answers.push(list);
            }
            if !self.file_set_changed || earlier.as_ref() == Some(&answers) {
                for (open, list) in wanted.iter().zip(answers) {
                    let list = Value::Array(list);
                    self.keep_raw(&open.path, &list);
                    let diagnostics = self.diagnostics_of(&open.path, &list);
                    self.reports.pulled.insert(open.path.clone(), diagnostics);
                }
                return Ok(true);
            }
            earlier = Some(answers);
            self.listen(deadline.at.min(self.host.now() + WATCH_DELAY)).await?;
            if deadline.at <= self.host.now() {
                return Ok(false);
            }
        }
    }

    /// The diagnostics of a document in the protocol's form; `None` if there is no answer in time.
    async fn of_tsserver(
        &mut self,
        open: &OpenText,
        deadline: Deadline,
    ) -> Result<Option<Vec<Value>>, IntelError> {
        let mut list = Vec::new();
        for command in ["syntacticDiagnosticsSync", "semanticDiagnosticsSync"] {
            // This is a request of this client, not one that a server proposed.
            let params = json!({
                "command": "typescript.tsserverRequest",
                "arguments": [command, { "file": self.uri(&open.path) }],
            });
            let answer = match self.ask("workspace/executeCommand", &params, deadline).await {
                Ok(answer) => answer,
                Err(IntelError::TimedOut { .. }) => return Ok(None),
                Err(error) => return Err(error),
            };
            let found = answer["body"].as_array().map(Vec::as_slice).unwrap_or_default();
            list.extend(found.iter().map(converted));
        }
        Ok(Some(list))
    }
}

fn converted(found: &Value) -> Value {
    let place = |at: &Value| {
        let from_zero = |name: &str| at[name].as_u64().unwrap_or(1).saturating_sub(1);
        json!({ "line": from_zero("line"), "character": from_zero("offset") })
    };
    let severity = match found["category"].as_str() {
        Some("warning") => 2,
        Some("suggestion") => 4,
        Some("message") => 3,
        _ => 1,
    };
    json!({
        "range": { "start": place(&found["start"]), "end": place(&found["end"]) },
        "severity": severity,
        "code": found["code"],
        "source": found["source"].as_str().unwrap_or("typescript"),
        "message": found["text"],
    })
}
