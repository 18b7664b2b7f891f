#!/bin/bash
# Builds media/.  ffmpeg 5.1 (Debian 12), python3.  facts.txt says what the files hold.
#     ./make.sh            all files, into ./media
#     ./make.sh D03        one group
#     ./make.sh demo       the clip of `make demo`
# shellcheck disable=SC2086  # $V, $A, $X and $E are lists of words on purpose
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=$here/media; mkdir -p "$out"; cd "$out"
ff() { ffmpeg -nostdin -hide_banner -v error -y -threads 1 "$@"; }
V="-f lavfi -i testsrc2=s=160x120:r=25"
A="-f lavfi -i sine=f=440:r=48000"
X="-c:v libx264 -preset veryfast -pix_fmt yuv420p -g 25 -bf 2 -threads 1"
E="-fflags +bitexact -flags +bitexact"
patch() { python3 "$here/patch.py" "$@"; }

#:D01
D01() {
ff $V $A -t 2 -c:v libx265 -preset veryfast -pix_fmt yuv420p \
   -x265-params log-level=none:keyint=25:bframes=2:pools=1:frame-threads=1 \
   -tag:v hev1 -c:a aac -b:a 48k $E -movflags +faststart hevc_hev1.mp4
ff $V $A -t 2 -c:v libx265 -preset veryfast -pix_fmt yuv420p \
   -x265-params log-level=none:keyint=25:bframes=2:pools=1:frame-threads=1 \
   -c:a aac -b:a 48k $E hevc.ts
# parameter sets only in the stream, none in the sample entry
ff $V -t 2 -c:v libx265 -preset veryfast -pix_fmt yuv420p \
   -x265-params log-level=none:keyint=25:repeat-headers=1:pools=1:frame-threads=1 \
   -tag:v hev1 $E -movflags +faststart hevc_inband.mp4
patch empty-hvcc hevc_inband.mp4
}

#:D02
D02() {
ff $V $A -t 2 $X -c:a aac -b:a 48k $E -movflags +faststart plain.mp4
ff -i plain.mp4 -c copy -metadata:s:v:0 rotate=90 $E -movflags +faststart rot90.mp4
cp plain.mp4 mirror.mp4 && patch mirror mirror.mp4        # tkhd matrix -1 0 0 / 0 1 0 / w 0 1
ff $V -t 2 -vf setsar=4/3 $X $E -movflags +faststart sar43.mp4
}

#:D03
D03() {
ff $V -itsoffset 0.7 $A -map 0:v -map 1:a -t 3 $X -c:a aac -b:a 48k \
   -output_ts_offset 5000 -muxdelay 0 $E late_audio.ts
ff -itsoffset 0.5 $V $A -map 0:v -map 1:a -t 3 $X -c:a aac -b:a 48k \
   -output_ts_offset 5000 -muxdelay 0 $E early_audio.ts
ff $V $A -t 2 $X -c:a ac3 -b:a 64k $E ac3.ts
}

#:D05
D05() {
printf '1\n00:00:00,000 --> 00:00:01,000\nx\n\n2\n00:00:01,000 --> 00:00:02,000\ny\n' > d05.srt
ff $V $A -i d05.srt -map 0:v -map 1:a -map 2:s -t 2 $X -c:a aac -b:a 48k -c:s mov_text \
   -timecode 01:00:00:00 $E -movflags +faststart data_tracks.mov
patch text-to-mebx data_tracks.mov                        # subtitle track -> 'meta' / 'mebx'
rm d05.srt
}

#:D06
D06() {
ff -f lavfi -i color=red:s=64x64 -frames:v 1 $E cover.jpg
ff $V $A -i cover.jpg -map 0:v -map 1:a -map 2:v -t 2 $X -c:v:1 copy -disposition:v:1 attached_pic \
   -c:a aac -b:a 48k $E -movflags +faststart cover.mp4
cp cover.mp4 cover_first.mp4 && patch udta-first cover_first.mp4    # picture becomes stream 0
ff $V $A -t 2 $X -c:a aac -b:a 48k -attach cover.jpg -metadata:s:t mimetype=image/jpeg \
   -metadata:s:t filename=cover.jpg $E cover.mkv
rm cover.jpg
}

#:D07
D07() {
ff $V $A -t 4 $X -b:v 150k -c:a aac -b:a 48k $E moov_last.mp4
ff -i moov_last.mp4 -c copy $E -movflags +faststart moov_first.mp4
head -c $(($(stat -c %s moov_last.mp4) * 6 / 10)) moov_last.mp4 > no_moov.mp4
head -c $(($(stat -c %s moov_first.mp4) * 6 / 10)) moov_first.mp4 > cut_mdat.mp4
rm moov_last.mp4
: > empty.mp4
}

#:D08
D08() {
ff $V $A -t 2 -c:v libvpx-vp9 -b:v 80k -g 25 -deadline realtime -cpu-used 8 \
   -c:a libopus -b:a 48k $E vp9_opus.webm
ff $V $A -t 2 -c:v libvpx-vp9 -b:v 80k -g 25 -deadline realtime -cpu-used 8 \
   -c:a aac -b:a 48k $E -f mp4 vp9_named.MOV
}

#:D09
D09() {                              # same length, other content: nothing but a validator tells
ff $V $A -t 4 $X -b:v 250k -c:a aac -b:a 48k $E -movflags +faststart resume_a.mp4
ff -f lavfi -i testsrc=s=160x120:r=25 $A -t 4 $X -b:v 250k -c:a aac -b:a 48k $E \
   -movflags +faststart resume_b.mp4
patch same-size resume_a.mp4 resume_b.mp4
}

#:protected
protected() {                        # common encryption (ISO/IEC 23001-7); the key does not matter
ff -i plain.mp4 -c copy -encryption_scheme cenc-aes-ctr -encryption_key 76a6c65c5ea762046bd749a2e632ccbb \
   -encryption_kid a7e61c373e219033c21091fa607bf3b8 $E -movflags +faststart cenc.mp4
}

#:demo
demo() {                             # a zoom into the Mandelbrot set over a quiet chord; below 1 MiB
ff -f lavfi -i "mandelbrot=s=640x360:r=24:start_scale=2.6:end_scale=0.02:end_pts=240:maxiter=900" \
   -f lavfi -i "sine=f=220:r=48000" -f lavfi -i "sine=f=277.18:r=48000" -f lavfi -i "sine=f=329.63:r=48000" \
   -filter_complex "[1][2][3]amix=inputs=3,volume=0.4[chord]" -map 0:v -map "[chord]" -t 10 \
   -c:v libx264 -preset slow -pix_fmt yuv420p -g 48 -b:v 640k -maxrate 900k -bufsize 900k \
   -c:a aac -b:a 64k -metadata title="vidfetch demo" $E -movflags +faststart demo.mp4
}

for c in ${1:-D01 D02 D03 D05 D06 D07 D08 D09 demo}; do $c; done
