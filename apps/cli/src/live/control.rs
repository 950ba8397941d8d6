//! `--control`: commands on stdin, one a line, for whoever tests with us.

use std::io;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use keytoll_hosts::Command;
use keytoll_ike::v2;
use keytoll_live::Waker;

use super::books::Books;

/// Bytes of an echo request after its header, as ping sends them.
pub(crate) const ECHO_BYTES: usize = 56;

/// What a line of stdin asks for.
#[derive(Debug)]
pub(crate) enum Order {
    /// Ask the host.
    Ask(Command),
    /// End in good order.
    Quit,
    /// That cannot be done; the reason.
    Refused(String),
}

/// Lines of stdin as they come; its end is one that says `quit`.
pub(crate) fn lines(waker: Waker) -> Receiver<String> {
    let (sender, lines) = channel();
    thread::spawn(move || {
        let end = std::iter::once("quit".to_owned());
        for line in io::stdin().lines().map_while(Result::ok).chain(end) {
            if sender.send(line).is_err() {
                return;
            }
            waker.wake();
        }
    });
    lines
}

/// What a line means, now that there are these SAs.
pub(crate) fn order(line: &str, books: &Books) -> Order {
    let ike = |command: Option<v2::Command>| match command {
        Some(command) => Order::Ask(Command::Ike(command)),
        None => Order::Refused(format!("no SA to {line}")),
    };
    let (sa, child) = (books.newest(), books.newest_child());
    match line.trim() {
        "echo" => Order::Ask(Command::Echo { payload_bytes: ECHO_BYTES }),
        "rekey-ike" => ike(sa.map(v2::Command::RekeyIke)),
        "rekey-child" => ike(child.map(|child| v2::Command::RekeyChild(child.sa, child.inbound_spi))),
        "create-child" => ike(sa.map(v2::Command::CreateChild)),
        "probe" => ike(sa.map(v2::Command::Probe)),
        "delete" => ike(sa.map(v2::Command::Delete)),
        "quit" => Order::Quit,
        _ => Order::Refused(format!("unknown command `{line}`")),
    }
}
