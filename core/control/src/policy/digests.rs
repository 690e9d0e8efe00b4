//! The digests in a policy's folder, in the format of sha256sum. `common/digests.py` writes them.

use std::path::Path;

use sha2::{Digest, Sha256};

use crate::ControlError;

const NAME: &str = "SHA256SUMS";

/// The digests of a policy folder, by file name.
pub struct Digests {
    source: String,
    recorded: Vec<(String, String)>,
}

impl Digests {
    /// Read `folder/SHA256SUMS`; `None` if there is none. Fails if it cannot be read or a line is damaged.
    pub fn read(folder: &Path) -> Result<Option<Self>, ControlError> {
        let path = folder.join(NAME);
        let source = path.display().to_string();
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return Err(ControlError::new(source, "file", format!("cannot be read: {error}")));
            }
        };
        let text = String::from_utf8_lossy(&bytes);
        let mut recorded = Vec::new();
        for (line, number) in text.lines().zip(1..) {
            let Some((digest, name)) = parse_line(line) else {
                let rule =
                    "must be a SHA-256 and a file name: restore the file, or delete it to skip the check";
                return Err(ControlError::new(format!("{source}:{number}"), "damaged", rule));
            };
            recorded.push((name.to_owned(), digest.to_ascii_lowercase()));
        }
        Ok(Some(Self { source, recorded }))
    }

    /// Check the content of the file `name`, whose path is `path`. Fails if it has another digest, or none.
    pub fn check(&self, name: &str, path: &str, content: &[u8]) -> Result<(), ControlError> {
        let Some((_, digest)) = self.recorded.iter().find(|(recorded, _)| recorded == name) else {
            let rule = format!("has no digest of {name}: restore the file, or delete it to skip the check");
            return Err(ControlError::new(&self.source, "damaged", rule));
        };
        if *digest == hexadecimal(&Sha256::digest(content)) {
            return Ok(());
        }
        Err(ControlError::new(
            path,
            format!("changed since it was written (SHA-256 differs from {NAME})"),
            format!("restore it, or delete {NAME} if the change is meant"),
        ))
    }
}

/// Split a line into digest and file name; a `*` before the name marks binary mode, which changes nothing.
fn parse_line(line: &str) -> Option<(&str, &str)> {
    let (digest, name) = line.split_once(' ')?;
    let name = name.strip_prefix([' ', '*'])?;
    let name = name.strip_prefix("./").unwrap_or(name);
    let is_digest = digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_digest && !name.is_empty()).then_some((digest, name))
}

fn hexadecimal(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
