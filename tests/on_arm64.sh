#!/bin/sh
# Tests on an arm64 processor that is emulated:
#
#     tests/on_arm64.sh FOLDER [arguments of pytest]
#
# FOLDER becomes a Debian system for arm64, with Python and what the tests need; it is used again by the next run.  Needs root, debootstrap, and
# qemu-user-static with binfmt_misc, so that programs of another processor start like others.  All is some twenty times slower than on a
# processor of one's own: without further arguments, the tests of native code run that take minutes.  Two things can't be seen here: how fast
# code is, and whether threads see each other's writes in order, since the emulator works on this machine's memory.
set -eu
cd "$(dirname "$0")/.."
root=$(realpath -m "$1")
shift
[ $# -gt 0 ] || set -- tests/test_thread_pool.py tests/test_native_vector_math.py tests/test_native.py tests/test_native_gemm.py \
    tests/test_native_rnn.py tests/test_native_attention.py tests/test_native_row_reductions.py tests/test_launcher.py

[ -e "$root/usr/bin/python3" ] || debootstrap --arch=arm64 --variant=minbase --include=python3,python3-venv,ca-certificates bookworm "$root"
cp /etc/resolv.conf "$root/etc/resolv.conf"
inside() { chroot "$root" /usr/bin/env -i HOME=/root PATH=/venv/bin:/usr/bin:/bin "$@"; }
if [ ! -e "$root/venv/.ready" ]; then
    inside python3 -m venv /venv
    inside pip install --quiet numpy ml_dtypes llvmlite onnx pytest hypothesis
    touch "$root/venv/.ready"
fi
mkdir -p "$root/project"
mount --bind -o ro . "$root/project"
mount --bind /proc "$root/proc"
trap 'umount "$root/project" "$root/proc"' EXIT
inside PYTHONPATH=/project PYTHONPYCACHEPREFIX=/root/bytecode sh -c 'cd /project && exec python3 -m pytest -q -p no:cacheprovider "$@"' sh "$@"
