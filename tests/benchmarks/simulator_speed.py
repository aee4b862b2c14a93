"""Measure how many calls of 1,000 recipients the simulated provider takes: python -m tests.benchmarks.simulator_speed."""

import argparse
import http.client
import json
import os
import resource
import socket
import subprocess
import sys
import threading
import time
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode, urlsplit

ROOT = Path(__file__).resolve().parents[2]
RECIPIENTS = 1_000
PATH = "/v3/mg.example.com/messages"
Body = tuple[str, bytes]


def pairs(start: int) -> list[tuple[str, str]]:
    """Return a call's fields, but for its recipients."""
    people = range(start, start + RECIPIENTS)
    variables = {
        f"person{n}@example.com": {
            "rid": n,
            "m1": f"Person {n}",
            "m2": f"Person {n} &amp; friends",
            "unsubscribe": f"https://mail.example.com/unsubscribe/{n:043d}/",
        }
        for n in people
    }
    return [
        ("from", "Example Shop <news@mg.example.com>"),
        ("subject", "Hello %recipient.m1%"),
        ("html", "<p>Hello %recipient.m2%</p>" + "<p>Lorem ipsum dolor sit amet.</p>" * 200),
        ("text", "Hello %recipient.m1%\n" + "Lorem ipsum dolor sit amet.\n" * 200),
        ("h:List-Unsubscribe", "<%recipient.unsubscribe%>"),
        ("v:batch", f"batch-{start}"),
        ("v:rid", "%recipient.rid%"),
        ("v:campaign", "1"),
        ("recipient-variables", json.dumps(variables)),
    ]


def urlencoded(start: int) -> Body:
    """Return a call with one comma-separated `to`."""
    to = ",".join(f"person{n}@example.com" for n in range(start, start + RECIPIENTS))
    return "application/x-www-form-urlencoded", urlencode([*pairs(start), ("to", to)]).encode()


def multipart(start: int) -> Body:
    """Return a call with a `to` for each recipient."""
    fields = [*pairs(start), *(("to", f"person{n}@example.com") for n in range(start, start + RECIPIENTS))]
    parts = (
        f'--b\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n' for name, value in fields
    )
    return "multipart/form-data; boundary=b", ("".join(parts) + "--b--\r\n").encode()


def call(connection: http.client.HTTPConnection, body: Body) -> None:
    """Make one call, and insist on its acceptance."""
    token = b64encode(b"api:key").decode()
    connection.request("POST", PATH, body[1], {"Content-Type": body[0], "Authorization": f"Basic {token}"})
    answer = connection.getresponse()
    text = answer.read()
    if answer.status != 200:
        raise SystemExit(f"The simulator answered {answer.status}: {text!r}")


def measure(address: str, *, make: Callable[[int], Body], calls: int, clients: int) -> float:
    """Return calls a second; the bodies are made beforehand."""
    bodies = [make(n * RECIPIENTS) for n in range(min(calls, 50))]

    def client(share: int) -> None:
        connection = http.client.HTTPConnection(address, timeout=60)
        connection.connect()
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for n in range(share):
            call(connection, bodies[n % len(bodies)])
        connection.close()

    threads = [threading.Thread(target=client, args=(calls // clients,)) for _ in range(clients)]
    begin = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return calls // clients * clients / (time.perf_counter() - begin)


def memory(process: int) -> dict[str, int]:
    """Return the resident MiB of a process, now and at its peak."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    sizes = {line.split(":")[0]: int(line.split()[1]) // 1024 for line in lines if line.startswith("Vm")}
    return {"now": sizes["VmRSS"], "peak": sizes["VmHWM"]}


def cpu(process: int) -> float:
    """Return the CPU seconds a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Start the command, measure, print JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=500, help="calls for each form of body (500)")
    parser.add_argument("--clients", type=int, default=2, help="connections at the same time (2)")
    parser.add_argument("--render", action="store_true", help="keep what is needed to show each copy")
    arguments = parser.parse_args()
    command = [sys.executable, "manage.py", "run_simulator", "--port", "0", "--api-key", "key"]
    command += [] if arguments.render else ["--no-render"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        address = urlsplit(process.stdout.readline().split()[3]).netloc
        result: dict[str, object] = {"recipients_a_call": RECIPIENTS, "clients": arguments.clients}
        for make in (urlencoded, multipart):
            before = cpu(process.pid)
            rate = measure(address, make=make, calls=arguments.calls, clients=arguments.clients)
            spent = (cpu(process.pid) - before) / arguments.calls
            result[make.__name__] = {
                "kB": len(make(0)[1]) // 1000,
                "calls_a_second": round(rate, 1),
                "recipients_a_second": round(rate * RECIPIENTS),
                "simulator_cpu_ms_a_call": round(spent * 1000, 2),
            }
        result["memory_MiB"] = memory(process.pid)
        result["client_memory_MiB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        sys.stdout.write(json.dumps(result, indent=2) + "\n")
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    main()
