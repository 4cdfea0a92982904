//! Questions about a place, and how their answers are read.

use headstart_workspace_path::WorkspacePath;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{Deadline, Session};
use crate::servers::protocol::{
    CodeAction, DocumentSymbol, DocumentSymbols, Hover, Places, SymbolInformation, WorkspaceEdit,
};
use crate::servers::results::Symbol;
use crate::symbol::{find_symbol, word_at};
use crate::uri::{UriTarget, target_of};
use crate::{IntelError, LineIndex, Position};

/// The deepest nesting of symbols that is followed.
const DEPTH: usize = 32;
/// The most characters of an explanation.
const HOVER_CHARACTERS: usize = 4_000;

/// A place in a server's answer.
pub(crate) struct TargetPosition {
    pub(crate) target: UriTarget,
    pub(crate) start: Position,
}

impl Session {
    /// Fails if the server does not support a capability.
    pub(crate) fn require(&self, capability: &str, question: &str) -> Result<(), IntelError> {
        if self.offers(capability) {
            return Ok(());
        }
        Err(IntelError::Unsupported { server: self.adapter.name.clone(), question: question.to_owned() })
    }

    /// The position of a name on a line as the server counts, and the word there.
    pub(crate) fn locate_symbol<'a>(
        &self,
        path: &WorkspacePath,
        text: &'a str,
        line: usize,
        symbol: &str,
    ) -> Result<(Position, &'a str), IntelError> {
        let offset = find_symbol(text, line, symbol)
            .map_err(|error| IntelError::Symbol { path: path.clone(), error })?;
        Ok((LineIndex::of(text).position(offset, self.encoding), word_at(text, offset)))
    }

    pub(crate) fn position_params(&self, path: &WorkspacePath, position: Position) -> Value {
        json!({
            "textDocument": { "uri": self.uri(path) },
            "position": { "line": position.line, "character": position.character },
        })
    }

    /// The places where something is defined or used, from any of the three forms of the answer.
    pub(crate) async fn locations(
        &mut self,
        method: &str,
        params: &Value,
        deadline: Deadline,
    ) -> Result<Vec<TargetPosition>, IntelError> {
        let answer = self.ask(method, params, deadline).await?;
        let places: Option<Places> = self.read(method, answer)?;
        let root = self.root().to_owned();
        let found = |uri: &str, start: Position| TargetPosition { target: target_of(&root, uri), start };
        Ok(match places {
            None => Vec::new(),
            Some(Places::One(one)) => vec![found(&one.uri, one.range.start)],
            Some(Places::List(list)) => list.iter().map(|one| found(&one.uri, one.range.start)).collect(),
            Some(Places::Links(list)) => {
                list.iter().map(|one| found(&one.target_uri, one.target_selection_range.start)).collect()
            }
        })
    }

    /// The server's explanation of a place, as text.
    pub(crate) async fn hover(
        &mut self,
        params: &Value,
        deadline: Deadline,
    ) -> Result<Option<String>, IntelError> {
        let answer = self.ask("textDocument/hover", params, deadline).await?;
        let hover: Option<Hover> = self.read("hover", answer)?;
        let text = hover.map(|hover| text_of(&hover.contents));
        Ok(text.map(|text| cut(text.trim())).filter(|text| !text.is_empty()))
    }

    /// The names that a file defines.
    pub(crate) async fn document_symbols(
        &mut self,
        path: &WorkspacePath,
        deadline: Deadline,
    ) -> Result<Vec<Symbol>, IntelError> {
        let params = json!({ "textDocument": { "uri": self.uri(path) } });
        let answer = self.ask("textDocument/documentSymbol", &params, deadline).await?;
        let mut symbols = Vec::new();
        match self.read::<Option<DocumentSymbols>>("documentSymbol", answer)? {
            None => {}
            Some(DocumentSymbols::Flat(list)) => {
                symbols.extend(list.into_iter().map(|symbol| self.flat(symbol)));
            }
            Some(DocumentSymbols::Nested(list)) => {
                for symbol in list {
                    nest(symbol, path, None, 0, &mut symbols);
                }
            }
        }
        Ok(symbols)
    }

    /// Names of the whole project that match a query.
    pub(crate) async fn workspace_symbols(
        &mut self,
        query: &str,
        deadline: Deadline,
    ) -> Result<Vec<Symbol>, IntelError> {
        let answer = self.ask("workspace/symbol", &json!({ "query": query }), deadline).await?;
        let list = answer.as_array().map(Vec::as_slice).unwrap_or_default();
        // The newer form may lack the range, which could be requested one by one; the file is enough then.
        let symbols = list.iter().filter_map(|value| {
            let range =
                json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 0, "character": 0 } });
            let mut value = value.clone();
            if value["location"]["range"].is_null() {
                value["location"]["range"] = range;
            }
            Some(self.flat(serde_json::from_value::<SymbolInformation>(value).ok()?))
        });
        Ok(symbols.collect())
    }

    /// The code actions at a place, each with what the server wrote.
    pub(crate) async fn code_actions(
        &mut self,
        path: &WorkspacePath,
        (start, end): (Position, Position),
        kind: Option<&str>,
        deadline: Deadline,
    ) -> Result<Vec<(CodeAction, Value)>, IntelError> {
        let raw = self.reports.raw.get(path).map(Vec::as_slice).unwrap_or_default();
        let on_line = |value: &&Value| {
            let line = |end: &str| value["range"][end]["line"].as_u64().unwrap_or(u64::MAX);
            line("start") <= u64::from(start.line) && u64::from(start.line) <= line("end")
        };
        let mut context =
            json!({ "diagnostics": raw.iter().filter(on_line).collect::<Vec<_>>(), "triggerKind": 1 });
        if let Some(kind) = kind {
            context["only"] = json!([kind]);
        }
        let position = |at: Position| json!({ "line": at.line, "character": at.character });
        let params = json!({
            "textDocument": { "uri": self.uri(path) },
            "range": { "start": position(start), "end": position(end) },
            "context": context,
        });
        let answer = self.ask("textDocument/codeAction", &params, deadline).await?;
        let written = self.read::<Option<Vec<Value>>>("codeAction", answer)?.unwrap_or_default();
        let read = |value: Value| Ok((self.read("codeAction", value.clone())?, value));
        written.into_iter().map(read).collect()
    }

    /// The edit of an action, which is requested with what the server wrote if it was left out.
    pub(crate) async fn edit_of(
        &mut self,
        (action, written): (CodeAction, Value),
        deadline: Deadline,
    ) -> Result<Option<WorkspaceEdit>, IntelError> {
        if action.edit.is_some()
            || !self.capabilities["codeActionProvider"]["resolveProvider"].as_bool().unwrap_or(false)
        {
            return Ok(action.edit);
        }
        let answer = self.ask("codeAction/resolve", &written, deadline).await?;
        Ok(self.read::<CodeAction>("resolve", answer)?.edit)
    }

    /// Reads an answer; an error if it does not follow the protocol.
    pub(crate) fn read<T: DeserializeOwned>(&self, question: &str, answer: Value) -> Result<T, IntelError> {
        serde_json::from_value(answer).map_err(|error| IntelError::Refused {
            server: self.adapter.name.clone(),
            message: format!("its answer to {question} is not understood ({error})"),
        })
    }

    fn flat(&self, symbol: SymbolInformation) -> Symbol {
        let path = match target_of(self.root(), &symbol.location.uri) {
            UriTarget::Inside(path) => Some(path),
            UriTarget::Outside(_) => None,
        };
        Symbol {
            name: symbol.name,
            kind: symbol.kind.name().to_owned(),
            container: symbol.container_name.filter(|name| !name.is_empty()),
            depth: 0,
            path,
            line: symbol.location.range.start.line.saturating_add(1),
            end_line: symbol.location.range.end.line.saturating_add(1),
        }
    }
}

fn nest(
    symbol: DocumentSymbol,
    path: &WorkspacePath,
    container: Option<&str>,
    depth: usize,
    symbols: &mut Vec<Symbol>,
) {
    symbols.push(Symbol {
        name: symbol.name.clone(),
        kind: symbol.kind.name().to_owned(),
        container: container.map(str::to_owned),
        depth,
        path: Some(path.clone()),
        line: symbol.selection_range.start.line.saturating_add(1),
        end_line: symbol.range.end.line.saturating_add(1),
    });
    if depth < DEPTH {
        for child in symbol.children.unwrap_or_default() {
            nest(child, path, Some(&symbol.name), depth + 1, symbols);
        }
    }
}

/// The text of an explanation in any of its forms.
fn text_of(contents: &Value) -> String {
    match contents {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(text_of).collect::<Vec<_>>().join("\n\n"),
        contents => contents["value"].as_str().unwrap_or_default().to_owned(),
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(HOVER_CHARACTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
