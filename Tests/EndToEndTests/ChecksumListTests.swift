// --checksum @FILE: a list as sha256sum(1) writes it, for a whole batch.

import Foundation
import TestSupport
import Testing

@Suite("Lists of checksums")
struct ChecksumListTests {
  @Test(arguments: ["sha256sum", "md5sum", "sha512sum --tag"])
  func eachItemIsHeldToItsLine(tool: String) throws {
    let shelf = try FilmShelf(3)
    let server = try FaultServer(root: shelf.path)
    let run = try VidfetchRun()
    let words = tool.split(separator: " ").map(String.init)
    var sums = try outputOfTool(words + shelf.names.prefix(2), in: shelf.path)
    // The second one's digest is another's.
    let wrong = try outputOfTool(words + [FixtureFile.media("rot90.mp4")])
    sums =
      sums.split(separator: "\n")[0] + "\n"
      + wrong.replacing(FixtureFile.media("rot90.mp4"), with: shelf.names[1])
    try sums.write(toFile: run.file("sums"), atomically: false, encoding: .utf8)
    let list = try run.list(shelf.names.map { server.url($0) })
    let outcome = try run.run(["-i", list, "-d", "out", "--checksum", "@sums", "--json"])
    #expect(outcome.status == .exited(50), "\(outcome.stderr)")
    let output = try BatchOutput(outcome)
    #expect(try shelf.names.map { try output.result($0).code } == ["ok", "damaged", "refused"])
    try shelf.expectEach(shelf.names.prefix(1), in: run.file("out"))
    #expect(try !server.log().contains { $0.path.hasSuffix(shelf.names[2]) })
  }

  @Test func namesOfTheListAreFoundToo() throws {
    let shelf = try FilmShelf(2)
    let server = try FaultServer(root: shelf.path)
    let run = try VidfetchRun()
    let sum = try digest(shelf.folder.file(shelf.names[0]))
    try "\(sum)  one.mp4\n\(sum) *./films/two\n".write(
      toFile: run.file("sums"), atomically: false, encoding: .utf8)
    let list = try run.list([
      "\(server.url(shelf.names[0]))\tone", "\(server.url(shelf.names[1]))\ttwo",
    ])
    let outcome = try run.run(["-i", list, "-d", "out", "--checksum", "@sums"])
    #expect(outcome.status == .exited(0), "\(outcome.stderr)")
    try shelf.expectEach(["one.mp4", "two.mp4"], in: run.file("out"))
  }

  @Test func aListThatIsNoneStartsNothing() throws {
    let server = try FaultServer()
    let run = try VidfetchRun()
    try "no sums here\n".write(toFile: run.file("sums"), atomically: false, encoding: .utf8)
    for name in ["sums", "missing"] {
      let outcome = try run.run(["-d", "out", "--checksum", "@\(name)", server.url("plain.mp4")])
      expectFailure(outcome, 2, of: run, naming: name, beside: ["work/sums"])
    }
    #expect(try server.log().isEmpty)
  }
}
