//! Exported policies against onnxruntime (fixtures/make.py), and damaged folders.

use std::fs;
use std::path::{Path, PathBuf};

use leo_control::{AgentSpec, Policy};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// The observations of make.py: five rows.
fn observations(dim: usize) -> Vec<f32> {
    (0..5 * dim).map(|i| ((i * 37 % 101) as f64 / 50.0 - 1.0) as f32).collect()
}

fn onnxruntime_actions(folder: &Path) -> Vec<f32> {
    let text = fs::read_to_string(folder.join("policy.json")).unwrap();
    let description: serde_json::Value = serde_json::from_str(&text).unwrap();
    let actions = description["provenance"]["onnxruntime_actions"].as_array().unwrap();
    actions.iter().map(|action| action.as_f64().unwrap() as f32).collect()
}

/// Copy a fixture to a new folder.
fn copy(name: &str, to: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(to);
    fs::create_dir_all(&folder).unwrap();
    for file in ["policy.onnx", "policy.json"] {
        fs::copy(fixture(name).join(file), folder.join(file)).unwrap();
    }
    folder
}

#[test]
fn actions_are_those_of_onnxruntime() {
    for (name, spec, interval_ns) in [
        ("perceptron", AgentSpec::ASTRAEA, 30_000_000),
        ("operators", AgentSpec::ASTRAEA, 30_000_000),
        ("aurora", AgentSpec::AURORA, 50_000_000),
    ] {
        let folder = fixture(name);
        let policy = Policy::load(&folder).unwrap();
        assert_eq!((policy.spec(), policy.interval_ns()), (spec, interval_ns));
        let expected = onnxruntime_actions(&folder);
        let mut actions = vec![f32::NAN; expected.len()];
        policy.act(&observations(spec.observation_dim()), &mut [], &mut actions);
        for (row, (got, want)) in actions.iter().zip(&expected).enumerate() {
            assert!((got - want).abs() < 2e-6, "{name}, row {row}: {got} is not {want}");
        }
        let spread = expected.iter().fold((1f32, -1f32), |(min, max), a| (min.min(*a), max.max(*a)));
        assert!(spread.1 - spread.0 > 0.1, "{name} tells rows apart");
    }
}

#[test]
fn a_recurrent_policy_remembers_as_in_onnxruntime() {
    let folder = fixture("recurrent");
    let policy = Policy::load(&folder).unwrap();
    assert_eq!(policy.memory_dim(), 14);
    let expected = onnxruntime_actions(&folder);
    let mut memories = [0.0; 5 * 14];
    let mut actions = [f32::NAN; 5];
    policy.act(&observations(50), &mut memories, &mut actions);
    let first = actions;
    for _ in 1..4 {
        policy.act(&observations(50), &mut memories, &mut actions);
    }
    for (row, (got, want)) in actions.iter().zip(&expected).enumerate() {
        assert!((got - want).abs() < 2e-6, "row {row}: {got} is not {want}");
    }
    assert!(first.iter().zip(actions).all(|(first, last)| (first - last).abs() > 1e-3), "memory matters");
}

#[test]
fn threads_and_batches_give_the_same_bits() {
    let policy = Policy::load(&fixture("perceptron")).unwrap();
    let observations = observations(50);
    let mut batch = [0.0; 5];
    policy.act(&observations, &mut [], &mut batch);
    let policy = &policy;
    std::thread::scope(|scope| {
        let rows: Vec<_> = observations
            .chunks(50)
            .map(|row| {
                scope.spawn(move || {
                    let mut action = [0.0];
                    policy.act(row, &mut [], &mut action);
                    action[0]
                })
            })
            .collect();
        for (row, expected) in rows.into_iter().zip(batch) {
            assert_eq!(row.join().unwrap().to_bits(), expected.to_bits());
        }
    });
}

#[test]
fn a_missing_file_is_named() {
    let nowhere = fixture("nowhere");
    let error = Policy::load(&nowhere).unwrap_err().to_string();
    let file = nowhere.join("policy.json");
    assert!(error.starts_with(&format!("{}: file: cannot be read: ", file.display())), "{error}");

    let folder = copy("perceptron", "without-network");
    fs::remove_file(folder.join("policy.onnx")).unwrap();
    let error = Policy::load(&folder).unwrap_err().to_string();
    assert!(error.contains("policy.onnx: file: cannot be read: "), "{error}");
}

