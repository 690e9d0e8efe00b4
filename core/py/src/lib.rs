//! Python module leosim.
