//! Replaces the tools of the web in a build without the feature `mcp`: there are none.

use std::sync::Arc;

use headstart_toolbox::Tool;

use crate::config::WebConfig;
use crate::environment::Environment;

pub(crate) fn tools(_config: &WebConfig, _environment: &Environment) -> Vec<Arc<dyn Tool>> {
    Vec::new()
}
