"""The seeds of the fuzzing, kept in the repository: ``python -m tests.fuzz.corpus`` writes those that are made here.

Names tell what is in a file; one that begins with ``found`` once broke something and is never written anew.
"""

import gzip
import io
import json
import pickle
import sys
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

FOLDER = Path(__file__).parent / "corpus"


class Trap:
    """Unpickled, it ends the process with an exception that nobody catches by mistake."""

    def __reduce__(self):
        return sys.exit, ("code from a file was run",)


def seeds(target):
    """The files of a target; what is text to a reader is text to the other as well."""
    return sorted(path for path in (FOLDER / target).iterdir() if path.is_file())


def written():
    """Every file of the corpus that is made here, by its path below the folder."""
    return {f"reader/{name}": data for name, data in readers().items()} | {
        f"{folder}/{name}": data
        for folder, files in (("state", states()), ("profile", profiles()))
        for name, data in files.items()
    }


def readers():
    rows = "\n".join(f"{i / 8},{-i},word{i % 3}" for i in range(12))
    plain = f"x,y,city\n{rows}\n".encode()
    lines = "".join(json.dumps({"x": i / 8, "y": None if i == 3 else -i, "city": "Ulm"}) + "\n" for i in range(8))
    table = pa.table({"x": np.arange(20.0), "y": np.arange(20), "city": ["Ulm", None] * 10, "flag": [True, False] * 10})
    numbers, small = npy(np.arange(24.0).reshape(8, 3)), parquet(table, compression="none")
    return {
        "plain.csv": plain,
        "plain.csv.gz": gzip.compress(plain, mtime=0),
        "numbers.csv": b"x,y\n1,2.5\n-3,4e2\n,.5\n7,8\n",
        "numbers.jsonl": b'{"x": 1, "y": -2.5}\n{"x": 3}\n{"y": 1e3, "x": 0}\n',
        "numbers.parquet": parquet(pa.table({"x": [1.5, None, 3.0], "t": [1, 2, 2**60]})),
        "kinds.parquet": parquet(kinds()),
        "comma.csv": b"a;b;c\r\n1,5;-2;x\r\n,25;3e2;y\r\n0,5;7;z\r\n",
        "quoted.csv": '\ufeff"a ""b""",c\n"1",2\n"line\nbreak",3\n'.encode(),
        "ragged.csv": b"a,b\n1,2\n3\n4,5,6\n",
        "tabs.txt": b"a\tb|c\n1\t2\n",
        "plain.jsonl": lines.encode(),
        "nested.jsonl": b'{"a": {"b": [1, {"c": []}]}, "d": 1e999}\n{"a": null, "d": "1"}\n',
        "plain.parquet": parquet(table),
        "raw.parquet": small,
        "tail.parquet": small[:-9],
        "cut.parquet": small[:4] + small[-90:],
        "plain.npy": numbers,
        "line.npy": npy(np.arange(5, dtype=np.int16)),
        "cut.npy": numbers[:-8],
        "objects.npy": npy(np.array([Trap(), None], dtype=object)),
        "huge.npy": numbers.replace(b"(8, 3), }        ", b"(8, 300000000), }"),
    }


def kinds():
    """One column of each kind that Parquet may hold."""
    many = {
        "small": pa.array([1, 2, 3], pa.int8()),
        "date": pa.array([1, 2, 3], pa.date32()),
        "clock": pa.array([1, 2, 3], pa.timestamp("us", "UTC")),
        "lasts": pa.array([1, 2, 3], pa.duration("ns")),
        "money": pa.array([1, 2, None], pa.decimal128(5, 2)),
        "bytes": pa.array([b"a", b"\xff", None]),
        "word": pa.array(["a", "b", "a"]).dictionary_encode(),
        "list": pa.array([[1], [], None]),
        "pair": pa.array([{"a": 1}, {"a": None}, None]),
        "none": pa.nulls(3),
    }
    return pa.table(many)


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def parquet(table, **more):
    buffer = io.BytesIO()
    pq.write_table(table, buffer, **more)
    return buffer.getvalue()


