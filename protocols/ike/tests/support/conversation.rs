//! A conversation in steps: what an owner wants, and everything that is said until nothing more is.

use keytoll_engine::Datagram;
use keytoll_ike::event::{Command, SaId};

use super::bench::{Bench, Side};
use super::lab::seconds;
use super::mistaken::deliver_mistaken;

/// What one of the two wants.
pub(crate) type Step = fn(&mut Bench);

/// One side's owner wants something of the first SA that it knows of.
pub(crate) fn of_sa(bench: &mut Bench, side: Side, command: fn(SaId) -> Command) {
    if let Some(sa) = bench.seat(side).books.sas().first() {
        bench.command(side, command(*sa));
    }
}

/// Holds a conversation; `deliver` sees to every datagram.
pub(crate) fn converse(
    bench: &mut Bench,
    steps: &[Step],
    mut deliver: impl FnMut(&mut Bench, Side, &Datagram),
) {
    for step in steps {
        step(bench);
        while let Some((side, datagram)) = bench.intercept() {
            deliver(bench, side, &datagram);
        }
    }
}

/// Holds a conversation whose `n`th message meets a mistake in its receiver's program, at the `nth` step of cryptography:
/// how many messages there were, and whether that one has so many steps. Nothing is left of it.
pub(crate) fn survived(bench: &mut Bench, steps: &[Step], n: usize, nth: u32) -> (usize, bool) {
    let (mut seen, mut is_hit) = (0, false);
    bench.ladder.silent = true;
    converse(bench, steps, |bench, side, datagram| {
        if seen == n {
            is_hit = deliver_mistaken(bench, side, datagram, nth);
        } else {
            bench.deliver(side, datagram);
        }
        seen += 1;
    });
    bench.run_for(seconds(400));
    delete_all(bench);
    (seen, is_hit)
}

/// Both owners close what they know of, until there is nothing.
pub(crate) fn delete_all(bench: &mut Bench) {
    while bench.i.books.sa_count() + bench.r.books.sa_count() > 0 {
        Side::BOTH.into_iter().for_each(|side| of_sa(bench, side, Command::Delete));
        bench.run_for(seconds(10));
    }
    bench.assert_nothing_remains();
}
