//! Measures what the engine adds to a turn, beside two lower bounds: the same answers of the same model, only read to
//! their end; and the same calls, only judged and run.
#![expect(clippy::wildcard_imports, reason = "a group of benchmarks is a module of this file")]
#![expect(clippy::unwrap_used, reason = "a benchmark that fails ends")]

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use divan::{Bencher, black_box};
use futures::StreamExt;
use futures::executor::block_on;
use headstart_forked_query::{
    BackgroundModel, CacheSafeParams, Message, Model, ModelRequest, Role, ToolCall,
};
use headstart_overlay_fs::{MemoryTree, Overlay, Quota, Tree};
use headstart_providers::{Recording, Replay};
use headstart_speculation::{Consent, Ending, Engine, Host, Limits, Transcript};
use headstart_tool_gate::{ApprovalMode, CallRef, Gate, GateContext, Verdict};
use headstart_toolbox::{ToolContext, Toolbox};
use serde_json::json;

/// The number of answers with calls in one turn, and of calls in each answer.
const ANSWERS: usize = 5;
const CALLS: usize = 4;

struct Program;

#[async_trait]
impl Host for Program {
    fn now(&self) -> Duration {
        Duration::ZERO
    }

    async fn sleep(&self, _time: Duration) {
        std::future::pending::<()>().await;
    }

    fn gate_context(&self) -> GateContext {
        GateContext { mode: ApprovalMode::AutoEdit, workspace: "/workspace".into(), ..GateContext::default() }
    }

    async fn consent(&self, _call: &ToolCall, _verdict: &Verdict) -> Consent {
        Consent::Stop
    }
}

/// Each answer reads three files and changes a fourth. The last one only says something.
fn recording() -> Recording {
    let file = |number: usize| format!("src/file-{}.rs", number % 20);
    let mut turns: Vec<_> = (0..ANSWERS)
        .map(|answer| {
            let read =
                |call| json!({"name": "read_file", "args": {"file_path": file(answer * CALLS + call)}});
            let mut calls: Vec<_> = (1..CALLS).map(read).collect();
            let content = "fn new() {}\n".repeat(40);
            calls
                .push(json!({"name": "write_file", "args": {"file_path": file(answer), "content": content}}));
            json!({"text": "I look at it and change it.", "toolCalls": calls})
        })
        .collect();
    turns.push(json!({"text": "It is done."}));
    Recording::parse(&json!({ "turns": turns }).to_string()).unwrap()
}

fn engine(model: &Arc<dyn Model>) -> Engine {
    let files = (0..20).map(|number| (format!("src/file-{number}.rs"), "fn old() {}\n".repeat(100)));
    let files: Vec<_> = files.collect();
    let tree = MemoryTree::from_files(files.iter().map(|(name, text)| (name.as_str(), text.as_str())));
    Engine {
        background: BackgroundModel::main(Arc::clone(model), "recording"),
        toolbox: Toolbox::standard(None),
        workspace: Arc::new(tree.unwrap()),
        gate: Arc::new(Gate::new()),
        host: Arc::new(Program),
        limits: Limits::default(),
    }
}

/// A conversation of twenty prompts and twenty answers.
fn history() -> Vec<Message> {
    let say = |role, number| Message::text(role, format!("Words of entry {number}. ").repeat(30));
    (0..20).flat_map(|number| [say(Role::User, number), say(Role::Model, number)]).collect()
}

fn request(engine: &Engine) -> ModelRequest {
    ModelRequest {
        model: "recording".into(),
        system: Some("Be brief.".into()),
        tools: engine.toolbox.schemas(),
        messages: history(),
        thinking: false,
        response_schema: None,
        max_output_tokens: None,
    }
}

fn main() {
    divan::main();
}

fn fresh() -> Arc<dyn Model> {
    Arc::new(Replay::instant(recording()))
}

/// A turn of five answers with four calls each.
mod turn {
    use super::*;

    #[divan::bench(name = "floor: the model alone")]
    fn model(bencher: Bencher<'_, '_>) {
        let request = request(&engine(&fresh()));
        bencher.with_inputs(fresh).bench_local_values(|model| {
            for _ in 0..=ANSWERS {
                let events =
                    block_on(async { model.stream(&request).await.unwrap().collect::<Vec<_>>().await });
                black_box(events);
            }
        });
    }

    #[divan::bench(name = "floor: its calls alone, judged and run")]
    fn calls(bencher: Bencher<'_, '_>) {
        let calls: Vec<ToolCall> = recording()
            .turns
            .into_iter()
            .flat_map(|turn| turn.tool_calls)
            .map(|call| ToolCall { id: String::new(), name: call.name, args: call.args })
            .collect();
        let view = || {
            let engine = engine(&fresh());
            let base = Arc::clone(&engine.workspace) as Arc<dyn Tree>;
            (Arc::new(Overlay::new(base, Quota::default())), engine)
        };
        bencher.with_inputs(view).bench_local_refs(|(view, engine)| {
            let (gate, limits) = (Program.gate_context(), engine.limits.tools);
            for call in &calls {
                black_box(engine.gate.judge(CallRef { name: &call.name, args: &call.args }, &gate));
                let (hardened, consented) = (None, false);
                let context =
                    ToolContext { view, gate: &gate, limits: &limits, hardened, consented, attended: false };
                black_box(block_on(engine.toolbox.run(call, context)).unwrap());
            }
        });
    }

    #[divan::bench(name = "in the foreground")]
    fn foreground(bencher: Bencher<'_, '_>) {
        let inputs = || {
            let model = fresh();
            let engine = engine(&model);
            (request(&engine), engine, model)
        };
        bencher.with_inputs(inputs).bench_local_values(|(request, engine, model)| {
            let (turn, events) = engine.turn(model, request, Transcript::new("go"), Limits::default());
            assert_eq!(block_on(turn.run()), Ending::Completed);
            (turn, events, engine)
        });
    }

    #[divan::bench(name = "ahead, so many at once", args = [1, 8])]
    fn ahead(bencher: Bencher<'_, '_>, at_once: usize) {
        let inputs = || {
            let mut engine = engine(&fresh());
            engine.limits.calls_at_once = at_once;
            let schemas = engine.toolbox.schemas();
            let params = CacheSafeParams::new(None, schemas, &history(), "recording");
            (engine, params)
        };
        bencher.with_inputs(inputs).bench_local_values(|(engine, params)| {
            let (speculation, driver, events) = engine.start("1", &params, "go").unwrap();
            let finished = block_on(async {
                driver.await;
                speculation.finished().await
            });
            assert_eq!(finished.ending, Ending::Completed);
            (speculation, events, engine, params)
        });
    }
}
