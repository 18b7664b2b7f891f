// Overwrites secrets in the memory that the kernel shows as the process's command line, after they
// have been copied. Runs while the process has one thread.

import Glibc

/// The words of the command line as they lie in memory.
enum ArgumentMemory {
  /// Overwrites a secret option's value; the forms that name a file are left.
  static func hideValue(_ value: UnsafeMutablePointer<CChar>, of row: OptionDefinition) {
    if row.long == "proxy" {
      hideUserInfo(value, needsScheme: false)
      return
    }
    if value[0] == CChar(UInt8(ascii: "@")) || strcmp(value, "-") == 0 { return }
    memset(value, Int32(UInt8(ascii: "*")), strlen(value))
  }

  /// Overwrites the `user:password` of a URL.
  static func hideUserInfo(_ url: UnsafeMutablePointer<CChar>, needsScheme: Bool = true) {
    let bytes = UnsafeMutableBufferPointer(start: url, count: strlen(url))
    let copy = bytes.map { UInt8(bitPattern: $0) }
    guard let range = UserInfo.range(in: copy, needsScheme: needsScheme) else { return }
    for index in range { bytes[index] = CChar(UInt8(ascii: "*")) }
  }
}
