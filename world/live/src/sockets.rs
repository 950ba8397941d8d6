//! UDP sockets, one for each local address, read by a thread each. What arrives meets in one bounded queue: when the
//! driver falls behind, the kernel's buffers fill and the network's own rule applies, datagrams are lost.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle, sleep};
use std::time::Duration;

use keytoll_engine::{Addr, Datagram};
use socket2::{Domain, Socket, Type};

/// Datagrams that may wait for the driver.
const QUEUE_MAX: usize = 1024;
/// A UDP datagram is never longer.
const DATAGRAM_BYTES_MAX: usize = 65_535;
/// What the kernel may hold for a socket; it takes as much of it as it allows.
const RECEIVE_BUFFER_BYTES: usize = 1 << 20;
/// How often a waiting thread looks whether it is still wanted.
const LOOK_UP: Duration = Duration::from_millis(100);

/// A local address that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("bind UDP {address}: {source}")]
pub struct BindError {
    /// Which.
    pub address: SocketAddr,
    /// Why.
    pub source: io::Error,
}

/// A datagram that came in.
#[derive(Debug)]
pub(crate) struct Arrival {
    pub(crate) from: Addr,
    pub(crate) to: Addr,
    pub(crate) bytes: Vec<u8>,
}

/// Bound sockets and the threads that read them.
#[derive(Debug)]
pub struct Sockets {
    sockets: Vec<(Addr, UdpSocket)>,
    arrivals: Receiver<Arrival>,
    closing: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Sockets {
    /// Binds every address; a port of 0 lets the system choose, see [`Self::locals`].
    pub fn bind(addresses: &[SocketAddr]) -> Result<Self, BindError> {
        let (sender, arrivals) = sync_channel(QUEUE_MAX);
        let closing = Arc::new(AtomicBool::new(false));
        let mut bound = Self { sockets: Vec::new(), arrivals, closing, threads: Vec::new() };
        for &address in addresses {
            bound.add(address, &sender).map_err(|source| BindError { address, source })?;
        }
        Ok(bound)
    }

    fn add(&mut self, address: SocketAddr, sender: &SyncSender<Arrival>) -> io::Result<()> {
        let socket = open(address)?;
        let local = Addr::from(socket.local_addr()?);
        let reader = Reader {
            socket: socket.try_clone()?,
            local,
            sender: sender.clone(),
            closing: Arc::clone(&self.closing),
        };
        self.threads.push(thread::Builder::new().name(format!("udp {local}")).spawn(move || reader.run())?);
        self.sockets.push((local, socket));
        Ok(())
    }

    /// The addresses they are bound to, in the order given.
    pub fn locals(&self) -> Vec<Addr> {
        self.sockets.iter().map(|(local, _)| *local).collect()
    }

    /// The next datagram, waiting no longer than `limit`.
    pub(crate) fn receive(&self, limit: Duration) -> Option<Arrival> {
        if limit.is_zero() {
            return self.arrivals.try_recv().ok();
        }
        // The only end of the channel would be that no thread reads any more; waiting stays waiting then.
        self.arrivals.recv_timeout(limit).ok()
    }

    /// Sends through the socket of the datagram's own local address.
    pub(crate) fn send(&self, datagram: &Datagram) -> io::Result<()> {
        let socket = self.sockets.iter().find(|(local, _)| *local == datagram.from);
        let (_, socket) = socket.ok_or(io::ErrorKind::AddrNotAvailable)?;
        socket.send_to(&datagram.bytes, SocketAddr::from(datagram.to)).map(drop)
    }
}

fn open(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, None)?;
    // A smaller buffer than asked for still works.
    let _ = socket.set_recv_buffer_size(RECEIVE_BUFFER_BYTES);
    socket.bind(&address.into())?;
    let socket = UdpSocket::from(socket);
    socket.set_read_timeout(Some(LOOK_UP))?;
    Ok(socket)
}

/// What one thread needs.
struct Reader {
    socket: UdpSocket,
    local: Addr,
    sender: SyncSender<Arrival>,
    closing: Arc<AtomicBool>,
}

impl Reader {
    fn run(self) {
        let mut buffer = vec![0; DATAGRAM_BYTES_MAX];
        while !self.closing.load(Ordering::Relaxed) {
            // A timeout, or an ICMP error about something sent earlier: neither ends the socket.
            let Ok((len, from)) = self.socket.recv_from(&mut buffer) else { continue };
            let bytes = buffer[..len].to_vec();
            self.deliver(Arrival { from: from.into(), to: self.local, bytes });
        }
    }

    /// Waits while the queue is full, but not when nobody will empty it any more.
    fn deliver(&self, mut arrival: Arrival) {
        while let Err(TrySendError::Full(back)) = self.sender.try_send(arrival) {
            if self.closing.load(Ordering::Relaxed) {
                return;
            }
            arrival = back;
            sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Sockets {
    fn drop(&mut self) {
        self.closing.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A reader that panicked has nothing left to clean up.
            let _ = thread.join();
        }
    }
}
