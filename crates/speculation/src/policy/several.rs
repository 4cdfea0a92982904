use super::{Allowance, Experience, Hold, Policy};
use crate::ledger::Kind;

impl Policy {
    /// Which of several candidates (best first) to run ahead at the same time, at most so many; and what each may spend.
    ///
    /// The user takes at most one, and comes to the second only where the first is not theirs: so a candidate is judged by
    /// the chance that none of the better ones is taken, times its own. The threshold ([`Policy::run_from`]) is for its own.
    /// What is left of the share and of the caps is divided among those that run, so that together they stay below them.
    pub fn run_several(
        &self,
        experience: &Experience,
        texts: &[&str],
        most: usize,
        now_ms: u64,
    ) -> Vec<Result<Allowance, Hold>> {
        let mut reached = 1.0;
        let mut running: u32 = 0;
        let judge = |text: &&str| {
            let kind = Kind::of(text);
            let judged = self.may_run_at_all(text).and_then(|()| {
                if most <= running as usize {
                    return Err(Hold::Enough { most });
                }
                self.one_more(experience, kind, reached, running + 1, now_ms)
            });
            reached *= 1.0 - experience.chance(kind).mean();
            running += u32::from(judged.is_ok());
            judged
        };
        let judged: Vec<_> = texts.iter().map(judge).collect();
        let allowance = self.allowance(experience, running.max(1), now_ms);
        judged.into_iter().map(|judged| judged.map(|()| allowance)).collect()
    }
}
