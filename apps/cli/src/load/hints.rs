//! What may be wrong with a load, in sentences that say what to do.

use std::net::SocketAddr;
use std::time::Duration;

use keytoll_load::{Counts, Outcome, Refused, Totals};
use keytoll_scenario::node::load::{AccessPlan, LoadPlan};

/// A process that does as much as a generator that needs so much CPU time needs more than a hundredth of a second, in which it is counted.
const MUCH: Duration = Duration::from_millis(50);

/// What may be wrong.
pub(super) fn of(plan: &LoadPlan, outcome: &Outcome) -> Vec<String> {
    let (totals, counts) = (&outcome.totals, &outcome.totals.tally.counts);
    let population = &plan.population.value;
    let mut hints = Vec::new();
    hints.extend(outcome.refused.map(|refused| silent_since(plan.target, counts.usable, refused)));
    let is_refused = |why: &String| why.contains("Connection refused");
    if counts.usable == 0 && plan.has_streams() && counts.discarded.by_reason().keys().any(is_refused) {
        hints.push(nobody_listens("TCP", plan.target));
    }
    if counts
        .discarded
        .by_reason()
        .keys()
        .any(|why| why.contains("authenticator") || why.contains("Authenticator"))
    {
        hints.push("Answers carry a wrong authenticator: `secret` is not the one that the server has for this client.".to_owned());
    }
    if counts.usable == 0
        && counts.discarded.sum() == 0
        && counts.failed.len() == 1
        && outcome.refused.is_none()
        && !was_answered(counts)
        && counts.failed.contains_key(keytoll_load::TOO_LATE)
    {
        let secret =
            if plan.has_secret() { ", and whether it knows this client and its `secret`" } else { "" };
        hints.push(format!("The target never answered: look whether it is there{secret}."));
    }
    if counts.failed.contains_key(keytoll_load::NO_DEVICE) {
        let or = instead_of_identities(plan);
        hints.push(format!("There were fewer identities than devices at once: more identities, or {or}."));
    }
    let is_whole = !outcome.was_stopped && !population.arrivals.is_closed_loop();
    hints.extend(population.left_out(counts.offered).filter(|_| is_whole).map(|told| told + "."));
    hints.extend(refused(counts, outcome.was_stopped));
    hints.extend(limited(totals));
    hints.extend(
        is_another(totals).then(|| "What `measure` names has used no CPU time: is it the target?".to_owned()),
    );
    hints
}

/// Whether somebody has answered: only then a device sends a second message that is not a first one sent again.
const fn was_answered(counts: &Counts) -> bool {
    counts.messages > counts.begun + counts.retransmissions
}

/// What helps beside more identities.
const fn instead_of_identities(plan: &LoadPlan) -> &'static str {
    match (&plan.access, plan.population.value.arrivals.is_closed_loop()) {
        (AccessPlan::Radius(_), true) => "fewer at a time",
        (AccessPlan::Radius(_), false) => "a lower rate",
        _ => "a shorter `stay`",
    }
}

/// Whether what was measured cannot have let devices in: it has used nothing where the generator has used much.
fn is_another(totals: &Totals) -> bool {
    let has_used_nothing = totals.target_cpu.is_some_and(|cpu| cpu.is_zero());
    has_used_nothing
        && totals.tally.counts.usable > 0
        && totals.cpu >= MUCH
        && totals.target_gone_in.is_none()
}

/// What a closed port means, which depends on whether anybody was there before, and on which port it is.
fn silent_since(target: SocketAddr, usable: u64, Refused { second, at }: Refused) -> String {
    let (ip, port) = (at.ip(), at.port());
    match usable {
        0 if at == target => nobody_listens("UDP", target),
        0 => format!(
            "Nobody listens on UDP port {port} of {ip}, where devices go on when the target has answered first: correct \
             `gateway_nat_port`."
        ),
        _ => {
            let second = second + 1;
            format!(
                "The target stopped answering by second {second}: then nobody listened on UDP port {port} of {ip}."
            )
        }
    }
}

fn nobody_listens(on: &str, target: SocketAddr) -> String {
    let (ip, port) = (target.ip(), target.port());
    format!("Nobody listens on {on} port {port} of {ip}: start the target, or correct `target`.")
}

/// What the generator could not do is not the target's doing.
fn refused(counts: &Counts, was_stopped: bool) -> Option<String> {
    let refused: u64 = counts.refused.values().sum();
    let failed: u64 = counts.refused.keys().filter_map(|why| counts.failed.get(why)).sum();
    let failed = match (failed, was_stopped) {
        (0, false) => "none of them failed by it, for they began later",
        (0, true) => "none of them failed by it: they began later, or would have, had it not been stopped",
        _ => "they are among the failed",
    };
    (refused > 0).then(|| {
        format!(
            "{refused} times a start was not sent, for reasons of the generator and not of the target; {failed}. \
             Where identifiers ran out, more `ports` or fewer devices at once help."
        )
    })
}

/// More workers help where one had no time left.
fn limited(totals: &Totals) -> Option<String> {
    let (count, of) = (totals.limited_seconds, totals.starting_seconds);
    match (count, totals.busy_seconds) {
        (0, _) => None,
        (_, 0) if !totals.tally.counts.refused.is_empty() => Some(format!(
            "Warning only: in {count} of {of} seconds starts were not sent, or one in 1000 was over 1 ms late. Delays include this lateness."
        )),
        (_, 0) => Some(format!(
            "Warning only: in {count} of {of} seconds one start in 1000 was over 1 ms late, because this machine was busy. Delays include this \
             lateness."
        )),
        _ => Some(format!(
            "Warning only: the generator limited {count} of {of} seconds, and delays include its lateness. Use more `--workers`, or a lower rate."
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_workers_are_advised_where_one_is_busy() {
        let told = |limited_seconds, busy_seconds| {
            limited(&Totals { limited_seconds, busy_seconds, starting_seconds: 4, ..Totals::default() })
        };
        assert_eq!(told(0, 0), None);
        let (late, busy) = (told(2, 0).unwrap(), told(2, 1).unwrap());
        assert!(
            late.starts_with("Warning only: in 2 of 4 seconds one start in 1000 was over 1 ms late")
                && !late.contains("workers"),
            "{late}"
        );
        assert!(busy.contains("limited 2 of 4 seconds") && busy.contains("more `--workers`"), "{busy}");
    }

    #[test]
    fn only_who_goes_on_was_answered() {
        let told = |begun, messages, retransmissions| {
            was_answered(&Counts { begun, messages, retransmissions, ..Counts::default() })
        };
        assert_eq!([told(20, 100, 80), told(20, 101, 80), told(0, 0, 0)], [false, true, false]);
    }

    #[test]
    fn what_has_let_devices_in_without_cpu_time_is_doubted() {
        let mut totals = Totals { cpu: MUCH, target_cpu: Some(Duration::ZERO), ..Totals::default() };
        assert!(!is_another(&totals), "nobody was let in");
        totals.tally.counts.usable = 200;
        let with = |change: fn(&mut Totals)| {
            let mut totals = totals.clone();
            change(&mut totals);
            is_another(&totals)
        };
        assert!(with(|_| {}));
        assert!(!with(|totals| totals.target_cpu = Some(Duration::from_millis(10))));
        assert!(!with(|totals| totals.target_cpu = None));
        assert!(!with(|totals| totals.cpu /= 2), "it may have used less than is counted");
        assert!(!with(|totals| totals.target_gone_in = Some(3)), "nobody knows what it has used");
    }
}
