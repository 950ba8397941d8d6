//! A keytoll host on real sockets, for the interoperability tests: one device, gateway or AAA server, told what to be
//! in `key=value` arguments, told what to do in lines on stdin, and telling what happens in lines on stdout.
//!
//! ```text
//!   stdin:   echo | rekey-ike | rekey-child | delete | probe | quit
//!   stdout:  listening, established …, usable, echo-reply, rekeyed, child-rekeyed, closed …, failed …
//!   stderr:  every fact of the trace
//! ```

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "lines on stdout and stderr are what this program is for"
)]

mod arguments;
mod eap;
mod hosts;

use std::process::ExitCode;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::Duration;
use std::{env, io, thread};

use keytoll_crypto::Real;
use keytoll_engine::trace::{Fact, Trace};
use keytoll_hosts::{Command, Event, Host};
use keytoll_ike::v2::{self, SaId};
use keytoll_live::{Driver, Sockets, os_seed};

use crate::arguments::{Arguments, Result};

/// How long the driver runs before stdin is looked at again.
const LOOK_UP: Duration = Duration::from_millis(20);

fn main() -> ExitCode {
    match Arguments::read(env::args().skip(1)).and_then(|arguments| run(&arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("failed to run: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Sets up the host and serves until stdin ends.
fn run(arguments: &Arguments) -> Result<()> {
    let (host, addresses) = hosts::host(arguments, &os_seed()?)?;
    let sockets = Sockets::bind(&addresses)?;
    let mut peer =
        LivePeer { driver: Driver::new(host, Real::default(), sockets), sas: Vec::new(), child: None };
    println!("listening");
    peer.serve(&lines());
    Ok(())
}

/// Lines of stdin as they come.
fn lines() -> Receiver<String> {
    let (sender, lines) = channel();
    thread::spawn(move || {
        io::stdin().lines().map_while(io::Result::ok).try_for_each(|line| sender.send(line))
    });
    lines
}

/// Facts go to stderr.
struct Stderr;

impl Trace for Stderr {
    fn record(&mut self, fact: Fact) {
        eprintln!("{fact:?}");
    }
}

struct LivePeer {
    driver: Driver<Host, Real>,
    /// The IKE SAs there are, newest last.
    sas: Vec<SaId>,
    /// What the newest child receives on.
    child: Option<u32>,
}

impl LivePeer {
    fn serve(&mut self, lines: &Receiver<String>) {
        loop {
            // Everything is told before the next line is read: what a line is about may just have come up.
            if let Some(event) = self.driver.next_event(LOOK_UP, &mut Stderr) {
                self.tell(event);
                continue;
            }
            match lines.try_recv() {
                Ok(line) if line == "quit" => return,
                Ok(line) => self.obey(&line),
                Err(TryRecvError::Empty) => {}
                Err(TryRecvError::Disconnected) => return,
            }
        }
    }

    fn obey(&mut self, line: &str) {
        let sa = self.sas.last().copied();
        let command = match (line, sa) {
            ("echo", _) => Command::Echo { payload_bytes: 56 },
            ("rekey-ike", Some(sa)) => Command::Ike(v2::Command::RekeyIke(sa)),
            ("rekey-child", Some(sa)) if self.child.is_some() => {
                Command::Ike(v2::Command::RekeyChild(sa, self.child.unwrap_or_default()))
            }
            ("delete", Some(sa)) => Command::Ike(v2::Command::Delete(sa)),
            ("probe", Some(sa)) => Command::Ike(v2::Command::Probe(sa)),
            _ => return println!("failed to obey {line:?}"),
        };
        self.driver.command(command, &mut Stderr);
    }

    fn tell(&mut self, event: Event) {
        match event {
            Event::Usable => println!("usable"),
            Event::EchoReply => println!("echo-reply"),
            Event::ChildUp(child) => self.child = Some(child.inbound_spi),
            Event::ChildRekeyed { new, .. } => {
                self.child = Some(new.inbound_spi);
                println!("child-rekeyed");
            }
            Event::Ike(event) => self.tell_ike(event),
            _ => {}
        }
    }

    fn tell_ike(&mut self, event: v2::Event) {
        match event {
            v2::Event::Established(up) => {
                self.sas.push(up.sa);
                println!(
                    "established with {} at {} by {} address {:?}",
                    up.peer, up.remote, up.suite, up.address
                );
            }
            v2::Event::Rekeyed { old, new } => {
                self.sas.retain(|sa| *sa != old);
                self.sas.push(new);
                println!("rekeyed");
            }
            v2::Event::Closed(closed, why) => {
                self.sas.retain(|sa| *sa != closed);
                println!("closed {why}");
            }
            v2::Event::Failed(_, why) => println!("failed {why}"),
            v2::Event::ChildFailed(_, why) => println!("failed child {why}"),
            other => println!("{other:?}"),
        }
    }
}
