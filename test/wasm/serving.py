"""A loopback server for pages, and Chromium without a display."""

import contextlib
import functools
import http.server
import shutil
import threading

CHROMIUM = shutil.which("chromium")
SWITCHES = (
    "--no-sandbox --disable-gpu --disable-background-networking --disable-component-update --disable-sync".split()
)


class Plain(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


class Isolated(Plain):
    def end_headers(self):
        # Pages with several threads need these.
        self.send_header("Cross-Origin-Opener-Policy", "same-origin")
        self.send_header("Cross-Origin-Embedder-Policy", "require-corp")
        super().end_headers()


@contextlib.contextmanager
def served(folder, handler=Isolated):
    """The address of a folder."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(handler, directory=folder))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


# WebGPU on SwiftShader, a Vulkan driver for CPUs that is a part of Chromium.
WEBGPU = ("--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader")


@contextlib.contextmanager
def chromium(*switches):
    from playwright import sync_api

    assert CHROMIUM, "the package chromium is missing: `dev/setup wasm` installs it"
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*SWITCHES, *switches])
        yield browser
        browser.close()
