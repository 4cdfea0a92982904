use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use headstart_overlay_fs::TreeError;
use headstart_workspace_path::WorkspacePath;
use serde_json::{Value, json};

use super::Server;
use crate::servers::edit::{EditContext, ProposedEdit};
use crate::servers::file_texts::FileTexts;
use crate::servers::protocol::{CodeAction, WorkspaceEdit};
use crate::servers::request::{Request, Response};
use crate::servers::results::{Action, Location, Locations, SymbolPosition, Symbols};
use crate::servers::session::{Deadline, OpenText, TargetPosition};
use crate::uri::UriTarget;
use crate::{EditPlan, IntelError, LineIndex, Position, PositionEncoding, Snapshot};

/// The most places of an answer.
const PLACES: usize = 100;
/// The most names of an answer.
const SYMBOLS: usize = 200;
/// The most characters of a line that is shown.
const LINE_CHARACTERS: usize = 200;

impl Server {
    /// Answers questions about a place or a name.
    pub(super) async fn answer_symbol_request(
        &mut self,
        snapshot: &Snapshot,
        question: &Request,
        deadline: Deadline,
    ) -> Result<Response, IntelError> {
        match question {
            Request::Definition(place) => {
                self.find("definition", place, snapshot, deadline).await.map(Response::Locations)
            }
            Request::References(place) => {
                self.find("references", place, snapshot, deadline).await.map(Response::Locations)
            }
            Request::Hover(place) => {
                let (_, position, _) = self.open_at(place, snapshot).await?;
                let session = self.session()?;
                session.require("hoverProvider", "hover")?;
                let params = session.position_params(&place.path, position);
                session.hover(&params, deadline).await.map(Response::Text)
            }
            Request::SymbolsOf(path) => {
                self.open(path, snapshot).await?;
                let session = self.session()?;
                session.require("documentSymbolProvider", "symbols")?;
                let symbols = session.document_symbols(path, deadline).await?;
                Ok(Response::Symbols(visible_symbols(symbols, snapshot)))
            }
            Request::SymbolsLike(query) => {
                let open = self.texts.open(snapshot, self.touched(&snapshot.changes)).await;
                let session = self.session()?;
                session.set(&snapshot.changes, &open, false).await?;
                session.require("workspaceSymbolProvider", "symbols of the project")?;
                let symbols = session.workspace_symbols(query, deadline).await?;
                Ok(Response::Symbols(visible_symbols(symbols, snapshot)))
            }
            Request::Rename { place, to } => {
                let (_, position, _) = self.open_at(place, snapshot).await?;
                let session = self.session()?;
                session.require("renameProvider", "rename")?;
                let mut params = session.position_params(&place.path, position);
                params["newName"] = json!(to);
                let answer = session.ask("textDocument/rename", &params, deadline).await?;
                let edit: Option<WorkspaceEdit> = session.read("rename", answer)?;
                self.plan(edit.unwrap_or_default(), snapshot).await.map(Response::Plan)
            }
            Request::Actions { place, kind } => {
                let actions = self.actions(place, kind.as_deref(), snapshot, deadline).await?;
                Ok(Response::Actions(actions.iter().filter_map(|(action, _)| action_of(action)).collect()))
            }
            Request::Apply { place, kind, title } => {
                let actions = self.actions(place, kind.as_deref(), snapshot, deadline).await?;
                self.apply(actions, title, snapshot, deadline).await.map(Response::Plan)
            }
            other => Err(self.unsupported(other.name())),
        }
    }

    async fn find(
        &mut self,
        what: &str,
        place: &SymbolPosition,
        snapshot: &Snapshot,
        deadline: Deadline,
    ) -> Result<Locations, IntelError> {
        let (_, position, _) = self.open_at(place, snapshot).await?;
        let session = self.session()?;
        session.require(&format!("{what}Provider"), what)?;
        let mut params = session.position_params(&place.path, position);
        params["context"] = json!({ "includeDeclaration": true });
        let found = session.locations(&format!("textDocument/{what}"), &params, deadline).await?;
        let encoding = session.encoding;
        Ok(describe(&self.texts, encoding, found, snapshot).await)
    }

    async fn actions(
        &mut self,
        place: &SymbolPosition,
        kind: Option<&str>,
        snapshot: &Snapshot,
        deadline: Deadline,
    ) -> Result<Vec<(CodeAction, Value)>, IntelError> {
        let (open, start, length) = self.open_at(place, snapshot).await?;
        let session = self.session()?;
        session.require("codeActionProvider", "code actions")?;
        // Many actions fix a diagnostic, which the server has to find first.
        session.settle(&open, deadline).await?;
        let end = Position { line: start.line, character: start.character + length };
        session.code_actions(&place.path, (start, end), kind, deadline).await
    }

    async fn apply(
        &mut self,
        actions: Vec<(CodeAction, Value)>,
        title: &str,
        snapshot: &Snapshot,
        deadline: Deadline,
    ) -> Result<EditPlan, IntelError> {
        let enabled: Vec<_> = actions.into_iter().filter(|(action, _)| action.is_enabled()).collect();
        let known: Vec<String> = enabled.iter().map(|(action, _)| format!("{:?}", action.title)).collect();
        let Some(chosen) = enabled.into_iter().find(|(action, _)| action.title == title) else {
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            return Err(IntelError::NoAction { title: title.to_owned(), known });
        };
        let session = self.session()?;
        let edit = if chosen.0.is_command() { None } else { session.edit_of(chosen, deadline).await? };
        let edit = edit.ok_or_else(|| {
            self.unsupported("this action without running a command of its own, which never happens")
        })?;
        self.plan(edit, snapshot).await
    }