#[test]
fn a_policy_of_another_version_of_the_specification_is_refused() {
    let folder = copy("perceptron", "another-version");
    let file = folder.join("policy.json");
    let text = fs::read_to_string(&file).unwrap().replace("\"spec_version\": 1", "\"spec_version\": 9");
    fs::write(&file, text).unwrap();
    let expected = format!(
        "{}: spec_version: trained with version 9 of the specification astraea, this build runs version 1",
        file.display()
    );
    assert_eq!(Policy::load(&folder).unwrap_err().to_string(), expected);
}

#[test]
fn a_network_cut_short_is_named() {
    let folder = copy("perceptron", "cut-short");
    let file = folder.join("policy.onnx");
    let whole = fs::read(&file).unwrap();
    fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    let expected = format!("{}: file: truncated or not an ONNX model", file.display());
    assert_eq!(Policy::load(&folder).unwrap_err().to_string(), expected);
}

/// `sha256sum policy.json policy.onnx` of the fixture `perceptron`.
fn sums() -> String {
    let sum = |file: &str| {
        let output =
            std::process::Command::new("sha256sum").arg(file).current_dir(fixture("perceptron")).output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    sum("policy.json") + &sum("policy.onnx")
}

#[test]
fn a_flipped_bit_in_a_file_with_a_digest_is_refused() {
    let folder = copy("perceptron", "digests");
    let (record, sums) = (folder.join("SHA256SUMS"), sums());
    // In binary mode, sha256sum writes a star, and some editors write carriage returns.
    for text in [sums.clone(), sums.replace("  ", " *").replace('\n', "\r\n"), sums.replace("  ", "  ./")] {
        fs::write(&record, text).unwrap();
        Policy::load(&folder).unwrap();
    }
    fs::write(&record, &sums).unwrap();
    for name in ["policy.json", "policy.onnx"] {
        let file = folder.join(name);
        let bytes = fs::read(&file).unwrap();
        let mut flipped = bytes.clone();
        let middle = bytes.len() / 2;
        flipped[middle] ^= 1;
        fs::write(&file, &flipped).unwrap();
        let expected = format!(
            "{}: changed since it was written (SHA-256 differs from SHA256SUMS): restore it, or delete SHA256SUMS if the \
             change is meant",
            file.display()
        );
        assert_eq!(Policy::load(&folder).unwrap_err().to_string(), expected);
        fs::write(&file, &bytes).unwrap();
    }
    fs::remove_file(&record).unwrap();
    let network = folder.join("policy.onnx");
    let mut bytes = fs::read(&network).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&network, &bytes).unwrap();
    let unchecked = Policy::load(&folder).map_err(|error| error.to_string());
    assert!(unchecked.is_ok() || !unchecked.as_ref().unwrap_err().contains("SHA"), "{unchecked:?}");
}

#[test]
fn a_damaged_record_of_digests_is_refused() {
    let folder = copy("perceptron", "damaged-digests");
    let (record, sums) = (folder.join("SHA256SUMS"), sums());
    let (json, onnx) = sums.split_once('\n').unwrap();
    let damaged =
        "damaged: must be a SHA-256 and a file name: restore the file, or delete it to skip the check";
    let lacks = |name: &str| {
        format!(": damaged: has no digest of {name}: restore the file, or delete it to skip the check")
    };
    for (text, rule) in [
        (format!("{json}\n{}", &onnx[..40]), format!(":2: {damaged}")),
        ("\u{0}\u{ff}".to_owned(), format!(":1: {damaged}")),
        (sums.replacen(' ', "", 2), format!(":1: {damaged}")),
        (format!("g{}", &sums[1..]), format!(":1: {damaged}")),
        (String::new(), lacks("policy.json")),
        (format!("{json}\n"), lacks("policy.onnx")),
    ] {
        fs::write(&record, &text).unwrap();
        assert_eq!(
            Policy::load(&folder).unwrap_err().to_string(),
            format!("{}{rule}", record.display()),
            "{text:?}"
        );
    }
}
