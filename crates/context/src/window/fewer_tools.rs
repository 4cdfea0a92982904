//! Fewer tools for a model that sees little at once.

use headstart_forked_query::ToolSchema;

use super::{Window, percent_of};

/// The share of a small window that tools may take, in percent.
const SHARE: u64 = 30;

/// The tokens that are enough for everything else in a large window.
const OTHERS: u64 = 32_000;

/// The tools without which a coding agent can do nothing, the most important first.
const FIRST: [&str; 7] = ["read_file", "edit", "write_file", "shell", "ls", "grep", "glob"];

impl Window {
    /// Removes the tools that do not fit into the window beside a conversation, the least important first, and returns
    /// their names.
    pub fn remove_tools(&self, tools: &mut Vec<ToolSchema>) -> Vec<String> {
        let mut room = percent_of(self.tokens, SHARE).max(self.tokens.saturating_sub(OTHERS));
        let mut by_rank: Vec<usize> = (0..tools.len()).collect();
        by_rank
            .sort_by_key(|at| FIRST.iter().position(|name| *name == tools[*at].name).unwrap_or(FIRST.len()));
        let mut fits = vec![false; tools.len()];
        for at in by_rank {
            let tokens = tokens(&tools[at]);
            if tokens <= room {
                room -= tokens;
                fits[at] = true;
            }
        }
        let left_out = tools.iter().zip(&fits).filter(|(_, fits)| !**fits).map(|(tool, _)| tool.name.clone());
        let left_out = left_out.collect();
        let mut fits = fits.into_iter();
        tools.retain(|_| fits.next().unwrap_or(true));
        left_out
    }
}

/// About how many tokens a tool takes in a request.
fn tokens(tool: &ToolSchema) -> u64 {
    let bytes = tool.name.len() + tool.description.len() + tool.parameters.to_string().len();
    u64::try_from(bytes).unwrap_or(u64::MAX) * 2 / 7
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_small_window_offers_the_most_important_tools_and_a_large_one_all() {
        let tool = |name: &str| ToolSchema::of(name, &"what it does ".repeat(80), &json!({}), &[]);
        let all: Vec<_> = ["ls", "web", "read_file", "task", "edit", "shell"].map(tool).into();
        let names = |tools: &[ToolSchema]| tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>();
        let offered = |tokens| {
            let mut tools = all.clone();
            let left_out = Window { tokens, ..Window::default() }.remove_tools(&mut tools);
            (names(&tools), left_out)
        };
        assert_eq!(offered(128_000), (names(&all), Vec::new()));
        let [ls, web, read, task, edit, shell] =
            ["ls", "web", "read_file", "task", "edit", "shell"].map(str::to_owned);
        assert_eq!(offered(4_096), (vec![read.clone(), edit.clone(), shell.clone()], vec![ls, web, task]));
        assert_eq!(offered(1_200).0, [read]);

        // Whoever names many tools gets them where there is room.
        let mut many: Vec<_> = (0..200).map(|number| tool(&format!("mcp__{number}"))).collect();
        assert!(Window::default().remove_tools(&mut many).is_empty());
    }
}
