// The expression of --key: which part of a URL names an item for good. Thin: regcomp(3), regexec(3).

import Glibc

/// An extended regular expression (POSIX 1003.1, regex(7)).
///
/// SAFETY of `@unchecked Sendable`: the compiled expression is a heap cell that is written once, before
/// anybody else has this object, and only read by regexec(3), which any thread may call, until the last
/// owner frees it.
package final class KeyPattern: @unchecked Sendable {
  private let expression: UnsafeMutablePointer<regex_t>

  /// - Throws: where it is no expression.
  package convenience init(_ text: String, option: String) throws(UsageError) {
    let expression = UnsafeMutablePointer<regex_t>.allocate(capacity: 1)
    expression.initialize(to: regex_t())
    let code = regcomp(expression, text, REG_EXTENDED)
    guard code != 0 else {
      self.init(compiled: expression)
      return
    }
    var message = [CChar](repeating: 0, count: 256)
    regerror(code, expression, &message, message.count)
    expression.deallocate()
    let reason = String(
      decoding: message.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    throw UsageError("\(option) is no regular expression: \(reason)")
  }

  /// Takes over a cell whose expression compiled; what didn't must not be freed by regfree(3).
  private init(compiled expression: UnsafeMutablePointer<regex_t>) {
    self.expression = expression
  }

  deinit {
    regfree(expression)
    expression.deallocate()
  }

  /// What matches in a URL, or its first group that does; nil where nothing matches.
  package func key(of url: String) -> String? {
    var matches = [regmatch_t](repeating: regmatch_t(rm_so: -1, rm_eo: -1), count: 10)
    guard regexec(expression, url, matches.count, &matches, 0) == 0 else { return nil }
    let match = matches.dropFirst().first { $0.rm_so >= 0 && $0.rm_eo > $0.rm_so } ?? matches[0]
    let bytes = Array(url.utf8)
    let range = Int(match.rm_so)..<Int(match.rm_eo)
    guard match.rm_so >= 0, !range.isEmpty, range.upperBound <= bytes.count else { return nil }
    return String(decoding: bytes[range], as: UTF8.self)
  }
}
