//! Tests of the public interface with every scheme of the table.

mod lossless;
mod progress;
mod senseless_acks;
