// swift-tools-version: 6.2
import PackageDescription

// A package of its own: what an app needs to use VidFetchKit.
let package = Package(
  name: "intro",
  dependencies: [.package(name: "vidfetch", path: "../..")],
  targets: [
    .executableTarget(
      name: "intro", dependencies: [.product(name: "VidFetchKit", package: "vidfetch")])
  ],
  swiftLanguageModes: [.v6]
)
