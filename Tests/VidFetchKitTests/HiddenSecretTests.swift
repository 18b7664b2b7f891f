import Testing
import VidFetchKit

@Suite struct HiddenSecretTests {
  @Test(arguments: [
    ("https://h/a.mp4", false), ("HTTPS://H:443/a%7e.mp4#part", false),
    ("https://h/a.mp4?page=2", false), ("https://h/a.mp4?token=x", true),
    ("https://viewer:pa55@h/a.mp4", true), ("https://viewer@h/a.mp4", true),
    ("https://h:port/a.mp4?x", true), ("films/a.mp4", false), ("file:///films/a.mp4", false),
    ("viewer:pa55@h/a.mp4", true),
  ])
  func saysWhetherWhatIsShownCanBeFetched(source: String, hides: Bool) {
    #expect(JobRequest(source: source).hidesSecrets == hides)
  }
}
