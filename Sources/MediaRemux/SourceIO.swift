// libavformat's reading side: an AVIOContext over a descriptor whose bytes arrive while they are
// read. Lives and dies on the remux thread; knows offsets, never a path.

import CFFmpeg
import FetchCore
import Glibc

/// The source's bytes at any offset, waited for.
///
/// Any one thread; the descriptor is borrowed.
struct SourceBytes: Sendable {
  let descriptor: Int32
  let availability: SourceAvailability
  /// Called on the reading thread with an offset whose byte is not there yet.
  let onWait: @Sendable (Int64) -> Void

  /// Reads at an offset, waiting for the bytes; fewer than `count` only at the end.
  func read(at offset: Int64, count: Int) throws(FetchError) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count)
    while bytes.count < count {
      let at = offset + Int64(bytes.count)
      switch availability.answer(at: at, willWait: { onWait(at) }) {
      case .cancelled:
        throw .cancelled
      case .end:
        return bytes
      case .bytes(let run):
        let wanted = Int(min(run, Int64(count - bytes.count)))
        var failure: FetchError?
        let piece = [UInt8](unsafeUninitializedCapacity: wanted) { buffer, filled in
          do throws(FetchError) {
            filled = try readOnce(into: UnsafeMutableRawBufferPointer(buffer), at: at)
          } catch {
            failure = error
          }
        }
        if let failure { throw failure }
        bytes += piece
      }
    }
    return bytes
  }

  /// Reads once; bytes that were announced but are not there are trouble of the disk's.
  func readOnce(
    into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
  ) throws(FetchError) -> Int {
    do throws(SystemError) {
      let count = try retryingInterrupts("pread") {
        pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset))
      }
      guard count > 0 else { throw SystemError("pread", errno: EIO) }
      return count
    } catch {
      throw FetchError(
        .localIO, "\(error.text) while reading the source", reason: "\(error.call): \(error.text)",
        recovery: "check the disk and the system log")
    }
  }
}

/// Reads a source that may still be growing, for libavformat.
///
/// Owned by the remux thread.
final class SourceIO {
  static let bufferSize = 256 << 10

  private let bytes: SourceBytes
  var availability: SourceAvailability { bytes.availability }
  /// The offset that the next read callback begins at.
  private var position: Int64 = 0
  /// The furthest byte that was handed to libavformat.
  private(set) var furthest: Int64 = 0
  /// What went wrong inside a callback, which can only return a number.
  private(set) var stashed: FetchError?
  private(set) var context: UnsafeMutablePointer<AVIOContext>?

  init(_ bytes: SourceBytes) { self.bytes = bytes }

  /// Makes the AVIOContext.
  ///
  /// `self` must outlive it: call `close()` before letting go.
  ///
  /// - Parameter isSeekable: false makes libavformat read strictly forwards. A demuxer that may
  ///   seek looks for the end of a transport stream or for Matroska's cues before the first packet,
  ///   and would so wait for the whole transfer.
  func open(isSeekable: Bool) throws(FetchError) -> UnsafeMutablePointer<AVIOContext> {
    guard let buffer = av_malloc(Self.bufferSize) else {
      throw AVError(code: cff_error_no_memory).fetchError(.opening, evidence: nil)
    }
    // SAFETY: the callbacks run inside libavformat calls that the remux thread makes while it holds
    // this object; the context is freed by `close()` before the object goes.
    let opaque = Unmanaged.passUnretained(self).toOpaque()
    guard
      let context = avio_alloc_context(
        buffer.assumingMemoryBound(to: UInt8.self), Int32(Self.bufferSize), 0, opaque,
        readSource, nil, isSeekable ? seekSource : nil)
    else {
      av_free(buffer)
      throw AVError(code: cff_error_no_memory).fetchError(.opening, evidence: nil)
    }
    context.pointee.seekable = isSeekable ? AVIO_SEEKABLE_NORMAL : 0
    self.context = context
    position = 0
    return context
  }

  /// Frees the AVIOContext and whatever buffer it has by now.
  func close() {
    guard let open = context else { return }
    av_freep(&open.pointee.buffer)
    avio_context_free(&context)
  }

  deinit { close() }

  /// Rethrows what a callback had to swallow.
  func rethrow() throws(FetchError) {
    if let stashed { throw stashed }
  }

  fileprivate func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Int32 {
    let at = position
    switch availability.answer(at: at, willWait: { bytes.onWait(at) }) {
    case .cancelled:
      return cff_error_exit
    case .end:
      return cff_error_eof
    case .bytes(let run):
      let wanted = Int(min(run, Int64(buffer.count)))
      do throws(FetchError) {
        let piece = UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted])
        let count = try bytes.readOnce(into: piece, at: at)
        position = at + Int64(count)
        furthest = max(furthest, position)
        return Int32(count)
      } catch {
        stashed = stashed ?? error
        return cff_error_io
      }
    }
  }

  fileprivate func seek(to offset: Int64, whence: Int32) -> Int64 {
    switch whence & ~AVSEEK_FORCE {
    case AVSEEK_SIZE:
      return availability.total ?? Int64(cff_error_not_implemented)
    case SEEK_SET where offset >= 0:
      position = offset
    case SEEK_CUR where position.clampedSum(offset) >= 0:
      position = position.clampedSum(offset)
    case SEEK_END:
      // libavformat asks this way too where AVSEEK_SIZE gave nothing, for each packet: no waiting.
      guard let total = availability.total else { return Int64(cff_error_not_implemented) }
      guard total.clampedSum(offset) >= 0 else { return Int64(cff_error_invalid_argument) }
      position = total.clampedSum(offset)
    default:
      return Int64(cff_error_invalid_argument)
    }
    return position
  }
}

private func readSource(
  _ opaque: UnsafeMutableRawPointer?, _ buffer: UnsafeMutablePointer<UInt8>?, _ size: Int32
) -> Int32 {
  guard let opaque, let buffer, size > 0 else { return cff_error_invalid_argument }
  // SAFETY: see `open(isSeekable:)`.
  return Unmanaged<SourceIO>.fromOpaque(opaque)._withUnsafeGuaranteedRef {
    $0.fill(UnsafeMutableRawBufferPointer(start: buffer, count: Int(size)))
  }
}

private func seekSource(
  _ opaque: UnsafeMutableRawPointer?, _ offset: Int64, _ whence: Int32
) -> Int64 {
  guard let opaque else { return Int64(cff_error_invalid_argument) }
  // SAFETY: see `open(isSeekable:)`.
  return Unmanaged<SourceIO>.fromOpaque(opaque)._withUnsafeGuaranteedRef {
    $0.seek(to: offset, whence: whence)
  }
}

/// Polled by libavformat inside long operations; 1 ends them with AVERROR_EXIT.
func interruptSource(_ opaque: UnsafeMutableRawPointer?) -> Int32 {
  guard let opaque else { return 0 }
  // SAFETY: set by the demuxer, which holds the SourceIO for as long as its context lives.
  return Unmanaged<SourceIO>.fromOpaque(opaque)._withUnsafeGuaranteedRef {
    $0.availability.isCancelled ? 1 : 0
  }
}

/// Stands in for `io_open` of both contexts: libavformat opens nothing by itself.
func refuseToOpen(
  _ context: UnsafeMutablePointer<AVFormatContext>?,
  _ result: UnsafeMutablePointer<UnsafeMutablePointer<AVIOContext>?>?,
  _ url: UnsafePointer<CChar>?, _ flags: Int32,
  _ options: UnsafeMutablePointer<OpaquePointer?>?
) -> Int32 {
  cff_error_permission
}
