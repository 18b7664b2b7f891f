// The door to the structural checks: one walk per family of containers. Reads; never writes, and
// knows nothing of libavformat, whose reading of a cut file often ends without an error.
//
// Which formats can prove their end:
//
// | container                    | proven by                                       | no end of its own           |
// |------------------------------|-------------------------------------------------|-----------------------------|
// | MP4, QuickTime (moov)        | box sizes, every sample inside the file, and an | compressed moov (cmov)      |
// |                              | index without missing or renamed boxes          |                             |
// | fragmented MP4               | mfra, sidx of the whole file, mehd, brand lmsg  | without any of these        |
// | Matroska, WebM               | the Segment's size                              | Segment of unknown size     |
// | AVI                          | RIFF sizes, OpenDML super index                 | RIFF size 0 or all ones     |
// | WAV                          | size of the data chunk                          | data size 0 or all ones     |
// | ASF (WMV)                    | File Properties and Data object                 | broadcast flag              |
// | Ogg                          | end-of-stream page of every logical stream      | without these pages         |
// | MPEG-PS                      | program end code                                | without it (VOB, captures)  |
// | FLV                          | filesize in onMetaData                          | without it                  |
// | FLAC                         | total samples, reached by the last frame        | total samples 0 (unknown)   |
// | MPEG-TS, ADTS, MPEG audio    |                                                 | always                      |
// | AC-3, E-AC-3, DTS, AMR       |                                                 | always                      |
// | others                       |                                                 | always, and nothing checked |
//
// In the last column a cut inside a unit (packet, tag, page, frame) is found, one between two units
// is not.

package import FetchCore

/// Proves that a source ended where its structure says.
package enum ContainerStructure {
  /// Walks the structure of a source to its end.
  ///
  /// Time and reads are bounded by the structure, not by the media: media is skipped by its declared
  /// size, or, where a format has no sizes to skip by, only the head and the last MiB are read.
  /// Memory is bounded by a few blocks.
  ///
  /// - Throws: what `reader` throws. Damage is a verdict, not an error.
  package static func examine(
    _ reader: SourceReader, kind: ContainerKind
  ) throws(FetchError) -> StructureVerdict {
    let size = try reader.measuredSize()
    guard size > 0 else { return .incomplete("the body is empty") }
    switch kind {
    case .mp4: return try MovieStructure.examine(reader, size: size)
    case .matroska: return try EBMLStructure.examine(reader, size: size)
    case .mpegTS: return try TransportStreamStructure.examine(reader, size: size)
    case .mpegPS: return try ProgramStreamStructure.examine(reader, size: size)
    case .flv: return try FLVStructure.examine(reader, size: size)
    case .avi: return try RIFFStructure.examineAVI(reader, size: size)
    case .wav: return try RIFFStructure.examineWave(reader, size: size)
    case .ogg: return try OggStructure.examine(reader, size: size)
    case .asf: return try ASFStructure.examine(reader, size: size)
    case .adts, .mp3: return try AudioFrameStructure.examine(reader, size: size)
    case .ac3, .dts: return try SyncFrameStructure.examine(reader, size: size, kind: kind)
    case .amr: return try AMRStructure.examine(reader, size: size)
    case .flac:
      let start = try AudioFrameStructure.startOfFrames(reader)
      return try FLACStructure.examine(reader, start: start, size: size)
    case .other: return .noEndOfItsOwn
    }
  }
}
