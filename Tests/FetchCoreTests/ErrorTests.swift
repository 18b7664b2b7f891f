import FetchCore
import Glibc
import Testing

@Suite struct ErrorTests {
  @Test(arguments: [
    (ENOSPC, OutcomeCode.diskFull), (EDQUOT, .diskFull), (EACCES, .output), (EEXIST, .output),
    (EROFS, .output), (ENAMETOOLONG, .output), (EIO, .localIO), (EBADF, .localIO),
  ])
  func errnoDecidesTheClass(number: Int32, code: OutcomeCode) {
    #expect(SystemError("write", errno: number).fetchError("writing x").code == code)
  }

  @Test func systemErrorSpeaksTheSystemsWords() {
    #expect(SystemError("write", errno: ENOSPC).text == "No space left on device")
  }

  @Test func retriesACallThatASignalInterrupted() throws {
    var calls = 0
    let result = try retryingInterrupts("read") { () -> Int in
      calls += 1
      if calls < 3 {
        errno = EINTR
        return -1
      }
      return 7
    }
    #expect(result == 7 && calls == 3)
  }

  @Test func exitStatusesAreDistinctAndGroupedByTens() {
    let statuses = OutcomeCode.allCases.map(\.exitStatus)
    #expect(Set(statuses).count == statuses.count)
    for code in OutcomeCode.allCases where code.isRetryable {
      #expect((10...19).contains(code.exitStatus))
    }
  }

  @Test(arguments: OutcomeCode.allCases)
  func partOutlivesOnlyWhatARerunCanMend(code: OutcomeCode) {
    let keeping: Set<OutcomeCode> = [
      .network, .busy, .denied, .diskFull, .output, .localIO, .signal,
    ]
    #expect(code.keepsPart == keeping.contains(code))
  }
}
