use std::collections::VecDeque;
use std::sync::Mutex;

use tokio::time::Instant;

use super::*;
use crate::testing::request;
use crate::{FinishReason, Usage};

type Events = Vec<Result<ModelEvent, ModelError>>;

/// Answers as scripted, each request with the next answer, the last one for ever; keeps when it was asked. An answer that
/// begins with an error is refused at once.
struct Tries {
    answers: Mutex<VecDeque<Events>>,
    asked: Mutex<Vec<Duration>>,
    start: Instant,
}

impl Tries {
    fn new(answers: impl IntoIterator<Item = Events>) -> Arc<Self> {
        let answers = Mutex::new(answers.into_iter().collect());
        Arc::new(Self { answers, asked: Mutex::default(), start: Instant::now() })
    }

    fn asked_at(&self) -> Vec<u128> {
        self.asked.lock().unwrap().iter().map(Duration::as_millis).collect()
    }
}

#[async_trait]
impl Model for Tries {
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

fn foreground(tries: &Arc<Tries>, limiter: &Arc<Limiter>) -> Patient {
    Patient::new(Arc::clone(tries) as Arc<_>, Priority::Foreground, Arc::clone(limiter))
}

fn background(tries: &Arc<Tries>, limiter: &Arc<Limiter>) -> Patient {
    Patient::new(Arc::clone(tries) as Arc<_>, Priority::Background, Arc::clone(limiter))
}

#[tokio::test(start_paused = true)]
async fn what_passes_is_waited_for() {
    let cases = [
        // Before the answer, and in a stream that has said nothing yet.
        (vec![vec![Err(limited(Some(3)))], whole()], 3_000..=3_050),
        (vec![vec![Err(overloaded())], vec![Err(overloaded())], whole()], 750..=1_500),
        (vec![vec![Ok(usage()), Err(overloaded())], whole()], 250..=500),
    ];
    for (answers, expected) in cases {
        let tries = Tries::new(answers.clone());
        assert_eq!(ask(&foreground(&tries, &Arc::default())).await, whole(), "{answers:?}");
        let asked = tries.asked_at();
        assert_eq!(asked.len(), answers.len());
        assert!(expected.contains(asked.last().unwrap()), "{asked:?}");
    }
}

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
        vec![Err(ModelError::Cut { provider: "x".into() })],
        vec![Err(limited(Some(3_600)))],
        vec![],
    ];
    for answer in cases {
        let tries = Tries::new([answer.clone(), whole()]);
        assert_eq!(ask(&foreground(&tries, &Arc::default())).await, answer);
        assert_eq!(tries.asked_at(), [0], "{answer:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_storm_ends() {
    for error in [limited(None), limited(Some(1)), overloaded()] {
        for (priority, tries_made) in [(Priority::Foreground, 5), (Priority::Background, 3)] {
            let tries = Tries::new([vec![Err(error.clone())]]);
            let model = Patient::new(Arc::clone(&tries) as Arc<_>, priority, Arc::default());
            assert_eq!(ask(&model).await, [Err(error.clone())]);
            let asked = tries.asked_at();
            assert_eq!(asked.len(), tries_made, "{asked:?}");
            assert!(*asked.last().unwrap() <= 60_000, "{asked:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn background_work_stays_behind_the_users_own_turn() {
    let limiter = Arc::default();
    let main = Tries::new([vec![Err(limited(Some(2)))], vec![Err(limited(Some(2)))], whole()]);
    let fast = Tries::new([whole()]);
    let (turn, work) = (foreground(&main, &limiter), background(&fast, &limiter));
    let work = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        ask(&work).await
    };
    let (turn, work) = tokio::join!(ask(&turn), work);
    assert_eq!((turn, work), (whole(), whole()));
    let (turn_through, work_began) = (*main.asked_at().last().unwrap(), fast.asked_at()[0]);
    assert!(4_000 <= turn_through && turn_through <= work_began, "{turn_through} {work_began}");
    assert!(work_began < turn_through + 500, "it goes on as soon as the turn is through");
}

#[tokio::test(start_paused = true)]
async fn the_users_own_turn_waits_for_no_limit_that_background_work_ran_into() {
    let limiter = Arc::default();
    let fast = Tries::new([vec![Err(limited(Some(20)))], whole()]);
    let main = Tries::new([whole()]);
    let (turn, work) = (foreground(&main, &limiter), background(&fast, &limiter));
    let turn = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        ask(&turn).await
    };
    let (turn, work) = tokio::join!(turn, ask(&work));
    assert_eq!((turn, work), (whole(), whole()));
    assert_eq!(main.asked_at(), [1_000]);
    assert!(20_000 <= fast.asked_at()[1], "{:?}", fast.asked_at());
}

#[tokio::test(start_paused = true)]
async fn background_work_gives_up_rather_than_wait_for_long_and_goes_on_after_a_turn_that_was_dropped() {
    let limiter: Arc<Limiter> = Arc::default();
    limiter.limited(Duration::from_secs(40));
    let fast = Tries::new([whole()]);
    let asked = Instant::now();
    assert_eq!(ask(&background(&fast, &limiter)).await, [Err(ModelError::Yielded)]);
    assert_eq!((asked.elapsed(), fast.asked_at().len()), (Duration::ZERO, 0));

    let limiter = Arc::default();
    let main = Tries::new([vec![Err(limited(Some(10)))]]);
    let turn = foreground(&main, &limiter);
    let dropped = tokio::time::timeout(Duration::from_secs(1), ask(&turn)).await;
    assert!(dropped.is_err());
    assert_eq!(ask(&background(&fast, &limiter)).await, whole());
    assert!(10_000 <= asked.elapsed().as_millis(), "what the provider asked for still counts");
}

#[tokio::test(start_paused = true)]
async fn a_limit_that_is_too_long_to_wait_for_keeps_background_work_away_too() {
    for priority in [Priority::Foreground, Priority::Background] {
        // Longer than any clock runs, too.
        for seconds in [90, 3_600, u64::MAX] {
            let limiter: Arc<Limiter> = Arc::default();
            let refused = Tries::new([vec![Err(limited(Some(seconds)))]]);
            let first = Patient::new(Arc::clone(&refused) as Arc<_>, priority, Arc::clone(&limiter));
            assert_eq!(ask(&first).await, [Err(limited(Some(seconds)))]);
            assert_eq!(refused.asked_at(), [0]);

            let fast = Tries::new([whole()]);
            assert_eq!(ask(&background(&fast, &limiter)).await, [Err(ModelError::Yielded)]);
            assert!(fast.asked_at().is_empty(), "{seconds}");
            assert_eq!(ask(&foreground(&Tries::new([whole()]), &limiter)).await, whole());
            tokio::time::advance(Duration::from_secs(seconds.min(24 * 60 * 60))).await;
            assert_eq!(ask(&background(&fast, &limiter)).await, whole());
        }
    }
}
