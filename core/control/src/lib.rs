//! Monitor interval, report, features, policy and action: defined once for training, simulation and the live kernel
