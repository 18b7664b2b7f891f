"""A server of cut bodies on loopback: each path names a body and how it is served.

    length   the body with its own Content-Length, ranges honoured
    chunked  the body in chunks, with the last one
    close    the body without a length; the end of the connection ends it
    early    Content-Length of the whole, and the connection ends where the body does
"""
import http.server
import threading

WAYS = ("length", "chunked", "close", "early")


class Serving:
    """Serves one body at a time; `url(way, name)` says where."""

    def __init__(self):
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_HEAD(self):
                outer.answer(self, False)

            def do_GET(self):
                outer.answer(self, True)

        self.body, self.whole = b"", 0
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def url(self, way, name):
        return "http://127.0.0.1:%d/%s/%s" % (self.server.server_address[1], way, name)

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, request, with_body):
        """One answer, as the first part of the path wants it."""
        way, body = request.path.split("/")[1], self.body
        total = self.whole if way == "early" else len(body)
        start, end, status = 0, total, 200
        wanted = request.headers.get("Range", "")
        if wanted.startswith("bytes=") and way in ("length", "early"):
            first, _, last = wanted[6:].partition("-")
            if first.isdigit():
                start = int(first)
                end = min(int(last) + 1 if last else total, total)
                status = 206 if start < end else 416
        request.send_response_only(status)
        request.send_header("ETag", '"%d-%d"' % (len(body), total))
        if status == 416:
            request.send_header("Content-Range", "bytes */%d" % total)
            request.send_header("Content-Length", "0")
            request.end_headers()
            return
        if way in ("length", "early"):
            request.send_header("Accept-Ranges", "bytes")
            request.send_header("Content-Length", str(end - start))
            if status == 206:
                request.send_header("Content-Range", "bytes %d-%d/%d" % (start, end - 1, total))
        elif way == "chunked":
            request.send_header("Transfer-Encoding", "chunked")
        else:
            request.send_header("Connection", "close")
            request.close_connection = True
        request.end_headers()
        if not with_body:
            return
        try:
            if way == "chunked":
                for at in range(0, len(body), 16384):
                    part = body[at:at + 16384]
                    request.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
                request.wfile.write(b"0\r\n\r\n")
            else:
                request.wfile.write(body[start:end])
        except OSError:
            request.close_connection = True
        if way == "early" and end > len(body):
            request.close_connection = True
