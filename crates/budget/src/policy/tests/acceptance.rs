//! What a user may rely on with the default policy, over whole days of work.

use super::user::{AGENT, MIXED, Random, SHORT, SimulatedUser, Totals, Workday};
use super::*;

fn user(workday: Workday, seed: u64) -> SimulatedUser {
    SimulatedUser::new(workday, tariff(), Policy::default(), seed)
}

fn priced(input: f64) -> Tariff {
    let price =
        Price { cache_write: Money::new(input * 1.25).unwrap(), ..price(input, input / 10.0, input * 5.0) };
    Tariff::new("m", Prices::from_iter([("m".to_owned(), price)]))
}

#[test]
fn the_first_eight_short_turns_are_all_suggested_and_run() {
    let free = tariff().with_free(["m".to_owned()]);
    for tariff in [tariff(), priced(3.0), free] {
        let mut user = SimulatedUser::new(SHORT, tariff, Policy::default(), 1);
        for turn in 0..8 {
            let after = user.turn(0.0);
            assert!(after.asked.is_ok() && after.ran.is_some_and(|ran| ran.is_ok()), "{turn}: {after:?}");
        }
    }
}

#[test]
fn who_takes_nothing_is_asked_seldom_and_pays_next_to_nothing_then() {
    for workday in [SHORT, MIXED, AGENT] {
        let mut user = user(workday, 3);
        let (mut asked, mut ran) = (0, 0);
        for session in 0..10 {
            user.begin_session(session == 5);
            user.turns(20, 0.0);
            asked += user.sums.asked;
            ran += user.sums.ran;
        }
        assert!((5..=8).contains(&ran) && (20..=26 + ran).contains(&asked), "{workday:?}: {ran} {asked}");
        // This also holds in a new project, which begins with the row of the others.
        user.begin_session(true);
        let row = user.experience.habits().row;
        assert!(20 <= row);
        let mut after = Totals::default();
        for _ in 0..10 {
            user.begin_session(true);
            user.turns(20, 0.0);
            (after.own, after.lost) = (after.own + user.sums.own, after.lost + user.sums.lost);
            assert_eq!(user.sums.ran, 0);
        }
        assert!(after.lost < 0.02 * after.own, "{workday:?}: {}", after.lost / after.own);
        assert!(row < user.experience.habits().row);
    }
}

#[test]
fn one_that_is_taken_brings_everything_back() {
    for workday in [SHORT, MIXED, AGENT] {
        let mut user = user(workday, 5);
        let mut turns = 0;
        while user.experience.habits().row < 60 {
            if turns % 20 == 0 {
                user.begin_session(false);
            }
            user.turn(0.0);
            turns += 1;
        }
        while user.experience.habits().row != 0 {
            user.turn(1.0);
        }
        let after = user.turn(0.0);
        assert!(after.asked.is_ok() && after.ran.is_some_and(|ran| ran.is_ok()), "{workday:?}: {after:?}");
    }
}

/// A session loses at most its start and its share, and one more request, because a run is ended between two answers.
#[test]
fn no_session_loses_more_than_it_is_allowed() {
    let mut random = Random(11);
    for seed in 0..60 {
        let workday = Workday {
            prefix: random.between(1_000, 60_000),
            requests: (1, random.between(1, 30)),
            turn_ms: random.between(1, 600_000),
        };
        let tariff = [tariff(), priced(0.3), priced(3.0), priced(30.0)][seed % 4].clone();
        let policy = Policy::default();
        let mut user = SimulatedUser::new(workday, tariff, policy, random.between(0, u64::from(u32::MAX)));
        let start = user.policy.remaining_budget(&user.experience, user.now).start;
        let chance = random.next();
        let (mut drawn, mut slack) = (0.0, 0.0);
        for session in 0..random.between(1, 14) {
            user.begin_session(session % 3 == 0);
            for _ in 0..random.between(1, 30) {
                user.turn(chance);
                let beyond = user.sums.lost - policy.share * user.sums.own;
                assert!(beyond <= start + user.sums.dearest, "{workday:?} {seed}: {:?} {start}", user.sums);
            }
            drawn += (user.sums.lost - policy.share * user.sums.own).max(0.0);
            slack += user.sums.dearest;
            assert!(drawn <= policy.day_starts * start + slack, "{workday:?} {seed}: {drawn} {start}");
        }
    }
}

#[test]
fn twelve_sessions_of_one_turn_lose_at_most_three_starts_a_day() {
    for workday in [SHORT, MIXED, AGENT] {
        let mut user = user(workday, 7);
        let start = user.policy.remaining_budget(&user.experience, user.now).start;
        let (mut lost, mut drawn) = (0.0, 0.0);
        for _ in 0..12 {
            user.begin_session(false);
            user.turn(0.0);
            lost += user.sums.lost;
            drawn += (user.sums.lost - 0.15 * user.sums.own).max(0.0);
        }
        assert!(drawn <= 3.0 * start + user.sums.dearest, "{workday:?}: {drawn}");
        // With long turns the share is of noticeable size.
        assert!(workday.requests == AGENT.requests || lost <= 3.0 * start, "{workday:?}: {lost}");
    }
}

#[test]
fn what_costs_nothing_is_never_held_back_for_money() {
    let free = tariff().with_free(["m".to_owned()]);
    let mut user = SimulatedUser::new(SHORT, free, Policy::default(), 9);
    let mut ran = 0;
    for turn in 0..500 {
        let after = user.turn(0.0);
        assert_eq!(after.asked, Ok(()), "{turn}");
        match after.ran {
            Some(Ok(allowance)) => {
                assert_eq!(allowance.cost, None);
                ran += 1;
            }
            other => assert_eq!(other, Some(Err(SkipReason::Row { row: turn })), "{turn}"),
        }
    }
    assert_eq!(ran, 8 + 246, "each of the first eight, then every second");
}

#[test]
fn a_dear_model_shows_something_before_it_is_held_back() {
    let mut user = SimulatedUser::new(MIXED, priced(30.0), Policy::default(), 13);
    let mut shown = 0;
    let skip = loop {
        match user.turn(0.0).asked {
            Ok(()) => shown += 1,
            Err(skip) => break skip,
        }
    };
    assert!(0 < shown && shown < 12, "{shown}");
    assert!(matches!(skip, SkipReason::Allowance { day_limits: false, .. }), "{skip:?}");
}

#[test]
fn a_fast_turn_is_answered_as_a_slow_one() {
    let first = |turn_ms| {
        let mut user = user(Workday { turn_ms, ..SHORT }, 17);
        (0..8).map(|_| user.turn(0.0)).collect::<Vec<_>>()
    };
    assert_eq!(first(3), first(300_000));
}

#[test]
fn who_takes_most_gets_nearly_everything_ahead() {
    let mut user = user(MIXED, 19);
    let mut ran = 0;
    for _ in 0..10 {
        user.now += DAY;
        user.begin_session(false);
        user.turns(10, 0.7);
        ran += user.sums.ran;
    }
    assert!(85 <= ran, "{ran}");
    user.policy.mode = Mode::Off;
    assert_eq!(user.turn(0.7).asked, Err(SkipReason::Off));
}
