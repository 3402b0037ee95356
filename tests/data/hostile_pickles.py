"""Fifty pickles that must be refused, and a writer of the genuine form, both assembled by hand.

Each would run a command, build an object it should not, or fill memory when given to an ordinary unpickler.
"""

import struct

PROTO2 = b"\x80\x02"
RECONSTRUCT = b"cnumpy.core.multiarray\n_reconstruct\n"
NDARRAY = b"cnumpy\nndarray\n"
DTYPE = b"cnumpy\ndtype\n"
EMPTY_ARRAY = RECONSTRUCT + NDARRAY + b"K\x00\x85U\x01b\x87R"


def text(value):
    data = value.encode("utf-8", "surrogatepass")
    return b"X" + struct.pack("<I", len(data)) + data


def old_text(value):
    """A Python 2 str, which Python 3 reads as bytes or latin-1 text."""
    if len(value) < 256:
        return b"U" + bytes([len(value)]) + value
    return b"T" + struct.pack("<i", len(value)) + value


def number(value):
    return b"J" + struct.pack("<i", value)


def call(function, *arguments):
    return function + b"(" + b"".join(arguments) + b"tR"


def named(module, name):
    return f"c{module}\n{name}\n".encode()


def dtype(code=b"u1", order=b"|"):
    state = b"(K\x03" + old_text(order) + b"NNN" + number(-1) + number(-1) + b"K\x00tb"
    return DTYPE + old_text(code) + b"K\x00K\x01\x87R" + state


def array(shape, content, kind=None):
    """A uint8 array as Python 2 and numpy wrote it."""
    sides = b"(" + b"".join(number(side) for side in shape) + b"t"
    return EMPTY_ARRAY + b"(K\x01" + sides + (kind or dtype()) + b"\x89" + old_text(content) + b"tb"


def numbers(values):
    return b"](" + b"".join(number(value) for value in values) + b"e"


def batch(entries):
    """A genuine batch: protocol 2, Python 2 text as keys, values already written."""
    body = b"".join(old_text(key) + value for key, value in entries.items())
    return PROTO2 + b"}(" + body + b"u."


def in_batch(value):
    """A malicious value in place of the labels."""
    return batch({b"data": array((1, 3), b"abc"), b"labels": value})


def hostile(sentinel):
    """Name to pickle; those that run a command would create the file ``sentinel``."""
    return _commands(sentinel) | _builders(sentinel) | _arrays() | _memory()


def _commands(sentinel):
    shell, code = text(f"touch {sentinel}"), text(f"open({str(sentinel)!r}, 'w').close()")
    nested = call(
        named("builtins", "getattr"), call(named("builtins", "__import__"), text("os")), text("system")
    )
    lookup = text("os") + text("system") + b"\x93"
    return {
        "os.system": PROTO2 + call(named("os", "system"), shell) + b".",
        "posix.system": PROTO2 + call(named("posix", "system"), shell) + b".",
        "os.system in a batch": in_batch(call(named("os", "system"), shell)),
        "os.system protocol 0": f"cos\nsystem\n(S'touch {sentinel}'\ntR.".encode(),
        "os.system STACK_GLOBAL": b"\x80\x04" + lookup + b"(" + shell + b"tR.",
        "os.system INST": PROTO2 + b"(" + shell + b"ios\nsystem\n.",
        "os.system OBJ": PROTO2 + b"(" + named("os", "system") + shell + b"o.",
        "os.popen": PROTO2 + call(named("os", "popen"), shell) + b".",
        "subprocess.call": PROTO2 + call(named("subprocess", "getoutput"), shell) + b".",
        "builtins.eval": PROTO2 + call(named("builtins", "eval"), code) + b".",
        "builtins.exec": PROTO2 + call(named("builtins", "exec"), code) + b".",
        "python 2 eval": PROTO2 + call(named("__builtin__", "eval"), code) + b".",
        "nested reduce": PROTO2 + call(nested, shell) + b".",
        "runpy": PROTO2 + call(named("runpy", "run_path"), text(str(sentinel))) + b".",
        "torch.hub": PROTO2 + call(named("torch.hub", "load"), text("someone/repo"), text("model")) + b".",
        "torch.load": PROTO2 + call(named("torch", "load"), text(str(sentinel))) + b".",
        "numpy testing": PROTO2 + call(named("numpy.testing._private.utils", "runstring"), code, b"}") + b".",
        "numpy load": PROTO2 + call(named("numpy", "load"), text(str(sentinel)), b"N\x88") + b".",
        "numpy memmap": PROTO2
        + call(named("numpy", "memmap"), text(str(sentinel)), text("u1"), text("w+"))
        + b".",
        "pickle.loads": PROTO2 + call(named("pickle", "loads"), old_text(b"cos\nsystem\n.")) + b".",
        "dotted name": b"\x80\x04" + text("numpy") + text("ndarray.tofile") + b"\x93.",
        "timeit": PROTO2 + call(named("timeit", "timeit"), code) + b".",
    }


