// Downloads a video with VidFetchKit and says how it goes:
//
//     swift run intro URL            `cancel` behind it cancels at once
//
// The tests run this program too, so that what the README shows compiles and works.

import Foundation
import VidFetchKit

guard CommandLine.arguments.count > 1, let url = URL(string: CommandLine.arguments[1]) else {
  print("usage: intro URL [cancel]")
  exit(2)
}
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
