//! Two endpoints against each other: exchanges, changes, ends, a bad network and bad peers.

mod aka;
mod capture;
mod diet_vectors;
mod encapsulation;
mod exchanges;
mod family;
mod hostile;
mod leniencies;
mod limits;
mod moves;
mod network;
mod updates;
mod world;