def _builders(sentinel):
    command = call(named("os", "system"), text(f"touch {sentinel}"))
    reduce_key = batch({b"data": array((1, 3), b"abc")})[:-2] + command + b"K\x01u."
    return {
        "persistent id": PROTO2 + b"Psomething\n.",
        "binary persistent id": PROTO2 + text("something") + b"Q.",
        "extension registry 1": PROTO2 + b"\x82\x01.",
        "extension registry 4": PROTO2 + b"\x84" + struct.pack("<i", 70000) + b".",
        "copyreg rebuild": PROTO2
        + call(
            named("copyreg", "_reconstructor"), named("builtins", "object"), named("builtins", "object"), b"N"
        )
        + b".",
        "NEWOBJ": PROTO2 + named("numpy", "ndarray") + number(3) + b"\x85\x81.",
        "NEWOBJ_EX": b"\x80\x04" + named("numpy", "ndarray") + number(3) + b"\x85}\x92.",
        "BUILD on a dict": PROTO2 + b"}}" + text("__class__") + b"K\x01sb.",
        "BUILD on a list": PROTO2 + b"]}b.",
        "BUILD on a name": PROTO2 + NDARRAY + b"}" + text("tofile") + b"K\x01sb.",
        "command as a key": reduce_key,
        "a name as a value": in_batch(DTYPE),
        "a float": in_batch(b"G" + struct.pack(">d", 1.0)),
        "nested lists": in_batch(b"](](](K\x01eee"),
        "a set": b"\x80\x04\x8f(K\x01\x90.",
        "out-of-band buffer": b"\x80\x05\x97.",
    }


def _arrays():
    huge = number(2**31 - 1) * 2
    return {
        "object array": in_batch(array((1,), b"12345678", dtype(b"O8"))),
        "void array": in_batch(array((1,), b"x", dtype(b"V1000000000"))),
        "ndarray called": in_batch(call(NDARRAY, b"(" + huge + b"t")),
        "allocated at rebuild": in_batch(call(RECONSTRUCT, NDARRAY, b"(" + huge + b"t", old_text(b"b"))),
        "shape larger than content": in_batch(array((2**31 - 1, 2**31 - 1), b"abc")),
        "negative shape": in_batch(array((-1, -3), b"abc")),
        "structured dtype": in_batch(
            DTYPE
            + old_text(b"u1")
            + b"K\x00K\x01\x87R(K\x03"
            + old_text(b"|")
            + b"N("
            + text("f")
            + b"t}JJJJJJJJK\x00tb"
        ),
    }


def _memory():
    doubled = b"(K\x01t" + b"".join(b"q" + bytes([i]) + b"h" + bytes([i]) + b"\x86" for i in range(60))
    encoded_again = named("_codecs", "encode") + b"h\x01" + text("latin1") + b"\x86R"
    return {
        "memo index 2**31": PROTO2 + b"}r" + struct.pack("<I", 2**31) + b".",
        "declared bytes": PROTO2 + b"\x8e" + struct.pack("<Q", 2**40) + b"abc.",
        "declared text": PROTO2 + b"T" + struct.pack("<i", 2**31 - 1) + b"abc.",
        "tuples doubled 60 times": in_batch(doubled),
        "text used again": PROTO2 + b"}(" + text("x" * 5000) + b"q\x01K\x01" + encoded_again * 20 + b"u.",
    }
