# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2119,SC2120,SC2154
#
# What the tests of the pages share: a browser that is there, a world to look at, and `muster web` in front of it.
#
# Sourced after ../cli/lib.sh. Without Chromium, its driver or Selenium the test is skipped, and says so.

# The first python3 that has Selenium: the first in the path may be another one than Debian's.
find_python() {
    local one
    for one in python3 /usr/bin/python3; do
        if "$one" -c 'import selenium' 2>/dev/null; then
            echo "$one"
            return
        fi
    done
}

python=$(find_python)
if [[ -z $python ]] || ! command -v chromium >/dev/null || ! command -v chromedriver >/dev/null; then
    echo "skipped: it needs chromium, chromium-driver and python3-selenium: scripts/packages.sh browser" >&2
    exit 77
fi

# start_web [OPTION...]: serves the pages at $url
start_web() {
    start web "$MUSTER" web --listen 127.0.0.1:0 "$@"
    wait_for says web 'http://127.0.0.1:'
    # shellcheck disable=SC2034 # the tests use it
    url=$(grep -oE 'http://127\.0\.0\.1:[0-9]+' "$tmp/web.err" | head -n 1)
}

# browse SCRIPT [ARGUMENT...]: runs a test of the pages in the browser; what it says is what failed
browse() {
    local script=$1
    shift
    HOME=$tmp TMPDIR=$tmp PYTHONDONTWRITEBYTECODE=1 "$python" \
        "$(dirname "$0")/$script" "$@" >&"$messages" 2>&1 || fail "$script found something: see above"
}

# fill_world: a bit of everything that a page can show
fill_world() {
    local i process
    {
        start worker "$MUSTER" work mail --id worker-1 -c 2 -- sleep 600
        wait_for says worker 'takes tasks'
        printf '{"to":"user%s@example.org","n":[1,2,{"deep":true}]}\n' {1..120} | "$MUSTER" enqueue mail
        "$MUSTER" enqueue hostile '<script>document.title="owned"</script>' '<img src=x onerror="document.title=1">'
        "$MUSTER" enqueue '<b>bold</b>' 'task'
        "$MUSTER" enqueue $'turned\xe2\x80\xaequeue' 'task'
        printf '\x00\x01\xff binary \x80\x07' | "$MUSTER" enqueue binary --whole
        "$MUSTER" enqueue reports march april
        "$MUSTER" pause reports
        "$MUSTER" enqueue exports 'export 2025' 'export 2024'
        process=$("$MUSTER" take exports --lease 1h | cut -f1)
        "$MUSTER" extend "$process" --lease 1h --progress '<i>3 of 7</i>'
        for i in {1..6}; do
            "$MUSTER" enqueue bounce "to $i"
            process=$("$MUSTER" take bounce --lease 1h | cut -f1)
            "$MUSTER" fail "$process" --group "group-$((i % 2))" --message "<script>document.title='$i'</script>"
        done
        "$MUSTER" put print --id scan '{"parcel":17}' --tag order-17 --tag '<u>tag</u>'
        "$MUSTER" put print --id pack 'parcel 17' --after scan --tag order-17
        "$MUSTER" put print --id label 'label 17' --after pack
        "$MUSTER" put print --id notify 'mail 17' --after pack
        "$MUSTER" put print --id ship 'ship 17' --after label --after notify
        "$MUSTER" put print --id '<s>job</s>' 'text' --tag order-17
        "$MUSTER" put print --id later 'later' --delay 1h
        "$MUSTER" put print --id clock 'tick' --cron '0 3 1 1 *' --zone Asia/Tokyo --overlap skip
        "$MUSTER" enqueue slow tortoise
        "$MUSTER" retry "$("$MUSTER" take --lease 1h slow | cut -f 1)" --delay 1h
        "$MUSTER" put ledger --id booking-1 'one' --retries 0
        process=$("$MUSTER" take ledger --lease 1h | cut -f1)
        "$MUSTER" fail "$process" --group unbalanced --message 'debit is not credit'
        "$MUSTER" put ledger --id closing-1 'close' --after booking-1
        "$MUSTER" put ledger --id booking-2 'two'
        process=$("$MUSTER" take ledger --lease 1h | cut -f1)
        "$MUSTER" finish "$process" --result '{"ok":true}'
        "$MUSTER" batch open night --on-end notify --on-failure alarm
        "$MUSTER" put ledger --id night-1 'three' --batch night
        "$MUSTER" batch open '<u>inner</u>' --batch night
        "$MUSTER" batch open over
        "$MUSTER" batch close over
    } >"$tmp/world.out"
}
