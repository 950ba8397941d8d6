//! Every integration test of this crate as one program, so that it is linked once.

mod captures;
mod crypto;
mod data;
mod decode;
mod export;
mod ikev1_captures;
mod knock;
mod live;
mod populations;
mod provenance;
mod rank;
mod readme;
mod ready;
mod sameness;
mod schema;
mod scratch;
mod size;
mod study;
mod verbs;
mod world_live;