    /// Plans a proposed edit with the texts of the state.
    async fn plan(&mut self, edit: WorkspaceEdit, snapshot: &Snapshot) -> Result<EditPlan, IntelError> {
        let texts = self.texts.clone();
        let session = self.session()?;
        let asked = EditContext {
            root: session.root(),
            encoding: session.encoding,
            versions: session.versions(),
            closed: &*snapshot.closed,
        };
        let proposal = ProposedEdit::read(edit, &asked)?;
        let texts = texts.all(snapshot, proposal.texts_needed()).await;
        Ok(proposal.plan(&texts, &asked)?)
    }

    /// Shows the server the state with a place's file open; returns the position of the name and its length.
    async fn open_at(
        &mut self,
        place: &SymbolPosition,
        snapshot: &Snapshot,
    ) -> Result<(Vec<OpenText>, Position, u32), IntelError> {
        let text = self.texts.read(snapshot, &place.path).await?;
        let session = self.session()?;
        let (position, word) = session.locate_symbol(&place.path, &text, place.line, &place.symbol)?;
        let length = LineIndex::of(word).position(word.len(), session.encoding).character;
        Ok((self.open(&place.path, snapshot).await?, position, length))
    }

    async fn open(&mut self, path: &WorkspacePath, snapshot: &Snapshot) -> Result<Vec<OpenText>, IntelError> {
        let text = self.texts.read(snapshot, path).await?;
        let mut open = vec![OpenText { path: path.clone(), text }];
        let others = self.touched(&snapshot.changes).into_iter().filter(|touched| touched != path);
        open.extend(self.texts.open(snapshot, others).await);
        self.session()?.set(&snapshot.changes, &open, false).await?;
        Ok(open)
    }

    fn unsupported(&self, question: &str) -> IntelError {
        IntelError::Unsupported { server: self.adapter.name.clone(), question: question.to_owned() }
    }
}

/// Adds the line of text to each place in the workspace. A server's index may still have files of another state,
/// which do not exist in this one.
async fn describe(
    texts_of: &FileTexts,
    encoding: PositionEncoding,
    found: Vec<TargetPosition>,
    snapshot: &Snapshot,
) -> Locations {
    let mut texts: BTreeMap<WorkspacePath, Option<Arc<str>>> = BTreeMap::new();
    let mut gone = BTreeSet::new();
    let mut places: Vec<Location> = Vec::new();
    let count = found.len();
    for TargetPosition { target, start } in found {
        let path = match target {
            UriTarget::Inside(path) if !(snapshot.closed)(&path) => path,
            UriTarget::Inside(_) => {
                places.push(outside("a closed file".to_owned(), start));
                continue;
            }
            UriTarget::Outside(name) => {
                places.push(outside(name, start));
                continue;
            }
        };
        if PLACES < texts.len() {
            break;
        }
        if !texts.contains_key(&path) {
            let read = texts_of.read(snapshot, &path).await;
            let is_gone = matches!(&read, Err(IntelError::Tree(TreeError::NotFound { .. })));
            gone.extend(is_gone.then(|| path.clone()));
            texts.insert(path.clone(), read.ok());
        }
        if gone.contains(&path) {
            continue;
        }
        let text = texts.get(&path).cloned().flatten();
        let lines = text.as_ref().map(|text| LineIndex::of(text));
        let (line, column) = lines
            .as_ref()
            .map_or((start.line + 1, start.character + 1), |lines| lines.for_people(start, encoding));
        let shown = lines.as_ref().and_then(|lines| lines.get(usize::try_from(start.line).ok()?));
        let name = String::from_utf8_lossy(path.file_name().unwrap_or_default()).into_owned();
        let text = shown.map(|line| line.trim().chars().take(LINE_CHARACTERS).collect());
        places.push(Location { path: Some(path), name, line, column, text });
    }
    places.sort();
    places.dedup();
    let count = if PLACES < places.len() || PLACES < texts.len() { count } else { places.len() };
    places.truncate(PLACES);
    Locations { places, count }
}

fn outside(name: String, start: Position) -> Location {
    let (line, column) = (start.line.saturating_add(1), start.character.saturating_add(1));
    Location { path: None, name, line, column, text: None }
}

fn visible_symbols(mut symbols: Vec<crate::Symbol>, snapshot: &Snapshot) -> Symbols {
    symbols.retain(|symbol| symbol.path.as_ref().is_none_or(|path| !(snapshot.closed)(path)));
    let count = symbols.len();
    symbols.truncate(SYMBOLS);
    Symbols { symbols, count }
}

/// The action; `None` if it cannot be done now.
fn action_of(action: &CodeAction) -> Option<Action> {
    action.is_enabled().then(|| Action {
        title: action.title.clone(),
        kind: action.kind.clone(),
        command_only: action.needs_command(),
        preferred: action.is_preferred.unwrap_or(false),
    })
}
