"""An SMTP server on loopback that keeps what it is sent: as much of RFC 5321 as a client that sends needs."""

from __future__ import annotations

import email
import email.policy
import socketserver
import threading
from email.message import EmailMessage


class _Session(socketserver.StreamRequestHandler):
    timeout = 20

    def say(self, text: str) -> None:
        self.wfile.write(text.encode("ascii") + b"\r\n")

    def handle(self) -> None:
        self.say("220 loopback")
        while line := self.rfile.readline():
            word = line.split(b":")[0].strip().upper().split(b" ")[0]
            if word == b"DATA":
                self.say("354 end with a dot on a line of its own")
                lines = iter(self.rfile.readline, b".\r\n")
                data = b"".join(line.removeprefix(b".") if line.startswith(b"..") else line for line in lines)
                self.server.mails.append(email.message_from_bytes(data, policy=email.policy.default))
                self.say("250 taken")
            elif word == b"QUIT":
                self.say("221 bye")
                return
            else:
                self.say("250 loopback" if word in (b"EHLO", b"HELO", b"MAIL", b"RCPT", b"RSET") else "502 not known")


class SmtpServer(socketserver.ThreadingTCPServer):
    """With ``with``: listens on a free port of 127.0.0.1 (``port``); ``mails`` are the messages that came, in order."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Session)
        self.port = self.server_address[1]
        self.mails: list[EmailMessage] = []

    def __enter__(self) -> SmtpServer:
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()
