//! A device and a gateway on loopback, as they are on the simulator: one echo sets up IKE and CHILD SA, the reply comes
//! back through it, and the delete leaves nothing.

use crate::pair;

use std::thread;

use keytoll_engine::trace::NoTrace;
use keytoll_hosts::{Command, Event};
use keytoll_ike::v2;

use pair::{Pair, until};

#[test]
fn an_echo_goes_through_an_sa_on_real_sockets() {
    let Pair { mut device, mut gateway } = Pair::on_loopback();
    let serving = thread::spawn(move || {
        until(&mut gateway, |event| matches!(event, Event::Ike(v2::Event::Closed(..))), &mut NoTrace);
    });
    let trace = &mut NoTrace;
    device.command(Command::Echo { payload_bytes: 56 }, trace);
    let up = until(&mut device, |event| matches!(event, Event::Ike(v2::Event::Established(_))), trace);
    until(&mut device, |event| *event == Event::Usable, trace);
    until(&mut device, |event| *event == Event::EchoReply, trace);
    let Event::Ike(v2::Event::Established(up)) = up else { unreachable!("until() gave it") };
    device.command(Command::Ike(v2::Command::Delete(up.sa)), trace);
    until(&mut device, |event| matches!(event, Event::Ike(v2::Event::Closed(..))), trace);
    serving.join().expect("the gateway saw the delete");
}
