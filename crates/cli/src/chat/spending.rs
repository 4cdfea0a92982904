use headstart_budget::ledger::{Bill, Costs, Day, Entry};
use headstart_forked_query::Money;
use headstart_machine::clock;
use headstart_machine::conversation::costs::cost_words;
use headstart_machine::ledger::Ledger;
use tokio::task::JoinHandle;

/// What was spent today in all projects. The ledgers are read once; what the conversation itself spends is added.
#[derive(Default)]
pub(super) struct SpendingToday {
    /// The day on which the ledgers were read, and what they said then; `None` if something of it is unknown.
    before: Option<(Day, Bill)>,
    reading: Option<JoinHandle<Option<(Day, Bill)>>>,
}

impl SpendingToday {
    /// Begins to read the ledgers. Nothing waits for it.
    pub(super) fn read(&mut self, ledger: &Ledger) {
        let (ledger, now) = (ledger.clone(), clock::unix_ms());
        self.reading =
            Some(tokio::task::spawn_blocking(move || Some((Day::of(now), ledger.spent_today(now)?))));
    }

    /// Ends when the ledgers have been read. Never ends if nothing is being read.
    pub(super) async fn update(&mut self) {
        let Some(reading) = &mut self.reading else { return std::future::pending().await };
        self.before = reading.await.ok().flatten();
        self.reading = None;
    }

    /// The amount in words, with the entries of this conversation; `None` if it is zero or not known.
    pub(super) fn words(&self, session: &[Entry]) -> Option<String> {
        self.words_at(Day::of(clock::unix_ms()), session)
    }

    fn words_at(&self, today: Day, session: &[Entry]) -> Option<String> {
        let (day, before) = self.before?;
        let before = if day == today { before } else { Bill::default() };
        // Entries are in the order of their times.
        let first = session.partition_point(|entry| Day::of(entry.at()) < today);
        let bill = before.and(Costs::of(&session[first..]).total());
        bill.amount().filter(|amount| *amount != Money::ZERO)?;
        Some(format!("today {}", cost_words(bill, false)))
    }
}

#[cfg(test)]
mod tests {
    use headstart_budget::ledger::read;

    use super::*;

    const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

    fn turns(entries: &[(u64, &str)]) -> Vec<Entry> {
        let line = |(at, money): &(u64, &str)| {
            format!(r#"{{"type":"turn","at":{at},"model":"m","inputTokens":9{money}}}"#) + "\n"
        };
        read(entries.iter().map(line).collect::<String>().as_bytes()).entries
    }

    #[test]
    fn what_the_conversation_spends_today_is_added_to_what_was_known_and_nothing_unknown_is_shown() {
        let bill = |entries: &[(u64, &str)]| Costs::of(&turns(entries)).total();
        let of = |before| SpendingToday { before, reading: None };
        let (today, tomorrow) = (Day::of(DAY_MS), Day::of(2 * DAY_MS));
        let spent = of(Some((today, bill(&[(1, r#","money":1.84"#)]))));
        let session = turns(&[
            (DAY_MS - 1, r#","money":5"#),
            (DAY_MS, r#","money":0.08"#),
            (2 * DAY_MS, r#","money":0.5"#),
        ]);
        assert_eq!(spent.words_at(today, &session[..2]).as_deref(), Some("today $1.92"));
        assert_eq!(spent.words_at(today, &[]).as_deref(), Some("today $1.84"));
        assert_eq!(spent.words_at(tomorrow, &session).as_deref(), Some("today $0.50"));
        let unpriced = turns(&[(DAY_MS, "")]);
        assert_eq!(spent.words_at(today, &unpriced), None);
        assert_eq!(of(Some((today, bill(&[(1, "")])))).words_at(today, &session), None);
        assert_eq!(of(None).words_at(today, &session), None);
        assert_eq!(of(Some((today, Bill::default()))).words_at(today, &[]), None);
    }
}
