use super::{Allowance, Experience, Policy, SkipReason};

impl Policy {
    /// Which of several candidates (best first) to run ahead at the same time, at most `most`, and what each may spend.
    ///
    /// The user takes at most one, and comes to the second only if they do not want the first. So a candidate is judged
    /// by the chance that none of the better ones is taken, times its own chance. What is left is divided among those
    /// that run, so that together they stay below it.
    pub fn allow_candidates(
        &self,
        experience: &Experience,
        texts: &[&str],
        most: usize,
        now_ms: u64,
    ) -> Vec<Result<Allowance, SkipReason>> {
        let chance = experience.chance();
        let mut reached = 1.0;
        let mut running: u32 = 0;
        let judge = |text: &&str| {
            let own = reached * chance;
            reached *= 1.0 - chance;
            self.check_text(text)?;
            if most <= running as usize {
                return Err(SkipReason::Enough { most });
            }
            self.allowance_for(experience, own, running + 1, now_ms)?;
            running += 1;
            Ok(own)
        };
        let judged: Vec<Result<f64, SkipReason>> = texts.iter().map(judge).collect();
        let allowance = |own| self.allowance_for(experience, own, running, now_ms);
        judged.into_iter().map(|judged| judged.and_then(allowance)).collect()
    }
}
