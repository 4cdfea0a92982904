use std::collections::VecDeque;
use std::sync::Mutex;

use tokio::time::Instant;

use super::*;
use crate::testing::request;
use headstart_forked_query::{FinishReason, Usage};

type Events = Vec<Result<ModelEvent, ModelError>>;

/// Answers each request with the next script, and with the last one from then on; notes when each request came. A
/// script that begins with an error refuses the request at once.
struct ScriptedModel {
    answers: Mutex<VecDeque<Events>>,
    asked: Mutex<Vec<Duration>>,
    start: Instant,
}

impl ScriptedModel {
    fn new(answers: impl IntoIterator<Item = Events>) -> Arc<Self> {
        let answers = Mutex::new(answers.into_iter().collect());
        Arc::new(Self { answers, asked: Mutex::default(), start: Instant::now() })
    }

    fn asked_at(&self) -> Vec<u128> {
        self.asked.lock().unwrap().iter().map(Duration::as_millis).collect()
    }
}

#[async_trait]
impl Model for ScriptedModel {
    async fn stream(&self, _: &ModelRequest) -> Result<EventStream, ModelError> {
        self.asked.lock().unwrap().push(self.start.elapsed());
        let mut answers = self.answers.lock().unwrap();
        let answer = if answers.len() == 1 { answers[0].clone() } else { answers.pop_front().unwrap() };
        match answer.first() {
            Some(Err(error)) => Err(error.clone()),
            _ => Ok(stream::iter(answer).boxed()),
        }
    }
}

fn limited(seconds: Option<u64>) -> ModelError {
    ModelError::RateLimited {
        provider: "x".into(),
        message: String::new(),
        retry_after: seconds.map(Duration::from_secs),
    }
}

fn overloaded() -> ModelError {
    ModelError::Server { provider: "x".into(), status: 529, message: "busy".into(), retry_after: None }
}

fn text() -> ModelEvent {
    ModelEvent::Text("hi".into())
}

fn usage() -> ModelEvent {
    ModelEvent::Usage(Usage { input_tokens: 7, ..Usage::default() })
}

fn whole() -> Events {
    vec![Ok(usage()), Ok(text()), Ok(ModelEvent::Finished(FinishReason::Stop))]
}

async fn ask(model: &dyn Model) -> Events {
    match model.stream(&request()).await {
        Ok(events) => events.collect().await,
        Err(error) => vec![Err(error)],
    }
}

fn foreground(scripted: &Arc<ScriptedModel>, limiter: &Arc<RateLimiter>) -> RetryingModel {
    RetryingModel::new(Arc::clone(scripted) as Arc<_>, Priority::Foreground, Arc::clone(limiter))
}

fn background(scripted: &Arc<ScriptedModel>, limiter: &Arc<RateLimiter>) -> RetryingModel {
    RetryingModel::new(Arc::clone(scripted) as Arc<_>, Priority::Background, Arc::clone(limiter))
}

/// Limits of rate and overload pass, so the request is sent again after a wait.
#[tokio::test(start_paused = true)]
async fn what_passes_is_waited_for() {
    let cases = [
        // The error comes before the answer, or as the first event of its stream.
        (vec![vec![Err(limited(Some(3)))], whole()], 3_000..=3_050),
        (vec![vec![Err(overloaded())], vec![Err(overloaded())], whole()], 750..=1_500),
        (vec![vec![Ok(usage()), Err(overloaded())], whole()], 250..=500),
    ];
    for (answers, expected) in cases {
        let scripted = ScriptedModel::new(answers.clone());
        assert_eq!(ask(&foreground(&scripted, &Arc::default())).await, whole(), "{answers:?}");
        let asked = scripted.asked_at();
        assert_eq!(asked.len(), answers.len());
        assert!(expected.contains(asked.last().unwrap()), "{asked:?}");
    }
}

