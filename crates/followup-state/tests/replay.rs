//! A recorded log must give the same effects on every platform. The wasm and browser tests use the same fixtures.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use headstart_followup_state::{Config, Effect, Event, FollowupController, Millis};
use serde::{Deserialize, Serialize};

#[derive(Deserialize)]
struct Log {
    config: Config,
    events: Vec<Entry>,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    now: Millis,
    event: Event,
}

#[derive(Serialize)]
struct Step {
    now: Millis,
    event: Event,
    effects: Vec<Effect>,
    visible: Option<String>,
}

fn play(log: &str) -> Vec<Step> {
    let log: Log = serde_json::from_str(log).unwrap();
    let mut controller = FollowupController::new(log.config);
    log.events
        .into_iter()
        .map(|Entry { now, event }| {
            let effects = controller.handle(now, event.clone()).into();
            Step { now, event, effects, visible: controller.visible().map(ToString::to_string) }
        })
        .collect()
}

#[test]
fn a_recorded_log_gives_the_recorded_effects() {
    insta::assert_json_snapshot!(play(include_str!("replay.json")));
}

#[test]
fn a_recorded_log_with_candidates_gives_the_recorded_effects() {
    insta::assert_json_snapshot!(play(include_str!("replay_candidates.json")));
}

#[test]
fn an_event_and_an_effect_read_back_what_they_write() {
    let logs = [include_str!("replay.json"), include_str!("replay_candidates.json")];
    for step in logs.into_iter().flat_map(play) {
        let event = serde_json::to_string(&step.event).unwrap();
        assert_eq!(serde_json::from_str::<Event>(&event).unwrap(), step.event);
        let effects = serde_json::to_string(&step.effects).unwrap();
        assert_eq!(serde_json::from_str::<Vec<Effect>>(&effects).unwrap(), step.effects);
    }
}

/// A log may come from elsewhere, so a suggestion in it must pass the filter.
#[test]
fn a_log_cannot_smuggle_in_a_text_the_filter_refuses() {
    let event = r#"{"type":"suggested","request":1,"suggestion":"rm -rf /"}"#;
    assert!(serde_json::from_str::<Event>(event).unwrap_err().to_string().contains("destructive"));
}
