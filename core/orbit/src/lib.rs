//! Positions of many satellites at many times with SGP4 (Hoots and Roehrich, Spacetrack Report No. 3, 1980;
//! Vallado et al., AIAA 2006-6753). No clock, no I/O.

use sgp4::{Constants, MinutesSinceEpoch, Orbit, WGS72, iau_epoch_to_sidereal_time};

/// Mean elements of one satellite at its own epoch, as a two-line element set gives them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanElements {
    /// Julian years from 2000-01-01 12:00 UTC to the epoch; only deep-space orbits depend on it.
    pub epoch_years: f64,
    /// Relative to the equator.
    pub inclination_rad: f64,
    /// Right ascension of the ascending node.
    pub node_rad: f64,
    /// In `0..1`.
    pub eccentricity: f64,
    /// From the ascending node.
    pub perigee_rad: f64,
    /// From the perigee.
    pub mean_anomaly_rad: f64,
    /// Kozai's mean motion, as in two-line elements.
    pub motion_rad_per_min: f64,
    /// The drag term B*, per Earth radius.
    pub bstar: f64,
}

/// Why SGP4 cannot propagate a satellite.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The elements describe no orbit around the Earth.
    #[error("satellite {satellite}: elements: {reason}")]
    Elements {
        /// The satellite's index.
        satellite: usize,
        /// SGP4's message.
        reason: String,
    },
    /// The time lies outside the propagation's domain, for example after decay.
    #[error("satellite {satellite}: {minutes} minutes from its epoch: {reason}")]
    Propagation {
        /// The satellite's index.
        satellite: usize,
        /// Minutes since its epoch.
        minutes: f64,
        /// SGP4's message.
        reason: String,
    },
    /// There is no satellite with this index.
    #[error("satellite {satellite}: there are only {count}")]
    Index {
        /// The requested index.
        satellite: usize,
        /// The number of satellites.
        count: usize,
    },
}

/// Satellites ready for propagation, with the constants of WGS 72.
pub struct Satellites {
    constants: Vec<Constants>,
}

impl Satellites {
    /// Initialise SGP4 for every satellite.
    pub fn new(elements: &[MeanElements]) -> Result<Self, Error> {
        let constants = elements.iter().enumerate().map(|(satellite, own)| {
            let reason =
                |error: &dyn std::fmt::Display| Error::Elements { satellite, reason: error.to_string() };
            let orbit = Orbit::from_kozai_elements(
                &WGS72,
                own.inclination_rad,
                own.node_rad,
                own.eccentricity,
                own.perigee_rad,
                own.mean_anomaly_rad,
                own.motion_rad_per_min,
            )
            .map_err(|error| reason(&error))?;
            Constants::new(WGS72, iau_epoch_to_sidereal_time, own.epoch_years, own.bstar, orbit)
                .map_err(|error| reason(&error))
        });
        Ok(Self { constants: constants.collect::<Result<_, _>>()? })
    }

    /// Return the number of satellites.
    pub fn len(&self) -> usize {
        self.constants.len()
    }

    /// Return whether there are no satellites.
    pub fn is_empty(&self) -> bool {
        self.constants.is_empty()
    }

    /// Return the position in km, in TEME (true equator, mean equinox), `minutes` after its own epoch.
    pub fn position_km(&self, satellite: usize, minutes: f64) -> Result<[f64; 3], Error> {
        let count = self.constants.len();
        let constants = self.constants.get(satellite).ok_or(Error::Index { satellite, count })?;
        let failed = |reason: String| Error::Propagation { satellite, minutes, reason };
        let position = constants
            .propagate(MinutesSinceEpoch(minutes))
            .map_err(|error| failed(error.to_string()))?
            .position;
        if position.iter().all(|axis| axis.is_finite()) {
            Ok(position)
        } else {
            Err(failed("the position is not finite".to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Vanguard 1, the near-earth test case that the authors of the revised SGP4 publish
    /// (Vallado et al., "Revisiting Spacetrack Report #3", AIAA 2006-6753, satellite 00005).
    fn vanguard() -> MeanElements {
        MeanElements {
            epoch_years: 0.489_5,
            inclination_rad: 34.2682_f64.to_radians(),
            node_rad: 348.7242_f64.to_radians(),
            eccentricity: 0.185_966_7,
            perigee_rad: 331.7664_f64.to_radians(),
            mean_anomaly_rad: 19.3264_f64.to_radians(),
            motion_rad_per_min: 10.824_191_57 * std::f64::consts::TAU / 1440.0,
            bstar: 0.280_98e-4,
        }
    }

    #[test]
    fn the_published_test_case_is_met_to_a_metre() {
        let satellites = Satellites::new(&[vanguard()]).unwrap();
        let published = [
            (0.0, [7_022.465_292_66, -1_400.082_967_55, 0.039_951_55]),
            (360.0, [-7_154.031_202_02, -3_783.176_825_04, -3_536.194_122_94]),
            (4320.0, [-9_060.473_735_69, 4_658.709_525_02, 813.686_731_53]),
        ];
        for (minutes, position_km) in published {
            let position = satellites.position_km(0, minutes).unwrap();
            for (axis, expected) in position_km.into_iter().enumerate() {
                assert!((position[axis] - expected).abs() < 1e-3, "{minutes} min: {position:?}");
            }
        }
    }

    #[test]
    fn what_cannot_be_propagated_is_an_error_with_the_satellite() {
        let still = MeanElements { motion_rad_per_min: -1.0, ..vanguard() };
        let error = Satellites::new(&[vanguard(), still]).err().unwrap();
        assert!(error.to_string().starts_with("satellite 1: elements: "), "{error}");
        let satellites = Satellites::new(&[vanguard()]).unwrap();
        assert!(!satellites.is_empty());
        assert_eq!(satellites.position_km(1, 0.0).unwrap_err().to_string(), "satellite 1: there are only 1");
        let error = satellites.position_km(0, f64::NAN).unwrap_err();
        assert!(error.to_string().starts_with("satellite 0: NaN minutes"), "{error}");
    }

    #[test]
    fn a_satellite_that_has_decayed_is_an_error() {
        let falling = MeanElements {
            eccentricity: 0.001,
            motion_rad_per_min: 16.4 * std::f64::consts::TAU / 1440.0,
            bstar: 0.1,
            ..vanguard()
        };
        let satellites = Satellites::new(&[falling]).unwrap();
        assert!(satellites.position_km(0, 0.0).is_ok());
        assert!(satellites.position_km(0, 30.0 * 1440.0).is_err());
    }
}
