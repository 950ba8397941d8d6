//! A conversation in steps: a command of an owner, and all messages that follow.

use keytoll_engine::Datagram;
use keytoll_ike::event::{Command, SaId};

use super::bench::{Bench, Side};
use super::lab::seconds;
use super::mistaken::deliver_mistaken;

/// A command of one of the two owners.
pub(crate) type Step = fn(&mut Bench);

/// Executes a command of one side's owner on the first SA that it knows of.
pub(crate) fn of_sa(bench: &mut Bench, side: Side, command: fn(SaId) -> Command) {
    if let Some(sa) = bench.seat(side).books.sas().first() {
        bench.command(side, command(*sa));
    }
}

/// Runs a conversation; `deliver` handles every datagram.
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

/// Runs a conversation in which handling the `n`th message panics at the `nth` call of cryptography: how many messages there
/// were, and whether that one has so many calls. No state may be left.
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

/// Both owners close the SAs they know of, until there are none.
pub(crate) fn delete_all(bench: &mut Bench) {
    while bench.i.books.sa_count() + bench.r.books.sa_count() > 0 {
        Side::BOTH.into_iter().for_each(|side| of_sa(bench, side, Command::Delete));
        bench.run_for(seconds(10));
    }
    bench.assert_nothing_remains();
}
