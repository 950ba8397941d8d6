//! A device and a gateway on loopback, as they are on the simulator: one echo sets up IKE and CHILD SA, the reply comes
//! back through it, and the delete leaves nothing.

use crate::pair;

use std::thread;

use keytoll_engine::trace::NoTrace;
use keytoll_hosts::{Event, Order};

use pair::{Pair, until};

#[test]
fn an_echo_goes_through_an_sa_on_real_sockets() {
    let Pair { mut device, mut gateway } = Pair::on_loopback();
    let serving = thread::spawn(move || {
        until(&mut gateway, |event| matches!(event, Event::Closed { .. }), &mut NoTrace);
    });
    let trace = &mut NoTrace;
    device.command(Order::Echo { payload_bytes: 56 }, trace);
    let up = until(&mut device, |event| matches!(event, Event::Established(_)), trace);
    until(&mut device, |event| *event == Event::Usable, trace);
    until(&mut device, |event| *event == Event::EchoReply, trace);
    let Event::Established(up) = up else { unreachable!("until() gave it") };
    device.command(Order::Close(up.session), trace);
    until(&mut device, |event| matches!(event, Event::Closed { .. }), trace);
    serving.join().expect("the gateway saw the delete");
}
