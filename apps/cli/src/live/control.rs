//! `--control`: commands on stdin, one a line, for tests of other implementations.

use std::io;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use keytoll_hosts::Order;
use keytoll_live::Waker;

use super::sessions::Sessions;

/// Bytes of an echo request after its header, as of ping.
pub(crate) const ECHO_BYTES: usize = 56;

/// A command.
#[derive(Debug)]
pub(crate) enum Request {
    /// The host is to do something.
    Host(Order),
    /// End in good order.
    Quit,
    /// That cannot be done; the reason.
    Refused(String),
}

/// Lines of stdin as they arrive; its end counts as `quit`.
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

/// Parses a line, given the SAs that exist.
pub(crate) fn request(line: &str, sessions: &Sessions) -> Request {
    let about = |order: Option<Order>| match order {
        Some(order) => Request::Host(order),
        None => Request::Refused(format!("no SA to {line}")),
    };
    let (session, child) = (sessions.newest(), sessions.newest_child());
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
