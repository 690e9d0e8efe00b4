//! Congestion control schemes behind one small trait
