// libavformat's writing side: an AVIOContext over a descriptor, written at offsets of our own so
// that nobody else's file position matters. Lives and dies on the remux thread.

import CFFmpeg
import FetchCore
import Glibc

/// Takes the output's bytes in pieces of `bufferSize`.
///
/// Owned by the remux thread. The descriptor is borrowed.
final class SinkIO {
  static let bufferSize = 256 << 10
  /// How much is written before the kernel is asked to begin putting it on the disk, so that the
  /// final fsync has little left to do.
  private static let writeBackStep: Int64 = 8 << 20

  let descriptor: Int32
  fileprivate var position: Int64 = 0
  /// The end of what was written so far.
  private(set) var size: Int64 = 0
  private(set) var bytesWritten: Int64 = 0
  private(set) var stashed: FetchError?
  private(set) var context: UnsafeMutablePointer<AVIOContext>?
  private var writeBackStart: Int64 = 0
  private let writeBack: WriteBack
  /// What the output will have about, where room is taken ahead of what is written.
  private let expectedSize: Int64?
  private var room = RoomAhead()

  /// - Parameter expectedSize: nil takes no room ahead.
  init(descriptor: Int32, expectedSize: Int64? = nil) {
    self.descriptor = descriptor
    self.expectedSize = expectedSize.flatMap {
      RoomAhead.isWorthIt(for: descriptor) ? $0 : nil
    }
    writeBack = WriteBack(descriptor: descriptor)
  }

  /// Makes the AVIOContext.
  ///
  /// `self` must outlive it: call `close()` before letting go.
  func open() throws(FetchError) -> UnsafeMutablePointer<AVIOContext> {
    guard let buffer = av_malloc(Self.bufferSize) else {
      throw AVError(code: cff_error_no_memory).fetchError(.writing, evidence: nil)
    }
    // SAFETY: the callbacks run inside libavformat calls that the remux thread makes while it holds
    // this object; the context is freed by `close()` before the object goes.
    let opaque = Unmanaged.passUnretained(self).toOpaque()
    guard
      let context = avio_alloc_context(
        buffer.assumingMemoryBound(to: UInt8.self), Int32(Self.bufferSize), 1, opaque,
        nil, writeSink, seekSink)
    else {
      av_free(buffer)
      throw AVError(code: cff_error_no_memory).fetchError(.writing, evidence: nil)
    }
    context.pointee.seekable = AVIO_SEEKABLE_NORMAL
    // Without it the muxer's flush after each packet becomes a system call for each packet.
    context.pointee.min_packet_size = Int32(Self.bufferSize)
    self.context = context
    return context
  }

  /// Frees the AVIOContext; what it still buffers is dropped, so flush first.
  func close() {
    guard let open = context else { return }
    av_freep(&open.pointee.buffer)
    avio_context_free(&context)
  }

  deinit { close() }

  func rethrow() throws(FetchError) {
    if let stashed { throw stashed }
  }

  fileprivate func write(_ bytes: UnsafeRawBufferPointer) -> Int32 {
    if stashed != nil { return cff_error_io }
    takeRoom(count: bytes.count)
    var rest = bytes
    while let base = rest.baseAddress, !rest.isEmpty {
      do throws(SystemError) {
        let count = try retryingInterrupts("pwrite") {
          pwrite(descriptor, base, rest.count, off_t(position))
        }
        position += Int64(count)
        bytesWritten += Int64(count)
        rest = UnsafeRawBufferPointer(rebasing: rest[count...])
      } catch {
        stashed = error.sinkError
        return error.number == ENOSPC ? cff_error_no_space : cff_error_io
      }
    }
    size = max(size, position)
    startWriteBack()
    return Int32(bytes.count)
  }

  private func takeRoom(count: Int) {
    guard let expectedSize, let range = ByteRange(offset: position, count: Int64(count)),
      let ahead = room.next(for: range, size: expectedSize)
    else { return }
    _ = RoomAhead.take(ahead, of: descriptor)
  }

  /// Gives back the room that was taken and isn't needed behind the output's end.
  func giveBackRoom(behind size: Int64) throws(FetchError) {
    guard expectedSize != nil else { return }
    do throws(SystemError) {
      _ = try retryingInterrupts("ftruncate") { ftruncate(descriptor, off_t(size)) }
    } catch {
      throw error.sinkError
    }
  }

  /// Reads back what was written.
  func read(at offset: Int64, count: Int) throws(FetchError) -> [UInt8] {
    var failure: FetchError?
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      do throws(SystemError) {
        filled = try retryingInterrupts("pread") {
          pread(descriptor, buffer.baseAddress, count, off_t(offset))
        }
      } catch {
        failure = error.sinkError
      }
    }
    if let failure { throw failure }
    return bytes
  }

  /// Puts `bytes` at `offset` and ends the output behind them.
  func replaceTail(from offset: Int64, with bytes: [UInt8]) throws(FetchError) {
    position = offset
    _ = bytes.withUnsafeBytes { write($0) }
    try rethrow()
    do throws(SystemError) {
      _ = try retryingInterrupts("ftruncate") { ftruncate(descriptor, off_t(position)) }
    } catch {
      throw error.sinkError
    }
    size = position
  }

  private func startWriteBack() {
    guard position - writeBackStart >= Self.writeBackStep,
      let range = ByteRange(writeBackStart, position)
    else { return }
    writeBack.start(range)
    writeBackStart = position
  }

  fileprivate func seek(to offset: Int64, whence: Int32) -> Int64 {
    switch whence & ~AVSEEK_FORCE {
    case AVSEEK_SIZE:
      return size
    case SEEK_SET where offset >= 0:
      position = offset
    case SEEK_CUR where position.clampedSum(offset) >= 0:
      position = position.clampedSum(offset)
    case SEEK_END where size.clampedSum(offset) >= 0:
      position = size.clampedSum(offset)
    default:
      return Int64(cff_error_invalid_argument)
    }
    return position
  }
}

extension SystemError {
  /// What a failed write means; whoever knows the path names it.
  var sinkError: FetchError {
    switch number {
    case ENOSPC, EDQUOT, EFBIG: fetchError("writing the output")
    default:
      FetchError(
        .localIO, "\(text) while writing the output", reason: "\(call): \(text)",
        recovery: "check the disk and the system log")
    }
  }
}

private func writeSink(
  _ opaque: UnsafeMutableRawPointer?, _ buffer: UnsafeMutablePointer<UInt8>?, _ size: Int32
) -> Int32 {
  guard let opaque, let buffer, size >= 0 else { return cff_error_invalid_argument }
  // SAFETY: see `open()`.
  return Unmanaged<SinkIO>.fromOpaque(opaque)._withUnsafeGuaranteedRef {
    $0.write(UnsafeRawBufferPointer(start: buffer, count: Int(size)))
  }
}

private func seekSink(
  _ opaque: UnsafeMutableRawPointer?, _ offset: Int64, _ whence: Int32
) -> Int64 {
  guard let opaque else { return Int64(cff_error_invalid_argument) }
  // SAFETY: see `open()`.
  return Unmanaged<SinkIO>.fromOpaque(opaque)._withUnsafeGuaranteedRef {
    $0.seek(to: offset, whence: whence)
  }
}
