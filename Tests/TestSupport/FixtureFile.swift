// The files under Tests/Fixtures, and where the package itself stands.

private import Foundation

/// A file that the tests come with.
package enum FixtureFile {
  /// The folder of Package.swift.
  package static let packageRoot: String = {
    var parts = #filePath.split(separator: "/").dropLast(3)
    parts = parts.filter { $0 != "." }[...]
    return "/" + parts.joined(separator: "/")
  }()

  package static let folder = "\(packageRoot)/Tests/Fixtures"
  /// Media, described in Tests/Fixtures/facts.txt.
  package static let mediaFolder = "\(folder)/media"

  /// The path of a media file, such as `plain.mp4`.
  package static func media(_ name: String) -> String { "\(mediaFolder)/\(name)" }
}
