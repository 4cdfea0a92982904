//! Holds what `headstart stats` shows, and what the commands write into the ledger that it reads.

#![expect(clippy::unwrap_used, reason = "what a helper cannot do stops the test")]

use std::fs;

use serde_json::{Value, json};

use crate::support::project::{farewell, slow};
use crate::support::{Session, transcript};

/// The ledger of an imaginary project, with days that are long over.
const LEDGER: &str = r#"{"type":"turn","at":1767261600000,"model":"openai:big","inputTokens":40000,"cachedInputTokens":30000,"outputTokens":900,"money":0.025,"workMs":21000}
{"type":"suggestion","id":"a","at":1767261601000,"kind":"verify","model":"openai:big","inputTokens":9000,"cachedInputTokens":8500,"outputTokens":12,"money":0.0018,"workMs":900}
{"type":"speculation","id":"a","at":1767261609000,"kind":"verify","status":"completed","model":"openai:big","inputTokens":30000,"cachedInputTokens":27000,"outputTokens":400,"money":0.011,"workMs":8000,"stagedFiles":1,"stagedBytes":420,"modelMs":7000,"toolMs":900}
{"type":"outcome","id":"a","at":1767261630000,"outcome":"accepted","savedMs":8000}
{"type":"suggestion","id":"b","at":1767261660000,"kind":"commit","model":"openai:big","inputTokens":9500,"cachedInputTokens":9000,"outputTokens":9,"money":0.0018,"workMs":800}
{"type":"outcome","id":"b","at":1767261661000,"outcome":"ignored"}
{"type":"turn","at":1767348000000,"model":"openai:big","inputTokens":50000,"cachedInputTokens":45000,"outputTokens":700,"money":0.019,"workMs":15000}
{"type":"suggestion","id":"c","at":1767348001000,"kind":"fix","sharesCache":false,"model":"openai:small","inputTokens":9900,"outputTokens":14,"workMs":500}
{"type":"speculation","id":"c","at":1767348009000,"kind":"fix","sharesCache":false,"status":"aborted","model":"openai:small","inputTokens":22000,"outputTokens":250,"unmeasured":1,"workMs":5000,"stagedFiles":0,"stagedBytes":0,"modelMs":5000,"toolMs":0}
{"type":"outcome","id":"c","at":1767348010000,"outcome":"ignored"}
{"type":"speculation","id":"d","at":1767434400000,"kind":"fix","status":"completed","model":"openai:big","inputTokens":41000,"cachedInputTokens":39000,"outputTokens":500,"money":0.013,"workMs":6000,"stagedFiles":2,"stagedBytes":1200,"modelMs":5500,"toolMs":400}
{"type":"outcome","id":"d","at":1767434409000,"outcome":"joined","savedMs":3000}
{"type":"speculation","id":"e","at":1767434500000,"kind":"fix","status":"completed","model":"openai:big","inputTokens":42000,"cachedInputTokens":40000,"outputTokens":300,"money":0.012,"workMs":4000,"stagedFiles":1,"stagedBytes":99,"modelMs":3500,"toolMs":400}
{"type":"outcome","id":"e","at":1767434509000,"outcome":"conflict"}
"#;

/// A session whose ledger has these lines.
fn with_ledger(lines: &str) -> Session {
    let mut session = Session::with_project();
    session.speculate(&farewell(), "auto-edit");
    fs::write(session.ledger(), lines).unwrap();
    session
}

/// The recording of a farewell in which each answer has a usage.
fn measured() -> Value {
    let mut recording = farewell();
    for turn in recording["turns"].as_array_mut().unwrap() {
        turn["usage"] = json!({"inputTokens": 1_000, "cachedInputTokens": 600, "outputTokens": 50});
    }
    recording
}