/// After a piece of the answer was passed on, a second answer would not fit to it. Other errors would only come again.
#[tokio::test(start_paused = true)]
async fn nothing_is_asked_again_once_a_piece_was_given_or_where_it_would_not_help() {
    let unauthorized = ModelError::Unauthorized {
        provider: "x".into(),
        status: 401,
        variable: "K".into(),
        message: String::new(),
    };
    let cases = [
        vec![Ok(text()), Err(overloaded())],
        vec![Ok(ModelEvent::Thought("hm".into())), Err(limited(None))],
        vec![Ok(usage()), Err(unauthorized.clone())],
        vec![Err(unauthorized)],
        vec![Err(ModelError::Cut { provider: "x".into(), source: None })],
        vec![Err(limited(Some(3_600)))],
        vec![],
    ];
    for answer in cases {
        let scripted = ScriptedModel::new([answer.clone(), whole()]);
        assert_eq!(ask(&foreground(&scripted, &Arc::default())).await, answer);
        assert_eq!(scripted.asked_at(), [0], "{answer:?}");
    }
}

/// The number of tries and the sum of the waits are limited, so every request ends.
#[tokio::test(start_paused = true)]
async fn a_storm_ends() {
    for error in [limited(None), limited(Some(1)), overloaded()] {
        for priority in [Priority::Foreground, Priority::Background] {
            let scripted = ScriptedModel::new([vec![Err(error.clone())]]);
            let model = RetryingModel::new(Arc::clone(&scripted) as Arc<_>, priority, Arc::default());
            assert_eq!(ask(&model).await, [Err(error.clone())]);
            let asked = scripted.asked_at();
            match (priority, error.retry_after_ms()) {
                // Nobody waits for it, so it makes the storm no worse.
                (Priority::Background, _) => assert_eq!(asked, [0]),
                (Priority::Foreground, None) => {
                    // The clock of the runtime counts whole milliseconds.
                    assert!((60_000..60_050).contains(asked.last().unwrap()), "{asked:?}");
                }
                (Priority::Foreground, Some(_)) => assert_eq!(asked.len(), 21, "{asked:?}"),
            }
        }
    }
}

/// While the user's turn waits for a limit, background work waits too, because it would use what the turn needs.
#[tokio::test(start_paused = true)]
async fn background_work_stays_behind_the_users_own_turn() {
    let limiter = Arc::default();
    let main = ScriptedModel::new([vec![Err(limited(Some(2)))], vec![Err(limited(Some(2)))], whole()]);
    let fast = ScriptedModel::new([whole()]);
    let (admission, work) = (foreground(&main, &limiter), background(&fast, &limiter));
    let work = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        ask(&work).await
    };
    let (admission, work) = tokio::join!(ask(&admission), work);
    assert_eq!((admission, work), (whole(), whole()));
    let (turn_through, work_began) = (*main.asked_at().last().unwrap(), fast.asked_at()[0]);
    assert!(4_000 <= turn_through && turn_through <= work_began, "{turn_through} {work_began}");
    assert!(work_began < turn_through + 500, "it goes on as soon as the turn is through");
}

/// A limit that background work ran into must not delay the user's turn.
#[tokio::test(start_paused = true)]
async fn the_users_own_turn_waits_for_no_limit_that_background_work_ran_into() {
    let limiter = Arc::default();
    let fast = ScriptedModel::new([vec![Err(limited(Some(20)))], whole()]);
    let main = ScriptedModel::new([whole()]);
    let refused = Err(limited(Some(20)));
    let (admission, work) = (foreground(&main, &limiter), background(&fast, &limiter));
    let admission = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        ask(&admission).await
    };
    let (admission, work) = tokio::join!(admission, ask(&work));
    assert_eq!((admission, work), (whole(), vec![refused]));
    assert_eq!(main.asked_at(), [1_000]);
    // The next work ahead waits for as long as the provider asked for.
    assert_eq!(ask(&background(&fast, &limiter)).await, whole());
    assert!(20_000 <= fast.asked_at()[1], "{:?}", fast.asked_at());
}

