//! A deny rule keeps a path closed, and stands in the way of nothing else.

use futures::executor::block_on;
use headstart_speculation::{Acceptance, Ending};
use headstart_tool_gate::{ApprovalMode, DenyRules};
use serde_json::json;

use crate::support::{Bench, call, calls, path, read, says, write};

#[test]
fn what_a_rule_closes_is_not_read_and_withdraws_nothing() {
    let searches = || {
        [
            call("ls", &json!({})),
            call("grep", &json!({ "pattern": "old" })),
            call("glob", &json!({ "pattern": "**/*.rs" })),
            call("ls", &json!({ "path": "secret" })),
            read("link/k"),
            read("src/lib.rs"),
        ]
    };
    for rule in [".*", ".gitignore", "**/.git*", "secret", "secret/", "secret/*", "secret/**"] {
        for search in searches() {
            let answers = [calls([search.clone()]), calls([write("NEW.md", "x")]), says("Done.")];
            let bench = Bench::new(ApprovalMode::AutoEdit, answers);
            for (name, content) in [(".gitignore", "a\n"), ("secret/k", "old"), ("secret/.gitignore", "b\n")]
            {
                bench.tree.write(&path(name), content);
            }
            bench.tree.link(&path("link"), "secret");
            bench.host.rules.lock().unwrap().deny = DenyRules::from_patterns([rule]).unwrap();
            let (speculation, finished) = bench.speculate("do it");
            if finished.ending != Ending::Completed {
                continue; // The gate itself knew that the rule closes what was asked for.
            }
            let acceptance = block_on(speculation.accept()).unwrap();
            assert!(matches!(acceptance, Acceptance::Accepted(_)), "{rule} {search:?}: {acceptance:?}");
        }
    }
}
