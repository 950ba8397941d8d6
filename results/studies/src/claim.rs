//! A claim of a paper before it is judged.

use crate::{Evidence, Finding, Verdict};

/// A claim before it is judged.
pub(crate) struct Claim {
    pub(crate) name: &'static str,
    pub(crate) claim: &'static str,
    pub(crate) source: &'static str,
    pub(crate) taken_as: &'static str,
}

impl Claim {
    pub(crate) fn judged(self, verdict: Verdict, evidence: Vec<Evidence>) -> Finding {
        let Self { name, claim, source, taken_as } = self;
        let [name, claim, source, taken_as] = [name, claim, source, taken_as].map(str::to_owned);
        Finding { name, claim, source, taken_as, verdict, evidence, fitted: None }
    }

    /// Judged case by case: whether the claim is true for each, and a number for it.
    pub(crate) fn of_cases(self, cases: impl IntoIterator<Item = (Option<bool>, Evidence)>) -> Finding {
        let (cases, evidence): (Vec<Option<bool>>, Vec<Evidence>) = cases.into_iter().unzip();
        self.judged(Verdict::of_doubtful(&cases), evidence)
    }
}
