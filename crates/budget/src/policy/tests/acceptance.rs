//! What a user may rely on with the default policy, over whole days of work.

use super::user::{AGENT, MIXED, Random, SHORT, SimulatedUser, Totals, Workday};
use super::*;

fn user(workday: Workday, seed: u64) -> SimulatedUser {
    SimulatedUser::new(workday, priced(3.0), Policy::default(), seed)
}

fn priced(input: f64) -> Tariff {
    let price =
        Price { cache_write: Money::new(input * 1.25).unwrap(), ..price(input, input / 10.0, input * 5.0) };
    Tariff::new("m", Prices::from_iter([("m".to_owned(), price)]))
}

#[test]
fn the_first_short_turns_are_all_suggested_and_run() {
    let free = priced(3.0).with_free(["m".to_owned()]);
    for tariff in [Tariff::new("m", Prices::default()), priced(3.0), free] {
        let mut user = SimulatedUser::new(SHORT, tariff, Policy::default(), 1);
        for turn in 0..8 {
            let after = user.turn(0.3);
            assert!(after.asked.is_ok() && after.ran.is_none_or(|ran| ran.is_ok()), "{turn}: {after:?}");
        }
    }
}

#[test]
fn who_takes_nothing_is_asked_seldom_and_pays_little_then() {
    for workday in [SHORT, MIXED, AGENT] {
        let mut user = user(workday, 3);
        while user.experience.habits().row < 20 {
            user.now += DAY;
            user.begin_session(false);
            user.turns(20, 0.0);
        }
        // This also holds in a new project.
        let mut after = Totals::default();
        for _ in 0..10 {
            user.begin_session(true);
            user.turns(20, 0.0);
            (after.own, after.lost) = (after.own + user.sums.own, after.lost + user.sums.lost);
        }
        assert!(after.lost < 0.1 * after.own, "{workday:?}: {}", after.lost / after.own);
    }
}

#[test]
fn one_that_is_taken_brings_the_questions_back() {
    for workday in [SHORT, MIXED, AGENT] {
        let mut user = user(workday, 5);
        while user.experience.habits().row < 30 {
            user.now += DAY;
            user.begin_session(false);
            user.turns(5, 0.0);
        }
        user.now += DAY;
        while user.experience.habits().row != 0 {
            user.turn(1.0);
        }
        assert!(user.turn(0.0).asked.is_ok(), "{workday:?}");
    }
}

/// A day loses at most its limit, and one more request of each session, because a run is ended between two answers.
#[test]
fn no_day_loses_more_than_its_limit() {
    let mut random = Random(11);
    for seed in 0..60 {
        let workday = Workday {
            prefix: random.between(1_000, 60_000),
            requests: (1, random.between(1, 30)),
            turn_ms: random.between(1, 600_000),
        };
        let input = [0.3, 3.0, 30.0][seed % 3];
        let seed = random.between(0, u64::from(u32::MAX));
        let mut user = SimulatedUser::new(workday, priced(input), Policy::default(), seed);
        let chance = random.next();
        let (mut lost, mut slack) = (0.0, 0.0);
        for session in 0..random.between(1, 9) {
            user.begin_session(session % 3 == 0);
            for _ in 0..random.between(1, 30) {
                user.now = NOW;
                user.turn(chance);
            }
            lost += (user.sums.lost * input / 1e6).max(0.0);
            slack += user.sums.dearest * input / 1e6;
        }
        assert!(lost <= 1.0 + slack, "{workday:?} {seed}: {lost} {slack}");
    }
}

#[test]
fn what_costs_nothing_is_never_held_back_for_money() {
    let free = priced(3.0).with_free(["m".to_owned()]);
    let mut user = SimulatedUser::new(SHORT, free, Policy::default(), 9);
    for turn in 0..500 {
        let after = user.turn(0.6);
        assert_eq!(after.asked, Ok(()), "{turn}");
        if let Some(ran) = after.ran {
            assert_eq!(ran.unwrap().cost, None);
        }
    }
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
