"""A browser without a window, driven by the commands of W3C's WebDriver."""

import json
import re
import subprocess
import urllib.request

KEYS = {  # as WebDriver has them
    "Tab": "\ue004",
    "Enter": "\ue007",
    "Escape": "\ue00c",
    "Left": "\ue012",
    "Up": "\ue013",
    "Right": "\ue014",
    "Down": "\ue015",
}
ARGUMENTS = (
    "headless=new",
    "no-sandbox",
    "disable-dev-shm-usage",
    "window-size=1000,900",
)


class Browser:
    """Chromium with a page.

    Args:
        chromium, driver: The paths of the browser and of chromedriver.
    """

    def __init__(self, chromium, driver):
        self.process = subprocess.Popen(
            [driver, "--port=0"], stdout=subprocess.PIPE, text=True
        )
        try:
            self.address = f"http://127.0.0.1:{self._port()}/session"
            options = {"binary": chromium, "args": [f"--{x}" for x in ARGUMENTS]}
            wanted = {
                "goog:chromeOptions": options,
                "goog:loggingPrefs": {"browser": "ALL"},
            }
            session = self.post("", capabilities={"alwaysMatch": wanted})
        except BaseException:
            self._stop()
            raise
        self.address += f"/{session['sessionId']}"

    def _port(self):
        for line in self.process.stdout:
            if found := re.search(r"successfully on port (\d+)", line):
                return found[1]
        raise RuntimeError("chromedriver has not started")

    def _stop(self):
        self.process.terminate()
        self.process.wait(30)
        self.process.stdout.close()

    def post(self, command, **body):
        request = urllib.request.Request(
            self.address + command,
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["value"]

    def open(self, url):
        self.post("/url", url=url)

    def enter_frame(self, number):
        self.post("/frame", id=number)

    def run(self, script, *arguments):
        """Returns what a script of the page returns."""
        return self.post("/execute/sync", script=script, args=list(arguments))

    def point_at(self, selector, number=0, x=0.5, y=0.5):
        """Moves the mouse to a place in an element, 0 to 1 of its width and height."""
        place = self.run(
            "const all = document.querySelectorAll(arguments[0]);"
            "const box = all[arguments[1]].getBoundingClientRect();"
            "return [box.x + box.width * arguments[2],"
            " box.y + box.height * arguments[3]];",
            *(selector, number, x, y),
        )
        across, down = (round(value) for value in place)
        self._act("pointer", {"type": "pointerMove", "x": across, "y": down})

    def click(self):
        self._act(
            "pointer",
            {"type": "pointerDown", "button": 0},
            {"type": "pointerUp", "button": 0},
        )

    def press(self, *keys):
        for key in keys:
            value = KEYS.get(key, key)
            self._act(
                "key",
                {"type": "keyDown", "value": value},
                {"type": "keyUp", "value": value},
            )

    def prefer(self, scheme):
        """Sets whether pages should be `"light"` or `"dark"`."""
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.post(
            "/goog/cdp/execute",
            cmd="Emulation.setEmulatedMedia",
            params={"features": [feature]},
        )

    def complaints(self):
        """Returns the errors and warnings of the page since the last call."""
        return [x["message"] for x in self.post("/se/log", type="browser")]

    def close(self):
        request = urllib.request.Request(self.address, method="DELETE")
        urllib.request.urlopen(request, timeout=60).close()
        self._stop()

    def _act(self, kind, *actions):
        self.post("/actions", actions=[{"type": kind, "id": kind, "actions": actions}])