/// Background work gives up if it would have to wait long. It goes on after a turn, even if the turn was dropped.
#[tokio::test(start_paused = true)]
async fn background_work_gives_up_rather_than_wait_for_long_and_goes_on_after_a_turn_that_was_dropped() {
    let limiter: Arc<RateLimiter> = Arc::default();
    limiter.set_retry_after(Duration::from_secs(40));
    let fast = ScriptedModel::new([whole()]);
    let asked = Instant::now();
    assert_eq!(ask(&background(&fast, &limiter)).await, [Err(ModelError::Yielded)]);
    assert_eq!((asked.elapsed(), fast.asked_at().len()), (Duration::ZERO, 0));

    let limiter = Arc::default();
    let main = ScriptedModel::new([vec![Err(limited(Some(10)))]]);
    let admission = foreground(&main, &limiter);
    let dropped = tokio::time::timeout(Duration::from_secs(1), ask(&admission)).await;
    assert!(dropped.is_err());
    assert_eq!(ask(&background(&fast, &limiter)).await, whole());
    assert!(10_000 <= asked.elapsed().as_millis(), "what the provider asked for still counts");
}

/// A limit that is too long to wait for is an error at once, and background work stays away until it has passed.
#[tokio::test(start_paused = true)]
async fn a_limit_that_is_too_long_to_wait_for_keeps_background_work_away_too() {
    for priority in [Priority::Foreground, Priority::Background] {
        // One of these is longer than any clock runs.
        for seconds in [90, 3_600, u64::MAX] {
            let limiter: Arc<RateLimiter> = Arc::default();
            let refused = ScriptedModel::new([vec![Err(limited(Some(seconds)))]]);
            let first = RetryingModel::new(Arc::clone(&refused) as Arc<_>, priority, Arc::clone(&limiter));
            assert_eq!(ask(&first).await, [Err(limited(Some(seconds)))]);
            assert_eq!(refused.asked_at(), [0]);

            let fast = ScriptedModel::new([whole()]);
            assert_eq!(ask(&background(&fast, &limiter)).await, [Err(ModelError::Yielded)]);
            assert!(fast.asked_at().is_empty(), "{seconds}");
            assert_eq!(ask(&foreground(&ScriptedModel::new([whole()]), &limiter)).await, whole());
            tokio::time::advance(Duration::from_secs(seconds.min(24 * 60 * 60))).await;
            assert_eq!(ask(&background(&fast, &limiter)).await, whole());
        }
    }
}

/// Gives one piece and then waits this long.
struct SlowModel {
    piece: bool,
    rest: Duration,
    scripted: Arc<ScriptedModel>,
}

#[async_trait]
impl Model for SlowModel {
    async fn stream(&self, request: &ModelRequest) -> Result<EventStream, ModelError> {
        let whole = self.scripted.stream(request).await?;
        let before = if self.piece { vec![Ok(text())] } else { Vec::new() };
        let rest = self.rest;
        let silence =
            stream::once(async move { tokio::time::sleep(rest).await }).filter_map(|()| async { None });
        Ok(stream::iter(before).chain(silence).chain(whole).boxed())
    }
}

/// Running background work uses what the user lacks.
#[tokio::test(start_paused = true)]
async fn background_work_under_way_gives_way_when_the_users_own_turn_is_limited() {
    let rest = Duration::from_secs(30);
    for (piece, limit, expected, asked) in [
        // Nothing was passed on yet, so it is repeated after the turn.
        (false, limited(Some(2)), whole(), 2),
        (false, overloaded(), whole(), 2),
        // A piece was passed on, so it cannot be repeated.
        (true, limited(Some(2)), vec![Ok(text()), Err(ModelError::Yielded)], 1),
        // The turn gives up without waiting; it was limited all the same.
        (true, limited(Some(3_600)), vec![Ok(text()), Err(ModelError::Yielded)], 1),
    ] {
        let limiter = Arc::default();
        let fast = ScriptedModel::new([whole()]);
        let slow = Arc::new(SlowModel { piece, rest, scripted: Arc::clone(&fast) });
        let work = RetryingModel::new(slow, Priority::Background, Arc::clone(&limiter));
        let main = ScriptedModel::new([vec![Err(limit.clone())], whole()]);
        let admission = foreground(&main, &limiter);
        let admission = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            ask(&admission).await;
            Instant::now()
        };
        let (through, work) = tokio::join!(admission, ask(&work));
        assert_eq!(work, expected, "{piece} {limit:?}");
        assert_eq!(fast.asked_at().len(), asked, "{piece} {limit:?}");
        if asked == 2 {
            let through = through.duration_since(fast.start).as_millis();
            assert!(through <= fast.asked_at()[1], "{through} {:?}", fast.asked_at());
        }
    }
}

