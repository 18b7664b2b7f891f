// swift-tools-version: 6.2
import PackageDescription

/// Imports are internal unless a public declaration needs them, so that a C module can't leak out
/// of the target that wraps it.
let swiftSettings: [SwiftSetting] = [
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("ExistentialAny"),
]

/// For the targets that no pointer may reach.
let pointerFreeSettings = swiftSettings + [.strictMemorySafety()]

let package = Package(
  name: "vidfetch",
  products: [
    .executable(name: "vidfetch", targets: ["vidfetch"]),
    .library(name: "VidFetchKit", targets: ["VidFetchKit"]),
  ],
  targets: [
    // Header-only doors to the C libraries.
    .systemLibrary(
      name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
    .systemLibrary(
      name: "CFFmpeg", pkgConfig: "libavformat",
      providers: [.apt(["libavformat-dev", "libavcodec-dev", "libavutil-dev"])]),
    .systemLibrary(
      name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(
      name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(name: "CLinux"),
    .systemLibrary(name: "CGetopt"),

    .target(name: "FetchCore", dependencies: ["CLinux"], swiftSettings: swiftSettings),
    .target(
      name: "HTTPTransfer", dependencies: ["FetchCore", "CCurl"], swiftSettings: swiftSettings),
    .target(
      name: "PartialStorage", dependencies: ["FetchCore", "CLinux", "CCrypto"],
      swiftSettings: swiftSettings),
    .target(
      name: "MediaRemux", dependencies: ["FetchCore", "CFFmpeg", "CLinux", "CCrypto"],
      swiftSettings: swiftSettings),
    .target(
      name: "VideoArchive", dependencies: ["FetchCore", "CSQLite"], swiftSettings: swiftSettings),
    .target(
      name: "VidFetchKit",
      dependencies: ["FetchCore", "HTTPTransfer", "PartialStorage", "MediaRemux", "VideoArchive"],
      swiftSettings: pointerFreeSettings),
    .target(
      name: "FetchCLI", dependencies: ["FetchCore", "VidFetchKit", "CGetopt", "CLinux"],
      swiftSettings: swiftSettings),
    .executableTarget(
      name: "vidfetch", dependencies: ["FetchCLI"], swiftSettings: pointerFreeSettings),

    .target(
      name: "TestSupport", dependencies: ["FetchCore"], path: "Tests/TestSupport",
      swiftSettings: swiftSettings),
    .testTarget(
      name: "FetchCoreTests", dependencies: ["FetchCore"], swiftSettings: swiftSettings),
    .testTarget(
      name: "HTTPTransferTests", dependencies: ["HTTPTransfer", "FetchCore", "TestSupport"],
      swiftSettings: swiftSettings),
    .testTarget(
      name: "PartialStorageTests", dependencies: ["PartialStorage", "FetchCore", "TestSupport"],
      swiftSettings: swiftSettings),
    .testTarget(
      name: "MediaRemuxTests", dependencies: ["MediaRemux", "CFFmpeg", "FetchCore", "TestSupport"],
      swiftSettings: swiftSettings),
    .testTarget(
      name: "VideoArchiveTests", dependencies: ["VideoArchive", "FetchCore", "TestSupport"],
      swiftSettings: swiftSettings),
    .testTarget(
      name: "VidFetchKitTests",
      dependencies: [
        "VidFetchKit", "FetchCore", "HTTPTransfer", "PartialStorage", "MediaRemux", "VideoArchive",
        "TestSupport",
      ],
      swiftSettings: swiftSettings),
    .testTarget(
      name: "FetchCLITests", dependencies: ["FetchCLI", "VidFetchKit", "FetchCore", "TestSupport"],
      exclude: ["Snapshots"],
      swiftSettings: swiftSettings),
    .testTarget(
      name: "EndToEndTests", dependencies: ["TestSupport", "FetchCore"],
      swiftSettings: swiftSettings),
  ],
  swiftLanguageModes: [.v6]
)
