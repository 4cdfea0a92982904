use async_trait::async_trait;
use headstart_forked_query::ToolSchema;
use headstart_overlay_fs::{EntryKind, Tree, WorkspacePath};
use headstart_tool_gate::built_in;
use serde_json::{Map, Value, json};

use super::schema;
use crate::arguments::Arguments;
use crate::ignore_rules::IgnoreRules;
use crate::location::locate;
use crate::output::OutputText;
use crate::{Tool, ToolContext, ToolError, ToolOutput};

/// Lists one folder with one entry on each line: a folder with `/`, a link with `@`.
pub(crate) struct Ls;

#[async_trait]
impl Tool for Ls {
    fn schema(&self) -> ToolSchema {
        schema(
            &built_in::LS,
            "Lists the names in a folder, one a line; folders end with /, symbolic links with @. What .gitignore \
             leaves out is only counted, unless the folder itself is ignored; .git is not shown.",
            &properties(),
            &[],
        )
    }

    async fn run(
        &self,
        args: &Map<String, Value>,
        context: ToolContext<'_>,
    ) -> Result<ToolOutput, ToolError> {
        let known: &[&str] = if cfg!(feature = "more") { &["path", "recursive"] } else { &["path"] };
        let arguments = Arguments::new(&built_in::LS, args, known)?;
        let folder = locate(arguments.path()?.unwrap_or("."), context).await?;
        #[cfg(feature = "more")]
        if arguments.flag("recursive")? {
            return all_below(folder, context).await.map(ToolOutput::Text);
        }
        let entries = context.view.list(&folder).await?;
        let rules = IgnoreRules::at_start(&folder, context).await.enter(&folder, context).await;

        let mut listing = Listing::new(context.limits.matches, context);
        let mut ignored = 0;
        for entry in entries {
            let Ok(path) = folder.join_bytes(&entry.name) else { continue };
            if entry.name == b".git" || context.closes(&path) {
                continue;
            }
            if rules.ignores(&path, entry.kind) {
                ignored += 1;
                continue;
            }
            listing.add(&String::from_utf8_lossy(&entry.name), entry.kind);
        }
        let mut output = listing.end(&folder, "glob with a narrower pattern shows them");
        if 0 < ignored {
            output.note(&format!("{ignored} more ignored by .gitignore; name one as path to look into it"));
        }
        Ok(output.finish().into())
    }
}

/// Entries, one on each line, as many as fit.
struct Listing {
    output: OutputText,
    most: usize,
    shown: usize,
    left_out: usize,
}

impl Listing {
    fn new(most: usize, context: ToolContext<'_>) -> Self {
        Self { output: OutputText::new(context.limits.output_bytes), most, shown: 0, left_out: 0 }
    }

    fn add(&mut self, name: &str, kind: EntryKind) {
        let mark = match kind {
            EntryKind::Directory => "/",
            EntryKind::Symlink => "@",
            EntryKind::File | EntryKind::Other => "",
        };
        if self.shown < self.most && self.output.push_line(&format!("{name}{mark}")) {
            self.shown += 1;
        } else {
            self.left_out += 1;
        }
    }

    /// Adds remarks about the folder. `advice` says how to see the rest.
    fn end(mut self, folder: &WorkspacePath, advice: &str) -> OutputText {
        if self.shown == 0 {
            self.output.note(&format!("{folder} has no entries to show"));
        }
        if 0 < self.left_out {
            self.output.note(&format!("{} more entries; {advice}", self.left_out));
        }
        self.output
    }
}

fn properties() -> Value {
    let path = json!({
        "type": "string",
        "description": "The folder: relative to the workspace, or absolute inside it. Default: the workspace."
    });
    #[cfg(feature = "more")]
    return json!({
        "path": path,
        "recursive": {
            "type": "boolean",
            "description": "Also what is in the folders below, each by its whole path, up to 200. Default: false."
        },
    });
    #[cfg(not(feature = "more"))]
    json!({ "path": path })
}

/// The most entries of a listing with several levels.
#[cfg(feature = "more")]
const MAX_BELOW: usize = 200;

#[cfg(feature = "more")]
async fn all_below(folder: WorkspacePath, context: ToolContext<'_>) -> Result<String, ToolError> {
    let mut walk = crate::walk::Walk::new(folder.clone(), context).await?;
    let mut listing = Listing::new(MAX_BELOW, context);
    while let Some(found) = walk.next().await {
        listing.add(&found.path.to_string(), found.kind);
    }
    let mut output = listing.end(&folder, "name a folder below, or glob");
    walk.notes().iter().for_each(|note| output.note(note));
    Ok(output.finish())
}
