//! Notes for readers: what the columns are, which grades differ from the slides', and what that does to the order.

use super::VARIED;
use super::findings::{NEAR, distance};
use super::ranked::{self, Rankings, of_performance, order};
use crate::hip_dex_aka::{DEX_AKA, EAP_AKA, METHODS, Method, Speed};

/// All notes.
pub(super) fn notes(rankings: &Rankings) -> Vec<String> {
    let of_run = [unranked(rankings), other_grades(rankings), other_order(rankings), by_speed(rankings)];
    [LEGEND, ASSUMED]
        .into_iter()
        .map(str::to_owned)
        .chain(contradiction(rankings))
        .chain(of_run.into_iter().flatten())
        .chain([WHY_CYCLES.to_owned(), why_memory(rankings), WHY_DELAY.to_owned()])
        .collect()
}

const LEGEND: &str = "Criteria, weights and grades of security, deployment and extra functionalities are those of the slides \
                      (`keytoll rank RUN --criteria epc-2012` has them all); performance is graded by this run. Testbed clock: the \
                      cycles of this machine at the testbed's MHz. Fitted: on fitted CPUs, with clocks lowered until EAP-AKA takes as \
                      long as printed. Here: this machine's CPU. Only delays differ between them.";

const ASSUMED: &str = "Assumed, because the slides do not print it: the formula of grades (steps of a factor of 2 against EAP-AKA, rounded), \
                       equal weights below each main criterion, and that the delay is the one over WiFi in the slowest architecture. The \
                       paper's values of cycles and memory are printed for EAP-AKA and DEX-AKA alone: the others' are reconstructed, \
                       memory as EAP-AKA's, so that it changes no order.";

const WHY_CYCLES: &str = "Why grades of cycles can differ: nearly all of EAP-AKA's cycles here are the two exponentiations of its key agreement in \
                          a group of 2048 bits. EAP-TLS has the same two. Its signatures and certificates made it take two and a half \
                          times as long on the testbed, and here they take few cycles in comparison. BEX has two exponentiations in a \
                          group of 1536 bits, which are half of the work and not a third.";

const WHY_DELAY: &str = "Why the grade of PSK's delay can differ: by the slides it is 291 ms (± 10 %) in the centralized architecture, close to the \
                         budget of 300 ms; here its computation is nearly EAP-AKA's, which makes it longer than that.";

/// Why grades of memory can differ, with the heap of DEX-AKA in this run.
fn why_memory(rankings: &Rankings) -> String {
    let percent = |criterion: &str| {
        let values = of_performance(rankings.judged()?).find(|one| one.name == criterion)?.values.as_ref()?;
        let heap = |method: Method| values.get(&ranked::name(method));
        Some(100.0 * heap(DEX_AKA)? / heap(EAP_AKA)?)
    };
    let of_run = percent("memory-ue").zip(percent("memory-gw"));
    let of_run = of_run.map_or_else(String::new, |(ue, gw)| {
        format!(", of which DEX-AKA needs {ue:.0} % (UE) and {gw:.0} % (GW) of EAP-AKA's")
    });
    format!(
        "Why grades of memory can differ: the slides show heap and stack of whole programs under massif, where strongSwan with its plugins \
         needed five times the memory of the prototype of DEX. `keytoll rank` grades only the heap of the node's engines{of_run}; the study \
         hip-dex-aka compares heap plus stack."
    )
}

/// The slides conclude that their weights are near a change; by their own values some are not.
fn contradiction(rankings: &Rankings) -> Option<String> {
    let known = VARIED.into_iter().filter_map(|main| Some((main, distance(&rankings.paper, main)?)));
    let (near, far): (Vec<_>, Vec<_>) = known.partition(|(_, away)| *away <= NEAR);
    let named = |of: &[(&str, f64)]| {
        of.iter().map(|(main, away)| format!("{main} ({away:.3})")).collect::<Vec<_>>().join(", ")
    };
    (!far.is_empty()).then(|| {
        format!(
            "The column paper contradicts the slides: they conclude that the weights are near a change of the order, but by the \
             values in that column the nearest change is within {NEAR} for {}, and not for {}. The verdict on that conclusion is \
             therefore about this run, and some reconstructed value of the slides is wrong.",
            named(&near),
            named(&far)
        )
    })
}

fn unranked(rankings: &Rankings) -> Option<String> {
    rankings.why_not().map(|why| format!("This run cannot be ranked: {why}."))
}

/// Every grade that is not the slides', with both.
fn other_grades(rankings: &Rankings) -> Option<String> {
    let ours = rankings.judged()?;
    let other = |(ours, theirs): (&keytoll_ranking::outcome::Weight, &keytoll_ranking::outcome::Weight)| {
        let of_method = |method: Method| {
            let (here, there) = (ranked::grade(ours, method)?, ranked::grade(theirs, method)?);
            let is_other = (here - there).abs() > 0.5;
            is_other.then(|| format!("{} {here} and not {there}", method.label))
        };
        let methods: Vec<String> = METHODS.into_iter().filter_map(of_method).collect();
        (!methods.is_empty()).then(|| format!("{}: {}", ours.title, methods.join(", ")))
    };
    let all: Vec<String> =
        of_performance(ours).zip(of_performance(&rankings.paper)).filter_map(other).collect();
    if all.is_empty() {
        return Some("Every grade of performance is that of the slides' values.".to_owned());
    }
    Some(format!("Other grades than by the slides' values: {}.", all.join("; ")))
}

fn other_order(rankings: &Rankings) -> Option<String> {
    let (ours, theirs) = (order(rankings.judged()?), order(&rankings.paper));
    let percent = (rankings.judged()?.lead.exp2() - 1.0) * 100.0;
    let said = if ours == theirs {
        "The order is the same".to_owned()
    } else {
        format!("So the order is {ours}, and not {theirs}")
    };
    Some(format!("{said}; the best scores {percent:.0} % higher than the second."))
}

/// Whether faster CPUs make another order.
fn by_speed(rankings: &Rankings) -> Option<String> {
    let judged = order(rankings.judged()?);
    let other = [Speed::Clocks, Speed::Host].map(|speed| Some((speed, order(rankings.at(speed)?))));
    let other = other.into_iter().flatten().filter(|(_, order)| *order != judged);
    let said = other.map(|(speed, order)| {
        let on = if speed == Speed::Host { "On this machine's CPU" } else { "At the testbed clock" };
        format!("{on} delays have other grades, and the order is {order}.")
    });
    Some(said.collect::<Vec<_>>().join(" ")).filter(|said| !said.is_empty())
}

#[cfg(test)]
mod tests {
    use super::super::ranked::tests::as_printed;
    use super::*;

    #[test]
    fn the_contradiction_of_the_slides_is_told() {
        let note = contradiction(&as_printed()).unwrap();
        let cases = "within 0.05 for performance (0.028), and not for deployment (0.100), security (0.059)";
        assert!(note.contains(cases), "{note}");
    }
}