def opened(whole):
    """The arrays of a file of arrays and a header, and a function that writes the same file with another header."""
    with np.load(io.BytesIO(whole)) as store:
        arrays = dict(store)
    header = json.loads(arrays["header"].tobytes())

    def with_header(**more):
        return npz(arrays | {"header": np.frombuffer(json.dumps(header | more).encode(), np.uint8)})

    return arrays, with_header


def states():
    whole = monitor()
    arrays, with_header = opened(whole)
    return {
        "plain.npz": whole,
        "cut.npz": whole[: len(whole) // 2],
        "pickle.npz": pickle.dumps(Trap()),
        "objects.npz": npz(arrays | {"sums": np.array([Trap(), None], dtype=object)}),
        "nan.npz": npz(arrays | {"turn": np.full_like(arrays["turn"], np.nan)}),
        "shape.npz": npz(arrays | {"sums": arrays["sums"].T}),
        "future.npz": with_header(schema=9, version="99"),
        "window.npz": with_header(window=10**30),
        "empty.npz": npz({}),
        "bomb.npz": bomb(arrays),
    }


def profiles():
    whole = small_profile()
    arrays, with_header = opened(whole)
    return {
        "plain.npz": whole,
        "cut.npz": whole[: len(whole) // 2],
        "pickle.npz": pickle.dumps(Trap()),
        "objects.npz": npz(arrays | {"sums": np.array([Trap(), None], dtype=object)}),
        "shape.npz": npz(arrays | {"levels_0": arrays["levels_0"].T}),
        "future.npz": with_header(schema=9, version="99"),
        "rows.npz": with_header(n=10**30),
        "seed.npz": with_header(seed=10**30),
        "width.npz": with_header(widths=[5e-324] * 3),
        "far.npz": npz(
            arrays | {"cells_0": np.where(arrays["cells_0"] == arrays["cells_0"][-1, 0], 1, arrays["cells_0"])}
        ),
        "bomb.npz": npz(
            arrays | {"cells_0": np.zeros((3 << 20, 1))}, compress_type=zipfile.ZIP_DEFLATED, compresslevel=9
        ),
    }


def small_profile():
    from densdiff import profile

    random = np.random.default_rng(0)
    number = np.where(np.arange(50) % 7, random.normal(size=50), np.nan)
    made = profile({"number": number, "word": random.choice(["u", "v"], 50).astype(object)}, random_state=0)
    path = Path(FOLDER, "profile", ".made")
    path.parent.mkdir(exist_ok=True)
    made.save(path)
    try:
        with np.load(path) as store:
            return npz(dict(store))  # without the clock of its members
    finally:
        path.unlink()


def monitor():
    from densdiff import LSDD, ChangeMonitor

    random = np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a reference so short has its note
        small = LSDD(solver="centers", n_centers=4)
        found = ChangeMonitor(random.normal(size=(30, 2)), window=3, run_length=20, model=small, random_state=0)
    found.update_many(random.normal(size=(7, 2)))
    path = Path(FOLDER, "state", ".made")
    found.save(path)
    try:
        return path.read_bytes()
    finally:
        path.unlink()


def npz(arrays, **more):
    """As `numpy.savez`, without its clock."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as store:
        for name, array in arrays.items():
            store.writestr(zipfile.ZipInfo(f"{name}.npy"), npy(np.asarray(array)), **more)
    return buffer.getvalue()


def bomb(arrays):
    """A state of some kilobytes with an array that is 24 MiB once unpacked, more than the targets allow."""
    return npz(arrays | {"rest": np.zeros((3 << 20, 1))}, compress_type=zipfile.ZIP_DEFLATED, compresslevel=9)


def main():
    for name, data in written().items():
        (FOLDER / name).write_bytes(data)
    print(f"{len(written())} files in {FOLDER.name}")


if __name__ == "__main__":
    main()
