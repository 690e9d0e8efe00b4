//! Building blocks that schemes share.

pub mod ack_aggregation;
pub mod base_rtt_steps;
pub mod careful_resume;
pub mod hystart;
pub mod hystart_plus_plus;
pub mod path_model;
pub mod random;
pub mod rapid_start;
pub mod round_rtt;
pub mod search;
pub mod ticks;
pub mod window;
pub mod windowed_max;
pub mod windowed_min;
