"""Changed copies of a file: by its bytes, and by its structure where bytes alone would only spoil a checksum."""

import gzip
import io
import json
import warnings
import zipfile

import numpy as np

WORDS = [
    *(b",", b";", b"\t", b"|", b'"', b'""', b"\n", b"\r\n", b"\n\n", b"\0", b"\xff", b"\xef\xbb\xbf", b"\xff\xfe"),
    *(b"{", b"}", b"[", b"]", b":", b'{"x":', b"null", b"true", b"NaN", b"-Infinity", b"\\u0000", b"\\ud800"),
    *(b"1e999", b"-0", b"0x10", b"1_000", b"1,5", b"1.234,5", b"NA", b"9" * 40, b"1e-400", b"2020-01-01", b"'"),
    *(b"\x1b[31m", "\u202e".encode(), b"<script>", b"{{7*7}}", b"=1+1", b"#", b"x" * 300, b"[" * 200, b"PAR1", b"PK"),
    *(b"\x00\x00\x00\x00", b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\x80", b"\x01", b"\x7f\xf8" + bytes(6)),
]
NUMBERS = [
    0,
    1,
    -1,
    2,
    3,
    255,
    2**31 - 1,
    2**31,
    2**53,
    2**63,
    -(2**63),
    10**30,
    0.5,
    1e308,
    -1e308,
    5e-324,
    1e-200,
    1e200,
]
VALUES = [*NUMBERS, float("nan"), float("inf"), None, True, "", "x", "\x1b[31m", [], {}, [[]], ["a", 1], {"a": []}]
DTYPES = ["f8", "f4", "f2", ">f8", "i8", "u8", "i1", "?", "c16", "U3", "S2", "M8[s]", "f8,i4", "V4"]


def mutated(data, name, random):
    """A changed copy of the bytes of a file with that name."""
    if name.endswith(".gz") and random.random() < 0.7:
        try:
            return gzip.compress(changed_bytes(gzip.decompress(data), random), mtime=0)
        except Exception:  # of a damaged file, whatever the reader met
            return changed_bytes(data, random)
    if name.endswith(".npz") and name != "bomb.npz" and random.random() < 0.8:
        return changed_members(data, random)
    if name.endswith(".npy") and random.random() < 0.5:
        return changed_header(data, random)
    return changed_bytes(data, random)


def changed_bytes(data, random):
    """One to four edits: flip, overwrite, insert a word, cut, repeat, swap two parts."""
    data = bytearray(data)
    for _ in range(random.integers(1, 5)):
        at = int(random.integers(0, len(data) + 1))
        end = min(len(data), at + int(random.integers(1, 40)))
        kind = random.integers(0, 7)
        if kind == 0 and at < len(data):
            data[at] ^= 1 << int(random.integers(0, 8))
        elif kind == 1:
            data[at:end] = random.bytes(end - at)
        elif kind == 2:
            data[at:at] = WORDS[random.integers(len(WORDS))]
        elif kind == 3:
            word = WORDS[random.integers(len(WORDS))]
            data[at : at + len(word)] = word
        elif kind == 4:
            del data[at : end if random.random() < 0.8 else len(data)]
        elif kind == 5:
            data[at:at] = data[at:end] * int(random.integers(1, 9))
        else:
            data[at:end] = data[at:end][::-1]
    return bytes(data)


def changed_header(data, random):
    """An array's file of which the header says something else; its length is put right."""
    end = 10 + int.from_bytes(data[8:10], "little")
    if data[:6] != b"\x93NUMPY" or data[6:8] != b"\x01\x00" or end > len(data):
        return changed_bytes(data, random)
    if random.random() < 0.5:
        shape = tuple(int(random.choice([0, 1, 3, 8, 2**31, 2**62])) for _ in range(random.integers(0, 4)))
        dtype = DTYPES[random.integers(len(DTYPES))]
        header = repr({"descr": dtype, "fortran_order": bool(random.integers(2)), "shape": shape}).encode()
    else:
        header = changed_bytes(data[10:end], random)
    version = bytes([int(random.choice([1, 1, 1, 2, 3, 9])), 0])
    size = len(header).to_bytes(2 if version[0] == 1 else 4, "little")
    return data[:6] + version + size + header + data[end:]


def changed_members(data, random):
    """A saved state with another member, header or array, and checksums that are right."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as store:
            members = {name: store.read(name) for name in store.namelist()}
    except Exception:  # of a damaged file, whatever the reader met
        return changed_bytes(data, random)
    names = sorted(members) or ["header.npy"]
    for _ in range(random.integers(1, 3)):
        name = names[random.integers(len(names))]
        kind = random.integers(0, 5)
        if kind == 0:
            members.pop(name, None)
        elif kind == 1:
            members[name] = changed_bytes(members.get(name, b""), random)
        elif kind == 2:
            members[name] = changed_header(members.get(name, b""), random)
        elif kind == 3 and "header.npy" in members:
            members["header.npy"] = _other_json(members["header.npy"], random)
        else:
            members[name] = _other_array(members.get(name, b""), random)
    buffer = io.BytesIO()
    how = zipfile.ZIP_DEFLATED if random.random() < 0.3 else zipfile.ZIP_STORED
    with zipfile.ZipFile(buffer, "w", how) as store:
        for name, member in members.items():
            store.writestr(zipfile.ZipInfo(name), member, how)
    return buffer.getvalue()


def _loaded(data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return np.load(io.BytesIO(data), allow_pickle=False)
        except Exception:  # of a damaged member
            return np.zeros(3)


def _saved(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def _other_array(data, random):
    """The same array with one extreme value, another kind or another shape."""
    array = _loaded(data)
    kind = random.integers(0, 3)
    with np.errstate(all="ignore"):
        if kind == 0 and array.size and array.dtype.kind in "fiu":
            array = array.copy()
            value = NUMBERS[random.integers(len(NUMBERS))]
            try:
                array.flat[random.integers(array.size)] = value
            except (OverflowError, ValueError):
                array = array.astype(float)
                array.flat[0] = float(value)
        elif kind == 1 and array.dtype.kind in "fiu":
            array = array.astype(["f4", "f2", "i8", "i2", "c16", "U4", ">f8"][random.integers(7)])
        elif array.ndim:
            array = [array[..., None], array[:-1], array.T, array.ravel(), array[:0]][random.integers(5)]
    return _saved(array)


def _other_json(data, random):
    """A header with one value or one name changed, or one of its settings."""
    try:
        header = json.loads(_loaded(data).tobytes())
        within = header["settings"] if random.random() < 0.3 else header
        names = sorted(within)
        within[names[random.integers(len(names))]] = VALUES[random.integers(len(VALUES))]
        text = json.dumps(header).encode()
    except (ValueError, TypeError, KeyError, AttributeError):
        text = b"{}"
    return _saved(np.frombuffer(text if random.random() < 0.8 else changed_bytes(text, random), np.uint8))
