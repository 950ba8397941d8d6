//! From loads of a daemon to the prices of a cost table: CPU time of an authentication by utilisation.

use keytoll_metrics::stats::{Welford, interval95};
use keytoll_trace::cost_table::{AuthenticationLoad, AuthenticationPrice};

/// The measurement of one load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DaemonSample {
    /// CPU time of the daemon for each authentication, in microseconds.
    pub cpu_us: f64,
    /// The share of the time of the cores that it can use in which the daemon computed.
    pub utilisation: f64,
    /// The share of the CPU time in the kernel.
    pub kernel_share: f64,
    /// Responses of the daemon to each authentication.
    pub responses_count: f64,
    /// The 50th percentile of the delay, in milliseconds.
    pub delay_ms_p50: f64,
    /// The 99th percentile of the delay, in milliseconds.
    pub delay_ms_p99: f64,
    /// Successful authentications.
    pub established: u64,
}

/// The price of an authentication by a method at a node, from the samples of each rate.
pub fn price(
    (method, role, protocol): (&str, &str, &str),
    rates: &[(f64, Vec<DaemonSample>)],
) -> AuthenticationPrice {
    let mut loads: Vec<_> = rates.iter().map(|(rate_per_s, samples)| load(*rate_per_s, samples)).collect();
    loads.sort_by(|a, b| a.utilisation.total_cmp(&b.utilisation));
    let all: Vec<_> = rates.iter().flat_map(|(_, samples)| samples.iter().copied()).collect();
    AuthenticationPrice {
        method: method.to_owned(),
        role: role.to_owned(),
        protocol: protocol.to_owned(),
        responses_count: mean(&all, |sample| sample.responses_count),
        loads,
    }
}

fn load(rate_per_s: f64, samples: &[DaemonSample]) -> AuthenticationLoad {
    AuthenticationLoad {
        utilisation: mean(samples, |sample| sample.utilisation),
        rate_per_s,
        cpu_us: mean(samples, |sample| sample.cpu_us),
        cpu_us_ci95: interval95(&of(samples, |sample| sample.cpu_us)).map(|it| [it.low, it.high]),
        kernel_share: mean(samples, |sample| sample.kernel_share),
        delay_ms_p50: mean(samples, |sample| sample.delay_ms_p50),
        delay_ms_p99: mean(samples, |sample| sample.delay_ms_p99),
        n: samples.iter().map(|sample| sample.established).sum(),
        rounds_count: u32::try_from(samples.len()).unwrap_or(u32::MAX),
    }
}

fn of(samples: &[DaemonSample], value: fn(&DaemonSample) -> f64) -> Welford {
    let mut all = Welford::default();
    samples.iter().for_each(|sample| all.add(value(sample)));
    all
}

fn mean(samples: &[DaemonSample], value: fn(&DaemonSample) -> f64) -> f64 {
    of(samples, value).mean().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(cpu_us: f64, utilisation: f64) -> DaemonSample {
        let (kernel_share, responses_count, established) = (0.4, 3.0, 100);
        let (delay_ms_p50, delay_ms_p99) = (1.0, 2.0);
        DaemonSample {
            cpu_us,
            utilisation,
            kernel_share,
            responses_count,
            delay_ms_p50,
            delay_ms_p99,
            established,
        }
    }

    /// Student's t of 95 % with two degrees of freedom is 4.303.
    #[test]
    fn rounds_of_a_rate_are_averaged_and_the_idlest_comes_first() {
        let busy = [500.0, 520.0, 540.0].map(|cpu_us| sample(cpu_us, 0.6)).to_vec();
        let price = price(("ikev2-psk", "gw", "ike"), &[(1000.0, busy), (100.0, vec![sample(700.0, 0.05)])]);
        let [idle, busy] = &price.loads[..] else { panic!("{price:?}") };
        assert_eq!((idle.cpu_us, idle.cpu_us_ci95, idle.rounds_count), (700.0, None, 1));
        assert_eq!((busy.cpu_us, busy.n, busy.rounds_count, busy.rate_per_s), (520.0, 300, 3, 1000.0));
        let [low, high] = busy.cpu_us_ci95.unwrap();
        let half = 4.303 * 20.0 / 3.0_f64.sqrt();
        assert!((low - (520.0 - half)).abs() < 0.01 && (high - (520.0 + half)).abs() < 0.01, "{low} {high}");
        assert_eq!(price.responses_count, 3.0);
    }
}
