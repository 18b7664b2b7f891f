// The library's sample, as the README prints it, in a package that only depends on VidFetchKit. It
// prints what a test looks at: every progress value, the path or the error, and the end.

import Foundation
import VidFetchKit

guard let url = URL(string: CommandLine.arguments[1]) else { exit(2) }
let cancelsAtOnce = CommandLine.arguments.contains("cancel")

let downloader = VideoDownloader(video: url, with: "intro", for: .mp4)
for await status in downloader.download() {
  switch status {
  case .downloading(let progress, let session):
    print("progress \(progress)")
    if cancelsAtOnce { session.cancel() }
  case .completed(let path):
    print("completed \(path.path)")
  case .error(let error):
    print("error \(error)")
    print("description \(error.errorDescription ?? "none")")
    print("reason \(error.failureReason ?? "none")")
    print("recovery \(error.recoverySuggestion ?? "none")")
    error.log()
  }
}
print("end")
