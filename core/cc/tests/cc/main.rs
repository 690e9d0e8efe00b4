//! The crate seen from outside, through its table of schemes.

mod lossless;
mod senseless_acks;
