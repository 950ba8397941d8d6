//! A storm: more arrive for a while than a node can serve, so that a queue grows and afterwards drains. The fluid model: work flows in
//! and out at constant rates; see Newell, Applications of Queueing Theory (1982) chapter 2.

/// Work that arrives at a node during a storm and at any time, in busy cores, and the cores that serve it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Flow {
    /// The cores.
    pub cores: f64,
    /// What keeps them busy at any time.
    pub steady_cores: f64,
    /// What the storm adds.
    pub storm_cores: f64,
    /// How long it lasts.
    pub within_s: f64,
}

impl Flow {
    /// Work that waits when the storm ends, as time of all cores.
    pub fn wait_max_s(&self) -> f64 {
        let over = self.steady_cores + self.storm_cores - self.cores;
        (over / self.cores * self.within_s).max(0.0)
    }

    /// When the queue is empty again, from the beginning of the storm; never if the cores do not even keep up without one.
    pub fn drained_after_s(&self) -> f64 {
        let backlog = self.wait_max_s() * self.cores;
        let free = self.cores - self.steady_cores;
        match backlog {
            0.0 => self.within_s,
            _ if free <= 0.0 => f64::INFINITY,
            backlog => self.within_s + backlog / free,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// 50 000 in 10 s, a millisecond of a core each, are 5 busy cores: two serve 20 000 of them meanwhile, the other 30 000 take 15 s.
    #[test]
    fn what_is_left_drains_at_the_speed_of_the_cores() {
        let flow = Flow { cores: 2.0, steady_cores: 0.0, storm_cores: 5.0, within_s: 10.0 };
        assert_eq!((flow.wait_max_s(), flow.drained_after_s()), (15.0, 25.0));
        let shared = Flow { steady_cores: 0.5, ..flow };
        assert!((shared.drained_after_s() - (10.0 + 35.0 / 1.5)).abs() < 1e-12);
        let wide = Flow { cores: 5.0, ..flow };
        assert_eq!((wide.wait_max_s(), wide.drained_after_s()), (0.0, 10.0));
        assert_eq!(Flow { steady_cores: 2.0, ..flow }.drained_after_s(), f64::INFINITY);
    }

    proptest! {
        /// All the work that came is done when the queue is empty.
        #[test]
        fn no_work_is_lost(cores in 1.0..50.0_f64, load in 0.0..0.9_f64, storm_cores in 0.0..500.0_f64, within_s in 0.1..100.0_f64) {
            let flow = Flow { cores, steady_cores: load * cores, storm_cores, within_s };
            prop_assume!(flow.wait_max_s() > 0.0);
            let end_s = flow.drained_after_s();
            let came = storm_cores * within_s + flow.steady_cores * end_s;
            prop_assert!((came / (cores * end_s) - 1.0).abs() < 1e-9);
        }
    }
}