/// Events that are ready help nobody else, and an old limit does not count.
#[tokio::test(start_paused = true)]
async fn a_limit_of_before_and_one_of_another_provider_stop_nothing() {
    let limiter: Arc<RateLimiter> = Arc::default();
    let main = ScriptedModel::new([vec![Err(limited(Some(1)))], whole()]);
    ask(&foreground(&main, &limiter)).await;
    for rest in [Duration::ZERO, Duration::from_secs(9)] {
        let slow = Arc::new(SlowModel { piece: true, rest, scripted: ScriptedModel::new([whole()]) });
        let work = RetryingModel::new(slow, Priority::Background, Arc::clone(&limiter));
        let other = foreground(&ScriptedModel::new([vec![Err(limited(Some(1)))], whole()]), &Arc::default());
        let (work, _) = tokio::join!(ask(&work), ask(&other));
        assert_eq!(work, [&[Ok(text())][..], &whole()].concat());
    }
    // Limited background work does not interrupt other background work.
    let slow = Arc::new(SlowModel {
        piece: true,
        rest: Duration::from_secs(9),
        scripted: ScriptedModel::new([whole()]),
    });
    let first = RetryingModel::new(slow, Priority::Background, Arc::clone(&limiter));
    let second = background(&ScriptedModel::new([vec![Err(limited(Some(1)))], whole()]), &limiter);
    let (first, second) = tokio::join!(ask(&first), ask(&second));
    assert_eq!((first.last(), second), (whole().last(), vec![Err(limited(Some(1)))]));
}

/// The host can show the wait of a request while it lasts.
#[tokio::test(start_paused = true)]
async fn a_wait_is_told_while_it_lasts() {
    let waits = PendingRetrySender::default();
    let mut told = waits.subscribe();
    let scripted = ScriptedModel::new([vec![Err(limited(Some(8)))], vec![Err(overloaded())], whole()]);
    let model = foreground(&scripted, &Arc::default()).with_wait_reports(Arc::clone(&waits));
    let asked = Instant::now();
    let watch = async {
        told.changed().await.unwrap();
        let first = told.borrow_and_update().unwrap();
        tokio::time::sleep_until(first.until + Duration::from_millis(1)).await;
        let second = told.borrow_and_update().unwrap();
        (first, second)
    };
    let (answer, (first, second)) = tokio::join!(ask(&model), watch);
    assert_eq!((answer, *waits.borrow()), (whole(), None));
    assert_eq!((first.cause, second.cause), (WaitCause::RateLimit, WaitCause::ServerError));
    let seconds = first.until.duration_since(asked).as_secs_f64();
    assert!((8.0..8.1).contains(&seconds), "{seconds}");

    // A request that has given up does not keep others waiting.
    let scripted = ScriptedModel::new([vec![Err(limited(Some(8)))]]);
    let model = foreground(&scripted, &Arc::default()).with_wait_reports(Arc::clone(&waits));
    assert!(tokio::time::timeout(Duration::from_secs(1), ask(&model)).await.is_err());
    assert_eq!(*waits.borrow(), None);
}

/// Characters of a call that were not shown yet do not prevent a retry.
#[tokio::test(start_paused = true)]
async fn a_failure_behind_the_first_letters_of_a_call_is_tried_again() {
    let letters = || Ok(ModelEvent::CallFragment { index: 0, name: "ls".into(), letters: "{".into() });
    let scripted = ScriptedModel::new([
        vec![letters(), letters(), Err(overloaded())],
        vec![letters(), Ok(text()), Ok(ModelEvent::Finished(FinishReason::Stop))],
    ]);
    let model =
        RetryingModel::new(Arc::clone(&scripted) as Arc<dyn Model>, Priority::Foreground, Arc::default());
    let events: Events = model.stream(&request()).await.unwrap().collect().await;
    assert_eq!(scripted.asked_at().len(), 2);
    assert_eq!(events, [letters(), Ok(text()), Ok(ModelEvent::Finished(FinishReason::Stop))]);
}
