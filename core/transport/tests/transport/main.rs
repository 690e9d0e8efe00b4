//! Sender and receiver over a pipe: one program, because each is linked with everything that sends.

mod chaos;
mod ecn;
mod endurance;
mod frto;
mod loss_recovery;
mod pipe;
mod undo;
