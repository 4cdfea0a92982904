use headstart_workspace_path::WorkspacePath;
use serde_json::{Map, Value};

use crate::{Declaration, GateContext};

impl Declaration {
    /// Whether a call names this path, or a folder that holds it.
    pub fn is_about(&self, args: &Map<String, Value>, path: &WorkspacePath, context: &GateContext) -> bool {
        let named = self.paths_in(args).unwrap_or_default();
        let mut named = named.iter().filter_map(|(_, named)| context.resolve(named).ok());
        named.any(|named| !named.is_root() && path.starts_with(&named))
    }
}