fn lines(session: &Session) -> Vec<Value> {
    let text = fs::read_to_string(session.ledger()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn total(session: &Session) -> Value {
    session.run(&["stats", "--json"]).json().remove(0)
}

#[test]
fn one_turn_is_not_called_turns() {
    let one = LEDGER.lines().next().unwrap().to_owned() + "\n";
    let result = with_ledger(&one).run(&["stats"]);
    assert!(result.stdout.contains("40,900 tokens in 1 turn and in hits"), "{result}");
}

#[test]
fn a_user_reads_what_it_was_good_for() {
    let session = with_ledger(LEDGER);
    insta::assert_snapshot!(session.run(&["stats"]).to_string(), @r#"
    $ headstart stats
    /project

    suggested 3 asked for, 3 shown, 1 taken
    hit rate  50 %  (2 of 4 prompts that ran ahead)
              1 accepted, 1 joined, 1 ignored, 1 conflict
    saved     11.0 s of waiting, 5.5 s for each hit
    spent     163,400 tokens read (123,500 of them cached), 1,485 written, price unknown
    wasted    92,985 tokens, 8,453 for each second saved, price unknown
              107.2 % of what your own turns cost: as 47,253 input tokens
              what 1 more requests cost is not known: dropped half-way, or the server does not say
    your own  163,500 tokens in 2 turns and in hits

    MODEL         RAN  HITS   SAVED  WASTED     MONEY  CACHE
    openai:big      3     2  11.0 s  60,821  $0.01560  shared
    openai:small    1     0   0.0 s  32,164   unknown  not shared

    DAY         SAVED
    2026-01-01  ################################### 8.0 s, 1 of 1 hit, 18,521 wasted
    2026-01-02   0.0 s, 0 of 1 hit, 32,164 wasted
    2026-01-03  ############## 3.0 s, 1 of 2 hit, 42,300 wasted

    background work is on auto: a turn is followed by a suggestion, once the model has called a tool or answered twice, and not in plan mode
    $1.00 of $1.00 a day are left for questions and for work that you do not take
    work that you take is expected to save 68 s: as long as it takes, and at most a pause (113 s until yours are known)

    SURE        SHOWN  CAME TRUE  COUNTS AS
    20 to 60 %      3          1  32 %

    KIND    SHOWN  TAKEN
    verify      1      1
    commit      1      0
    fix         1      0
    [exit 0]
    "#);
}

#[test]
fn a_program_reads_what_it_was_good_for() {
    let session = with_ledger(LEDGER);
    insta::assert_snapshot!(session.run(&["stats", "--json"]).to_string(), @r#"
    $ headstart stats --json
    {"type":"total","workspace":"/project","speculations":4,"suggestions":3,"shown":3,"taken":1,"typed":0,"extended":0,"held":{},"outcomes":{"accepted":1,"joined":1,"ignored":1,"conflict":1},"inputTokens":163400,"cachedInputTokens":123500,"outputTokens":1485,"wastedTokens":92985,"money":null,"wastedMoney":null,"lost":47253.33333333333,"own":44100.0,"unmeasured":1,"stagedBytes":1719,"workMs":[TIME],"savedMs":11000,"turns":2,"ownTokens":163500,"hitRate":0.5,"lostShare":1.072,"secondsSavedPerHit":5.5,"tokensWastedPerSecondSaved":8453.182}
    {"type":"model","model":"openai:big","sharesCache":true,"free":false,"speculations":3,"suggestions":2,"shown":2,"taken":1,"typed":0,"extended":0,"held":{},"outcomes":{"accepted":1,"joined":1,"conflict":1},"inputTokens":131500,"cachedInputTokens":123500,"outputTokens":1221,"wastedTokens":60821,"money":0.0396,"wastedMoney":0.0156,"lost":10034.0,"own":44100.0,"unmeasured":0,"stagedBytes":1719,"workMs":[TIME],"savedMs":11000,"turns":2,"ownTokens":163500,"hitRate":0.667,"lostShare":0.228,"secondsSavedPerHit":5.5,"tokensWastedPerSecondSaved":5529.182}
    {"type":"model","model":"openai:small","sharesCache":false,"free":false,"speculations":1,"suggestions":1,"shown":1,"taken":0,"typed":0,"extended":0,"held":{},"outcomes":{"ignored":1},"inputTokens":31900,"cachedInputTokens":0,"outputTokens":264,"wastedTokens":32164,"money":null,"wastedMoney":null,"lost":37219.33333333333,"own":0.0,"unmeasured":1,"stagedBytes":0,"workMs":[TIME],"savedMs":0,"turns":0,"ownTokens":0,"hitRate":0.0,"lostShare":null,"secondsSavedPerHit":null,"tokensWastedPerSecondSaved":null}
    {"type":"day","day":"2026-01-01","speculations":1,"suggestions":2,"shown":2,"taken":1,"typed":0,"extended":0,"held":{},"outcomes":{"accepted":1},"inputTokens":48500,"cachedInputTokens":44500,"outputTokens":421,"wastedTokens":18521,"money":0.0146,"wastedMoney":0.0036,"lost":2834.0,"own":23900.0,"unmeasured":0,"stagedBytes":420,"workMs":[TIME],"savedMs":8000,"turns":1,"ownTokens":71300,"hitRate":1.0,"lostShare":0.119,"secondsSavedPerHit":8.0,"tokensWastedPerSecondSaved":2315.125}
    {"type":"day","day":"2026-01-02","speculations":1,"suggestions":1,"shown":1,"taken":0,"typed":0,"extended":0,"held":{},"outcomes":{"ignored":1},"inputTokens":31900,"cachedInputTokens":0,"outputTokens":264,"wastedTokens":32164,"money":null,"wastedMoney":null,"lost":37219.33333333333,"own":12300.0,"unmeasured":1,"stagedBytes":0,"workMs":[TIME],"savedMs":0,"turns":1,"ownTokens":50700,"hitRate":0.0,"lostShare":3.026,"secondsSavedPerHit":null,"tokensWastedPerSecondSaved":null}
    {"type":"day","day":"2026-01-03","speculations":2,"suggestions":0,"shown":0,"taken":0,"typed":0,"extended":0,"held":{},"outcomes":{"joined":1,"conflict":1},"inputTokens":83000,"cachedInputTokens":79000,"outputTokens":800,"wastedTokens":42300,"money":0.025,"wastedMoney":0.012,"lost":7200.0,"own":7900.0,"unmeasured":0,"stagedBytes":1299,"workMs":[TIME],"savedMs":3000,"turns":0,"ownTokens":41500,"hitRate":0.5,"lostShare":0.911,"secondsSavedPerHit":3.0,"tokensWastedPerSecondSaved":14100.0}
    {"type":"kind","kind":"verify","shown":1,"taken":1}
    {"type":"kind","kind":"commit","shown":1,"taken":0}
    {"type":"kind","kind":"fix","shown":1,"taken":0}
    {"type":"band","from":20,"below":60,"shown":3,"taken":1,"chance":0.316}
    {"type":"policy","mode":"auto","free":false,"row":0,"pauseSeconds":113.0,"savesSeconds":68.0,"limit":1.0,"leftToday":1.0,"asks":true,"hold":null,"why":null,"runs":true,"runHold":null}
    [exit 0]
    "#);
}

#[test]
fn nothing_done_ahead_is_no_error_and_makes_no_file() {
    let session = Session::new();
    insta::assert_snapshot!(transcript(&[
        session.run(&["stats"]),
        session.run(&["stats", "--workspace", "no"])
    ]), @r#"
    $ headstart stats
    /project

    nothing was done ahead in this project yet

    background work is on auto: a turn is followed by a suggestion, once the model has called a tool or answered twice, and not in plan mode
    $1.00 of $1.00 a day are left for questions and for work that you do not take
    work that you take is expected to save 68 s: as long as it takes, and at most a pause (113 s until yours are known)
    [exit 0]

    $ headstart stats --workspace no
    [stderr] headstart: workspace no does not exist; name a folder with --workspace
    [exit 2]
    "#);
    assert!(!session.home().join(".local").exists());
}

#[test]
fn lines_that_cannot_be_read_are_told_and_the_rest_is_shown() {
    let session = with_ledger(&format!("{LEDGER}{{\"type\":\"song\"}}\n{{\"type\":\"outco"));
    let before = fs::read(session.ledger()).unwrap();
    let outcome = session.run(&["stats", "--json"]);
    assert!(outcome.stderr.contains("1 of the lines left out, the first is line 15"), "{outcome}");
    assert!(outcome.stderr.contains("the last line has no end and is left out"), "{outcome}");
    let json = outcome.json();
    assert_eq!(json[0]["speculations"], 4);
    assert_eq!(json.last().unwrap()["type"], "damaged");
    assert_eq!(fs::read(session.ledger()).unwrap(), before, "whoever only looks changes nothing");
}

#[test]
fn what_a_script_speculates_accepts_and_gives_up_is_in_the_ledger_with_its_price() {
    let mut session = Session::with_project();
    let prices = "input = 10\ncached = 1\noutput = 100\n";
    let model = session.recording(&measured());
    session.write("home/.config/headstart/config.toml", format!("[models.'{model}'.prices]\n{prices}"));
    let (_, first) = session.speculate(&measured(), "auto-edit");
    let (_, second) = session.speculate(&measured(), "auto-edit");
    let (_, third) = session.speculate(&measured(), "auto-edit");
    let undecided = total(&session);
    assert_eq!((&undecided["speculations"], &undecided["hitRate"]), (&json!(3), &Value::Null));

    assert_eq!(session.run(&["accept", &first]).code, Some(0));
    assert_eq!(session.run(&["accept", &second]).code, Some(4));
    assert_eq!(session.run(&["abort", &third]).code, Some(0));
    let total = total(&session);
    assert_eq!(total["outcomes"], json!({"accepted": 1, "aborted": 1, "conflict": 1}));
    assert_eq!(total["hitRate"], 0.333);
    // Each of the three runs had four answers: 1,600 tokens were new to the model, 2,400 came from its cache, and 200
    // were written.
    let each = (1_600.0 * 10.0 + 2_400.0 + 200.0 * 100.0) / 1e6;
    assert!((total["money"].as_f64().unwrap() - 3.0 * each).abs() < 1e-9, "{total}");
    assert!((total["wastedMoney"].as_f64().unwrap() - 2.0 * each).abs() < 1e-9, "{total}");
    assert_eq!((&total["wastedTokens"], &total["ownTokens"]), (&json!(8_400), &json!(4_200)));
    assert!(total["stagedBytes"].as_u64().unwrap() != 0);

    let lines = lines(&session);
    assert!(
        lines.iter().all(|line| line["at"].as_u64().unwrap() != 0 && line.get("prompt").is_none()),
        "{lines:?}"
    );
    assert_eq!(lines[0]["source"], "command");
    assert!(
        !fs::read_to_string(session.ledger()).unwrap().contains("farewell"),
        "no prompt text unless asked"
    );
}

#[test]
fn an_accept_that_was_taken_back_is_no_hit_until_it_is_made_again() {
    let mut session = Session::with_project();
    // Two runs did the same work, and the one that was accepted is the one that is undone.
    let ids = [(); 2].map(|()| session.speculate(&measured(), "auto-edit").1);
    for id in &ids {
        assert_eq!(session.run(&["accept", id]).code, Some(0));
        assert_eq!(total(&session)["outcomes"]["accepted"], 1);
        let outcome = session.run(&["undo", "--json"]);
        assert_eq!(outcome.json().pop().unwrap()["id"], json!(id), "{outcome}");
    }
    let undone = total(&session);
    assert_eq!(undone["outcomes"], json!({"undone": 2}));
    assert_eq!(
        (&undone["hitRate"], &undone["savedMs"], &undone["ownTokens"]),
        (&json!(0.0), &json!(0), &json!(0))
    );
    assert_eq!(undone["wastedTokens"], 8_400);

    // An undo can also name its id. An undo that fails writes nothing into the ledger.
    assert_eq!(session.run(&["accept", &ids[0]]).code, Some(0));
    assert_eq!(total(&session)["outcomes"], json!({"accepted": 1, "undone": 1}));
    let lines_before = lines(&session).len();
    session.write("project/greeting.txt", "mine\n");
    assert_eq!(session.run(&["undo", &ids[0]]).code, Some(4));
    assert_eq!(lines(&session).len(), lines_before);
    session.write("project/greeting.txt", "hello\nmoon\n");
    assert_eq!(session.run(&["undo", &ids[0]]).code, Some(0));
    assert_eq!(total(&session)["outcomes"], json!({"undone": 2}));
}

#[test]
fn prompts_are_kept_where_the_user_asks_for_it_and_nothing_where_they_want_nothing() {
    let mut session = Session::with_project();
    session.write("home/.config/headstart/config.toml", "ledger = 'prompts'\n");
    session.speculate(&farewell(), "auto-edit");
    assert_eq!(lines(&session)[0]["prompt"], "say farewell");

    let mut session = Session::with_project();
    session.write("home/.config/headstart/config.toml", "ledger = 'off'\n");
    session.speculate(&farewell(), "auto-edit");
    assert!(!session.home().join(".local/state/headstart/ledgers").exists());
}

#[test]
fn a_query_for_a_suggestion_is_in_the_ledger() {
    let session = Session::with_project();
    let history = session.history(&json!([
        {"role": "user", "parts": [{"type": "text", "text": "begin"}]},
        {"role": "model", "parts": [{"type": "text", "text": "One."}]},
        {"role": "user", "parts": [{"type": "text", "text": "go on"}]},
        {"role": "model", "parts": [{"type": "text", "text": "Two."}]},
    ]));
    let model = session.recording(&farewell());
    session.run(&["suggest", "--model", &model, "--history", &history]);
    let lines = lines(&session);
    assert_eq!((&lines[0]["type"], &lines[0]["kind"]), (&json!("suggestion"), &json!("verify")));
    assert_eq!(total(&session)["suggestions"], 1);
}

#[test]
fn work_that_is_given_up_or_dies_is_told_too() {
    let session = Session::with_project();
    let model = session.recording(&slow());
    let arguments = ["speculate", "--json", "--mode", "auto-edit", "--model", &model, "wait"];
    let mut live = session.live(&arguments);
    live.wait_for("toolResult");
    live.interrupt();
    assert_eq!(live.ended_by(), Some(2));
    assert_eq!(total(&session)["outcomes"], json!({"aborted": 1}));

    let mut live = session.live(&arguments);
    live.wait_for("toolResult");
    live.kill();
    let dead = session.only_row()["id"].as_str().unwrap().to_owned();
    session.run(&["abort", &dead]);
    let total = total(&session);
    assert_eq!((&total["outcomes"], &total["unmeasured"]), (&json!({"aborted": 2}), &json!(2)));
}

#[test]
fn the_policy_says_why_it_does_not_run() {
    let session = with_ledger(LEDGER);
    let habits = |habits: Value| {
        session.write("home/.local/state/headstart/user/habits.json", habits.to_string());
        let json = session.run(&["stats", "--json"]).json();
        json.into_iter().find(|line| line["type"] == "policy").unwrap()
    };
    let policy = habits(json!({"row": 24, "decided": 24, "passed": 12}));
    assert_eq!((&policy["mode"], &policy["hold"]), (&json!("auto"), &json!("backing_off")));
    assert_eq!(
        (&policy["row"], &policy["limit"], &policy["leftToday"]),
        (&json!(24), &json!(1.0), &json!(1.0))
    );
    let said = session.run(&["stats"]).stdout;
    assert!(
        said.contains("the last 24 suggestions were not taken; turns that pass before the next try: 4"),
        "{said}"
    );
    let policy = habits(json!({"day": 1_000_000, "lost": 0.999}));
    assert_eq!((&policy["hold"], &policy["runHold"]), (&json!("limit"), &json!("limit")), "{policy}");
    let said = session.run(&["stats"]).stdout;
    assert!(
        said.contains("$0.00 of $1.00 a day are left for questions and for work that you do not take"),
        "{said}"
    );

    let policy = habits(json!({"decided": 14}));
    assert_eq!((&policy["asks"], &policy["runs"]), (&json!(true), &json!(true)), "{policy}");

    let damaged = session.write("home/.local/state/headstart/user/habits.json", "[").run(&["stats"]);
    assert_eq!(damaged.code, Some(0));
    assert!(damaged.stderr.contains("which suggestions you take is unknown: "), "{damaged}");

    let session = session.variable("HEADSTART_BACKGROUND", "off");
    let json = session.run(&["stats", "--json"]).json();
    let policy = json.into_iter().find(|line| line["type"] == "policy").unwrap();
    assert_eq!((&policy["hold"], &policy["runHold"]), (&json!("off"), &json!("off")));
    assert!(session.run(&["stats"]).stdout.contains("background work is off\n"));
}
