"""A process that may not change priorities, as in some containers and services: seccomp refuses the
system call. `python -m support.forbidden` hashes and checks a password in it."""

import asyncio
import ctypes
import os
import platform
import struct

from kurz.people.passwords import Passwords

_NUMBERS = {"x86_64": 141, "aarch64": 140}  # of setpriority
_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 38, 22, 2  # of prctl
_LOAD, _IS_EQUAL, _RETURN = 0x20, 0x15, 0x06  # of the filter's machine
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050001  # with EPERM


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def forbid_priorities() -> None:
    """For this process, until it ends."""
    steps = [
        (_LOAD, 0, 0, 0),  # the number of the call
        (_IS_EQUAL, 0, 1, _NUMBERS[platform.machine()]),
        (_RETURN, 0, 0, _REFUSE),
        (_RETURN, 0, 0, _ALLOW),
    ]
    program = _Program(len(steps), b"".join(struct.pack("HBBI", *step) for step in steps))
    libc = ctypes.CDLL(None, use_errno=True)
    for arguments in (
        (_NO_NEW_PRIVILEGES, 1, 0, 0, 0),
        (_SECCOMP, _FILTER, ctypes.byref(program), 0, 0),
    ):
        if libc.prctl(*arguments):
            raise OSError(ctypes.get_errno(), "prctl")


async def main() -> None:
    forbid_priorities()
    try:
        os.setpriority(os.PRIO_PROCESS, 0, 10)
    except PermissionError:
        print("forbidden")
    passwords = Passwords(cost=4)
    hashed = await passwords.hash("correct horse battery staple")
    print(await passwords.verify("correct horse battery staple", hashed))
    passwords.close()


if __name__ == "__main__":
    asyncio.run(main())
