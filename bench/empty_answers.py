"""Answers HTTPS requests with nothing to think about: `python -m bench.empty_answers PORT PEM` until it is ended.

What it takes is what TLS, HTTP, the loop and the machine take; `bench.admission` measures it beside the webhook.
"""

import ssl
import sys

from aiohttp import web

from bench.load import EMPTY_PATH
from heartbeat_tuner.webhook.admission import review
from sandbox.network import LOOPBACK


async def _answer(request: web.Request) -> web.Response:
    await request.read()
    return web.json_response(review.answer("0"))


def main() -> None:
    """Answer at a port of this machine, with the certificate and key of a file."""
    port, pem = sys.argv[1:]
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(pem)
    app = web.Application()
    app.add_routes([web.post(EMPTY_PATH, _answer)])
    web.run_app(app, host=LOOPBACK, port=int(port), ssl_context=context, access_log=None, print=None)


if __name__ == "__main__":
    main()
