use std::collections::BTreeSet;

use headstart_overlay_fs::{EntryKind, Overlay, Tree, TreeError};
use headstart_workspace_path::WorkspacePath;

use super::{EditError, EditPlan, EditStep};
use crate::IntelError;

impl EditPlan {
    /// Whether nothing would change.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// The paths that change; for a move both.
    pub fn paths(&self) -> BTreeSet<&WorkspacePath> {
        let both = self.steps.iter().flat_map(|step| match step {
            EditStep::Text { path, .. } | EditStep::Create { path, .. } | EditStep::Delete { path, .. } => {
                [path, path]
            }
            EditStep::Rename { from, to, .. } => [from, to],
        });
        both.collect()
    }

    /// What changes, with one line for each path, for the model.
    pub fn summary(&self) -> Vec<String> {
        let lines = self.steps.iter().map(|step| match step {
            EditStep::Text { path, before, after } => {
                let changed = similar::TextDiff::from_lines(before, after)
                    .iter_all_changes()
                    .filter(|change| change.tag() == similar::ChangeTag::Insert)
                    .count();
                format!(
                    "edited {path} ({changed} {} new or changed)",
                    if changed == 1 { "line" } else { "lines" }
                )
            }
            EditStep::Create { path, .. } => format!("created {path}"),
            EditStep::Rename { from, to, .. } => format!("moved {from} to {to}"),
            EditStep::Delete { path, .. } => format!("removed {path}"),
        });
        lines.collect()
    }

    /// Stages all of it or nothing. The staged texts must be those that the server was asked about.
    pub async fn apply(&self, overlay: &Overlay) -> Result<(), IntelError> {
        let savepoint = overlay.savepoint();
        for step in &self.steps {
            if let Err(error) = apply_step(step, overlay).await {
                overlay.roll_back(savepoint);
                return Err(error);
            }
        }
        Ok(())
    }
}

async fn apply_step(step: &EditStep, overlay: &Overlay) -> Result<(), IntelError> {
    match step {
        EditStep::Text { path, before, after } => {
            if overlay.read(path).await? != before.as_bytes() {
                return Err(EditError::Changed { path: path.clone() }.into());
            }
            overlay.write(path, after.clone().into_bytes()).await?;
        }
        EditStep::Create { path, overwrite, ignore } => match kind(overlay, path).await? {
            Some(EntryKind::File) if *overwrite => overlay.write(path, Vec::new()).await?,
            Some(_) if *ignore && !overwrite => {}
            Some(_) => return Err(EditError::Exists { path: path.clone() }.into()),
            None => overlay.write(path, Vec::new()).await?,
        },
        EditStep::Rename { from, to, overwrite, ignore } => {
            if kind(overlay, from).await?.is_none() {
                return Err(EditError::Missing { path: from.clone() }.into());
            }
            match kind(overlay, to).await? {
                None => {}
                Some(EntryKind::File) if *overwrite => overlay.remove(to).await?,
                Some(_) if *ignore && !overwrite => return Ok(()),
                Some(_) => return Err(EditError::Exists { path: to.clone() }.into()),
            }
            overlay.rename(from, to).await?;
        }
        EditStep::Delete { path, recursive, ignore } => match kind(overlay, path).await? {
            None if *ignore => {}
            None => return Err(EditError::Missing { path: path.clone() }.into()),
            Some(EntryKind::Directory) if !recursive && !overlay.list(path).await?.is_empty() => {
                return Err(EditError::NotEmpty { path: path.clone() }.into());
            }
            Some(_) => overlay.remove(path).await?,
        },
    }
    Ok(())
}

async fn kind(overlay: &Overlay, path: &WorkspacePath) -> Result<Option<EntryKind>, TreeError> {
    match overlay.metadata(path).await {
        Ok(metadata) => Ok(Some(metadata.kind)),
        Err(TreeError::NotFound { .. } | TreeError::NotADirectory { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
