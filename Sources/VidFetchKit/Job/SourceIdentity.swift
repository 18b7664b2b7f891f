// What makes two sources one: the normalised URL, or a local file's absolute path. Pure but for the
// working directory, which a relative path is made absolute by.

package import FetchCore
import HTTPTransfer
import PartialStorage

/// A source, whatever way it is written.
package struct SourceIdentity: Sendable, Hashable {
  /// The normalised URL (RFC 3986 6.2.2), or `file://` and an absolute path.
  ///
  /// A query may hold secrets, so this is for keys, not for showing.
  package let normalized: String
  /// Without brackets and port; empty for a local file.
  package var host: String

  /// Reads a source; one that can't be read stands for itself, since it fails all the same.
  package init(_ source: String) {
    switch try? SourceAddress(source) {
    case .file(let path):
      normalized = LocalSource.normalized(path)
      host = ""
    case .url(let text):
      let url = try? HTTPURL(text)
      normalized = url?.normalized ?? text
      host = url?.host ?? ""
    case nil:
      normalized = source
      host = ""
    }
  }

  /// A source that is known by a text of the caller's.
  package init(key: String) {
    normalized = key
    host = ""
  }

  /// 16 hex digits that name the hidden files of this source's jobs.
  package var key: String { ResourceKey(normalizedURL: normalized).description }

  /// The first 8 bytes of its SHA-256: the same on every machine.
  package var hash: UInt64 { Self.words(of: normalized).0 }

  /// 16 bytes that stand for a source together with the name and the format that are asked of it.
  package func fingerprint(name: String?, format: ContainerFormat?) -> (UInt64, UInt64) {
    // No text here can hold a NUL, so that parts can't run into each other.
    Self.words(of: "\(normalized)\0\(name ?? "")\0\(format?.rawValue ?? "")")
  }

  /// The first 8 bytes of a text's SHA-256.
  static func hash(of text: String) -> UInt64 { words(of: text).0 }

  private static func words(of text: String) -> (UInt64, UInt64) {
    let digest = SHA256.digest(of: Array(text.utf8))
    func word(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
    return (word(digest[..<8]), word(digest[8..<16]))
  }
}
