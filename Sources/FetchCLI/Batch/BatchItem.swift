package import FetchCore
package import VidFetchKit

/// One item of a run: what is to be done, or why nothing can be.
package struct BatchItem: Sendable {
  package enum Content: Sendable {
    case fetch(JobRequest)
    /// An earlier item is the same.
    case duplicate(JobRequest)
    /// A line of the list that says nothing to be done.
    case bad(FetchError)
  }

  /// Its place among all items of the run, from 1; the same in every shard.
  package let job: Int
  /// What is shown of its source, secrets removed.
  package let url: String
  package let content: Content
  /// Empty for a local source.
  package var host = ""
  /// Where it comes from, for its result.
  package var origin = ItemOrigin()

  package init(job: Int, url: String, content: Content) {
    self.job = job
    self.url = url
    self.content = content
  }
}
