import FetchCore
import Foundation
import Testing

@testable import VidFetchKit

@Suite struct VideoValueTests {
  @Test(arguments: [
    (0, VideoResolution.SD), (719, .SD), (720, .HD), (1079, .HD), (1080, .fullHD), (1920, .fullHD),
    (2159, .fullHD), (2160, ._4K), (8000, ._4K),
  ])
  func heightChoosesTheTier(pixels: Int, tier: VideoResolution) {
    #expect(VideoResolution(rawValue: pixels) == tier)
  }

  @Test func negativeHeightIsNoTier() {
    #expect(VideoResolution(rawValue: -1) == nil)
    #expect(VideoResolution.allCases.map(\.rawValue) == ["SD", "720p HD", "1080p HD", "4K"])
  }

  @Test func entityIsIdentifiedByItsNormalisedAddress() throws {
    func entity(_ text: String) throws -> VideoEntity {
      VideoEntity(url: try #require(URL(string: text)), title: "x")
    }
    let plain = try entity("https://example.com/a.mp4")
    #expect(plain.id.count == 16)
    #expect(try entity("HTTPS://user:pw@EXAMPLE.com:443/b/../a.mp4#t=1").id == plain.id)
    #expect(try entity("https://example.com/a.mp4?x=1").id != plain.id)
    let given = VideoEntity(id: "7", url: plain.url, title: "x")
    #expect(given.id == "7")
  }

  @Test func entitySurvivesCoding() throws {
    let entity = VideoEntity(
      url: try #require(URL(string: "file:///tmp/a.mov")), title: "A", duration: 1.5,
      resolution: ._4K, type: .mov, thumb: URL(string: "file:///tmp/a.jpg"))
    let data = try JSONEncoder().encode(entity)
    #expect(try JSONDecoder().decode(VideoEntity.self, from: data) == entity)
  }

  @Test func everyErrorHasItsThreeTexts() {
    let errors: [VideoError] = [
      .assetNotPlayable, .missingTracks, .failedToCreateExportSession, .userCancelled,
      .requestFailed, .exportFailed, .custom(message: "odd"),
    ]
    for error in errors {
      #expect(error.errorDescription?.isEmpty == false)
      #expect(error.failureReason?.isEmpty == false)
      #expect(error.recoverySuggestion?.isEmpty == false)
      #expect(error == error)
      var lines: [String] = []
      error.log(to: { lines.append($0) })
      #expect(lines == [error.description])
    }
    #expect(Set(errors).count == errors.count)
  }

  @Test(arguments: OutcomeCode.allCases)
  func everyFailureHasAKind(code: OutcomeCode) {
    let error = VideoError(FetchError(code, "what", reason: "why", recovery: "cure"))
    #expect(error.code == code.rawValue)
    if code != .signal { #expect(error.errorDescription == "what") }
    #expect(error.failureReason == "why" && error.recoverySuggestion == "cure")
    #expect(error.isRetryable == code.isRetryable)
  }
}
