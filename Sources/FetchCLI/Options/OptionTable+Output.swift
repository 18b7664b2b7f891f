// Where a result goes.

import FetchCore
import VidFetchKit

extension OptionTable {
  private static let nameFields = NameTemplate.fields.map { "{\($0)}" }.joined(separator: ", ")

  static let output: [OptionDefinition] = [
    OptionDefinition(
      "f", "format", value: OptionValue("FORMAT", .choices(["mov", "mp4"])), in: .output,
      "container: mov or mp4 (default: by -o, else mp4)",
      details: """
        The container of the result: mov or mp4. Without it the extension of the --output file \
        decides (.mp4 and .m4v, .mov and .qt); without one it is mp4. A format that contradicts \
        the extension is an error.
        """, environment: "VIDFETCH_FORMAT", yieldsTo: ["output"]
    ) { arguments, typed throws(UsageError) in
      arguments.format = Typed(try choice(ContainerFormat.self, typed), option: typed.option)
    },
    OptionDefinition(
      "o", "output", value: OptionValue("FILE", .file), in: .output,
      "write to exactly this file",
      details: """
        Writes to exactly this file, whose folder must exist. The name is taken as it is typed. It \
        appears whole, once the result is verified, and never replaces an existing file unless \
        --overwrite is given. It can't be standard output: what isn't verified yet is not handed on.
        """, yieldsTo: ["directory", "name"] + instead
    ) { arguments, typed throws(UsageError) in
      if typed.value.isEmpty { throw UsageError("\(typed.option) needs a file name") }
      if typed.value == "-" {
        throw UsageError(
          "\(typed.option) can't be standard output: a result is published as a whole file",
          didYouMean: "./-")
      }
      arguments.output = Typed(typed.value, option: typed.option)
    },
    OptionDefinition(
      "d", "directory", value: OptionValue("DIR", .directory), in: .output,
      "write into this folder, named as the server says",
      details: """
        Writes into this folder, which is made if it is missing. The file's name is taken from the \
        server's Content-Disposition, else from the URL, and made safe.
        """, environment: "VIDFETCH_DIRECTORY", yieldsTo: ["output"] + instead
    ) { arguments, typed throws(UsageError) in
      if typed.value.isEmpty { throw UsageError("\(typed.option) needs a folder") }
      arguments.directory = Typed(typed.value, option: typed.option)
    },
    OptionDefinition(
      nil, "name", value: OptionValue("TEMPLATE"), in: .output,
      "name results after this, such as {index}-{title}",
      details: """
        Names results after this template, in the folder of --directory or the private one. Filled \
        in are \(nameFields). A name that doesn't use {title} is known from the \
        item alone, whatever the server says. {{ and }} are braces; {index:05} is filled up with \
        zeros to five digits. What can't stand in a file name is replaced, and the extension follows by itself.
        """, yieldsTo: ["output"] + instead
    ) { arguments, typed throws(UsageError) in
      arguments.nameTemplate = Typed(typed.value, option: typed.option)
    },
    OptionDefinition(
      nil, "overwrite", in: .output, "replace an existing file",
      details: """
        Replaces an existing file, by one rename when the new one is complete and verified. Without \
        it an existing file ends the item with exit status 41.
        """, yieldsTo: ["skip-existing"] + instead
    ) { arguments, typed in arguments.overwrite = Typed(true, option: typed.option) },
    OptionDefinition(
      nil, "skip-existing", in: .output, "count an existing file as done",
      details: """
        Counts an item whose file exists as done: nothing is fetched, its path is printed and the \
        exit status is 0.
        """, yieldsTo: ["overwrite"] + instead
    ) { arguments, typed in arguments.skipExisting = Typed(true, option: typed.option) },
    OptionDefinition(
      nil, "keep-source", in: .output, "keep the source too, as NAME.source.EXT",
      details: """
        Keeps the file as it was downloaded beside the result, as NAME.source.EXT.
        """, yieldsTo: ["low-disk"] + instead
    ) { arguments, typed in arguments.keepSource = Typed(true, option: typed.option) },
    OptionDefinition(
      nil, "low-disk", in: .output, "need little more room than the result takes",
      details: """
        Gives the room of what is exported back while the download goes on, so that about 1.1 times \
        the result's size has to fit on the disk, and not twice that. Works for mp4 and QuickTime \
        with the index first, Matroska, WebM and MPEG-TS, as far as the export keeps pace; other \
        sources stay whole until the end. One connection is used. A download that ends early can't \
        be resumed by another run: it begins anew.
        """, yieldsTo: ["keep-source"] + instead
    ) { arguments, typed in arguments.lowDisk = Typed(true, option: typed.option) },
  ]
}
