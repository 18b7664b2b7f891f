"""nginx on loopback, or at the far end of a shaped link, with a configuration of its own.

    /NAME             an input
    /throttled/NAME   each request gets 4 MB/s; nginx lets the first second's worth through at once
    /whole/NAME       the same, and ranges are refused
    /many/NAME/N.mp4  the input NAME.mp4 under any number

Over TLS the same stands on a second port, with HTTP/2.
"""
import os
import shutil
import socket
import subprocess
import tempfile
import time

RATE = 4_000_000
CONFIGURATION = """
daemon off; worker_processes 2; pid %(folder)s/pid; error_log %(folder)s/error; %(user)s
events { worker_connections 512; }
http {
  access_log off; sendfile on; tcp_nopush on; keepalive_requests 100000;
  client_body_temp_path %(folder)s/body; proxy_temp_path %(folder)s/proxy;
  fastcgi_temp_path %(folder)s/fastcgi; uwsgi_temp_path %(folder)s/uwsgi;
  scgi_temp_path %(folder)s/scgi;
  types { video/mp4 mp4; video/x-matroska mkv; video/mp2t ts; }
  server {
    listen %(address)s:%(port)d; %(secure)s
    location / { root %(site)s; }
    location /throttled/ { alias %(site)s/; limit_rate %(rate)d; }
    location /whole/ { alias %(site)s/; limit_rate %(rate)d; max_ranges 0; }
    location ~ ^/many/(?<file>[a-z]+)/[0-9]+\\.mp4$ { alias %(site)s/$file.mp4; }
  }
}
"""
SECURE = """
    listen %(address)s:%(secure_port)d ssl http2;
    ssl_certificate %(folder)s/certificate; ssl_certificate_key %(folder)s/key;
"""


def free_ports(count):
    """Ports of loopback that nobody listens at."""
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Server:
    """One nginx for one folder of inputs; `enter` is the command that goes to its namespace."""

    def __init__(self, site, address="127.0.0.1", enter=()):
        self.folder = tempfile.mkdtemp(prefix="vidfetch-bench-")
        self.process = None
        try:
            self.start(site, address, enter)
        except BaseException:
            self.close()
            raise

    def start(self, site, address, enter):
        port, secure_port = free_ports(2)
        self.authority = self.make_certificate(address)
        values = {"folder": self.folder, "site": site, "address": address, "port": port,
                  "secure_port": secure_port, "rate": RATE,
                  "user": "user root;" if os.getuid() == 0 else ""}
        values["secure"] = SECURE % values if self.authority else ""
        path = os.path.join(self.folder, "configuration")
        with open(path, "w") as file:
            file.write(CONFIGURATION % values)
        log = os.path.join(self.folder, "error")
        # A benchmark that is killed leaves no server behind.
        bound = ["setpriv", "--pdeathsig", "TERM"] if shutil.which("setpriv") else []
        self.process = subprocess.Popen(
            [*enter, *bound, "nginx", "-p", self.folder, "-c", path, "-e", log],
            stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 10
        pid = os.path.join(self.folder, "pid")
        while not (os.path.exists(pid) and os.path.getsize(pid)):
            if self.process.poll() is not None or time.monotonic() > deadline:
                with open(log) as file:
                    raise OSError("nginx does not start: " + file.read()[-300:])
            time.sleep(0.01)
        self.base = "http://%s:%d/" % (address, port)
        self.secure_base = "https://%s:%d/" % (address, secure_port) if self.authority else None

    def make_certificate(self, address):
        """A certificate that vouches for itself; its path, or None without openssl."""
        if not shutil.which("openssl"):
            return None
        path = os.path.join(self.folder, "certificate")
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj",
             "/CN=" + address, "-addext", "subjectAltName=IP:" + address, "-keyout",
             os.path.join(self.folder, "key"), "-out", path], check=True,
            stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return path

    def close(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
