//! Tests of a sender and a receiver over a pipe, in one binary to link only once.

mod accurate_ecn;
mod chaos;
mod ecn;
mod endurance;
mod frto;
mod loss_recovery;
mod pipe;
mod undo;
