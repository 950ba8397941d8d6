//! `--control`: commands on stdin, one a line, for whoever tests with us.

use std::io;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use keytoll_hosts::Order;
use keytoll_live::Waker;

use super::books::Books;

/// Bytes of an echo request after its header, as ping sends them.
pub(crate) const ECHO_BYTES: usize = 56;

/// What a line of stdin asks for.
#[derive(Debug)]
pub(crate) enum Request {
    /// The host is to do something.
    Host(Order),
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
pub(crate) fn request(line: &str, books: &Books) -> Request {
    let about = |order: Option<Order>| match order {
        Some(order) => Request::Host(order),
        None => Request::Refused(format!("no SA to {line}")),
    };
    let (session, child) = (books.newest(), books.newest_child());
    match line.trim() {
        "echo" => Request::Host(Order::Echo { payload_bytes: ECHO_BYTES }),
        "rekey-ike" => about(session.map(Order::Rekey)),
        "rekey-child" => about(child.map(|child| Order::RekeyChild(child.session, child.inbound_spi))),
        "create-child" => about(session.map(Order::OpenChild)),
        "probe" => about(session.map(Order::Probe)),
        "delete" => about(session.map(Order::Close)),
        "quit" => Request::Quit,
        _ => Request::Refused(format!("unknown command `{line}`")),
    }
}
