#!/bin/sh
# Report to Headrace what a job did: one file for any POSIX shell; only needs curl.
#
# As a command, or, after `. ./headrace.sh`, as functions of a wrapper:
#
#   headrace.sh dataset ops/raw_flights version=2013-01-01 row_count=842    headrace_dataset ops/raw_flights ...
#   headrace.sh process LOAD_FLIGHTS SUCCESS business_date=2013-01-01       headrace_process LOAD_FLIGHTS ...
#   headrace.sh run -- /opt/jobs/load_flights.sh -d 2013-01-01              headrace_run -- ...
#   headrace.sh flush                                                       headrace_flush
#
# FACT=VALUE is text, or a number if required; FACT:=JSON is sent unchanged.
# Reports are sent to HEADRACE_URL (http://host:3200), or written to the folder HEADRACE_COMPLETIONS. Undelivered reports
# are kept in HEADRACE_SPOOL and delivered by a later call. HEADRACE_TOKEN is the token of the run, or of a service.
# Reporting never fails a job: a call takes at most HEADRACE_TIMEOUT seconds (3), writes errors to stderr in one line, and
# exits with 0; run exits like its command.

# Each runs in a subshell, so that its variables and the caller's `set -e` do not affect each other.

headrace_dataset() { # NAME [FACT=VALUE...]
    (_headrace_plainly && _headrace_dataset "$@") || :
}

headrace_process() { # NAME STATUS [FACT=VALUE...]
    (_headrace_plainly && _headrace_process "$@") || :
}

headrace_flush() {
    (_headrace_plainly && _headrace_flush) || :
}

headrace_run() { # [FACT=VALUE...] -- COMMAND...
    (_headrace_plainly && _headrace_run "$@")
}

_headrace_plainly() {
    set +e +u +f +C
    IFS=' 	
'
    _headrace_newline='
'
    _headrace_number=0
    _headrace_body=
}

_headrace_main() {
    _headrace_plainly
    case ${1-} in
        run)
            shift
            _headrace_run "$@"
            ;;
        dataset | process | flush)
            "_headrace_$@"
            return 0
            ;;
        *)
            _headrace_usage
            return 0
            ;;
    esac
}

_headrace_usage() {
    _headrace_complain "usage: headrace.sh dataset NAME [FACT=VALUE...] | process NAME STATUS [FACT=VALUE...] | flush" \
        "| run [FACT=VALUE...] -- COMMAND..."
}

_headrace_dataset() {
    if [ $# -eq 0 ]; then
        _headrace_usage
        return
    fi
    _headrace_name=$1
    shift
    # The surrounding job is metadata: writing a dataset does not mean that it has ended.
    case "${AUTO_JOB_NAME:+job} $*" in
        " "* | *" process="* | *" metadata:="*) ;;
        *)
            _headrace_job=$(printf '"job": "%s", "instance": "%s", "run": "%s"' "$(_headrace_bare "$AUTO_JOB_NAME")" \
                "$(_headrace_bare "${AUTOSERV-}")" "$(_headrace_bare "${AUTORUN-}")")
            set -- "metadata:={$_headrace_job}" "$@"
            ;;
    esac
    _headrace_report "dataset=$_headrace_name" status=SUCCESS "$@"
}

# Names must not contain quotes and backslashes, which would break the document.
_headrace_bare() {
    printf '%s' "$1" | tr -d '"\\'
}

_headrace_process() {
    if [ $# -lt 2 ]; then
        _headrace_usage
        return
    fi
    _headrace_name=$1
    _headrace_status=$2
    shift 2
    if [ "$_headrace_name" = "${AUTO_JOB_NAME-}" ]; then
        set -- technology=AUTOSYS "instance=${AUTOSERV-}" "run=${AUTORUN-}" "$@"
    fi
    _headrace_report "process=$_headrace_name" "status=$_headrace_status" "$@"
}

_headrace_flush() {
    _headrace_count
    while [ "$_headrace_waiting" -gt 0 ]; do
        _headrace_before=$_headrace_waiting
        _headrace_deliver
        _headrace_count
        [ "$_headrace_waiting" -lt "$_headrace_before" ] || break
    done
}

# --- a command that is run -------------------------------------------------------------------------------------------

# The command runs in the background, since a shell handles signals only while it waits; and in its process group.
_headrace_run() {
    _headrace_most=0
    _headrace_program=
    _headrace_seen=
    for _headrace_word in "$@"; do
        if [ -n "$_headrace_seen" ]; then
            _headrace_program=$_headrace_word
            break
        fi
        case $_headrace_word in
            --) _headrace_seen=yes ;;
            max_exit_success=*) _headrace_most=${_headrace_word#*=} ;;
        esac
    done
    if [ -z "$_headrace_program" ]; then
        _headrace_usage
        return 2
    fi
    _headrace_reset=
    if env --default-signal=INT,QUIT true 2>/dev/null; then _headrace_reset=yes; fi
    _headrace_log_place
    _headrace_unique
    _headrace_started=$(_headrace_now)
    _headrace_clock=$(date +%s)
    set -- "machine=$(uname -n)" "log=$_headrace_log" "started_at=$_headrace_started" "$@"
    if [ -n "${AUTO_JOB_NAME-}" ]; then
        set -- "process=$AUTO_JOB_NAME" technology=AUTOSYS "instance=${AUTOSERV-}" "run=${AUTORUN:-$_headrace_id}" "$@"
    else
        set -- "process=${_headrace_program##*/}" technology=SHELL "run=$_headrace_id" "$@"
    fi
    _headrace_kept=
    if _headrace_keep status=RUNNING "at=$_headrace_started" "$@"; then _headrace_kept=yes; fi

    # No $(...) from here to the end of the command: bash 5.2 aborts if a trap runs while it reads one.
    _headrace_child=
    _headrace_early=
    for _headrace_signal in HUP INT QUIT TERM USR1 USR2 CONT ALRM; do
        # shellcheck disable=SC2064 # expanded now
        trap "_headrace_pass_on $_headrace_signal" "$_headrace_signal"
    done
    if (: <&0) 2>/dev/null; then
        { _headrace_start "$@" <&9 9<&- & } 9<&0
    else
        _headrace_start "$@" &
    fi
    _headrace_child=$!
    for _headrace_signal in $_headrace_early; do _headrace_pass_on "$_headrace_signal"; done
    _headrace_delivery=
    if [ -n "$_headrace_kept" ]; then
        _headrace_deliver </dev/null >/dev/null 2>&1 &
        _headrace_delivery=$!
    fi
    _headrace_code=
    _headrace_signalled=yes
    while [ -n "$_headrace_signalled" ]; do # a signal ends the waiting, and not the command
        _headrace_signalled=
        wait "$_headrace_child" 2>/dev/null
        _headrace_waited=$?
        # 127 for an earlier waited process means that there is nothing to wait for.
        if [ -z "$_headrace_code" ] || [ "$_headrace_waited" -ne 127 ]; then _headrace_code=$_headrace_waited; fi
    done
    # After a signal some shells return 256 or 384 plus the signal; all others, and callers, use 128.
    if [ "$_headrace_code" -gt 256 ]; then _headrace_code=$((_headrace_code % 128 + 128)); fi
    trap '' HUP INT QUIT TERM USR1 USR2 CONT ALRM # what is left takes seconds, and the exit code is the command's

    if [ -n "$_headrace_delivery" ]; then # the start is kept, and goes with the end
        kill "$_headrace_delivery" 2>/dev/null
        wait "$_headrace_delivery" 2>/dev/null
    fi
    _headrace_reason=
    _headrace_status=FAILURE
    case $_headrace_code in
        129 | 130 | 131 | 137 | 143)
            _headrace_status=TERMINATED
            _headrace_reason="ended by signal $((_headrace_code - 128))"
            ;;
        *) if [ "$_headrace_code" -le "$_headrace_most" ] 2>/dev/null; then _headrace_status=SUCCESS; fi ;;
    esac
    case $_headrace_clock in
        *[!0-9]*) _headrace_took= ;; # a system whose date does not count seconds
        *) _headrace_took=$(($(date +%s) - _headrace_clock)) ;;
    esac
    _headrace_report "status=$_headrace_status" "exit_code=$_headrace_code" "reason=$_headrace_reason" \
        "duration_seconds:=$_headrace_took" "$@"
    return "$_headrace_code"
}

# Background commands of a shell ignore INT and QUIT; `env`, if able, restores them.
_headrace_start() {
    while [ "$1" != -- ]; do shift; done
    shift
    if [ -n "$_headrace_reset" ]; then exec env --default-signal=INT,QUIT -- "$@"; fi
    exec "$@"
}

_headrace_pass_on() {
    _headrace_signalled=yes
    if [ -z "$_headrace_child" ]; then
        _headrace_early="$_headrace_early $1"
        return
    fi
    case $1$_headrace_reset in
        INT | QUIT) kill -s TERM "$_headrace_child" 2>/dev/null ;; # it would not hear the other
        *) kill -s "$1" "$_headrace_child" 2>/dev/null ;;
    esac
}

# The file that the job's output goes to, if it is known.
_headrace_log_place() {
    _headrace_log=
    { _headrace_link=$(ls -l /proc/self/fd/8 2>/dev/null); } 8>&1
    _headrace_is_log || {
        { _headrace_link=$(ls -l /proc/self/fd/8 2>/dev/null); } 8>&2
        _headrace_is_log
    }
}

_headrace_is_log() {
    _headrace_link=${_headrace_link##* -> }
    [ -f "$_headrace_link" ] && _headrace_log=$_headrace_link
}

# --- documents -------------------------------------------------------------------------------------------------------

_headrace_now() {
    date -u +%Y-%m-%dT%H:%M:%SZ
}

# Store the document of these facts, then deliver all waiting ones.
_headrace_report() {
    if _headrace_keep "$@"; then
        _headrace_deliver
    elif [ -n "${HEADRACE_URL-}" ]; then
        _headrace_complain "$_headrace_line cannot be stored; delivery is tried only once"
        _headrace_post "$_headrace_line$_headrace_newline"
    else
        _headrace_complain "$_headrace_line can be neither stored nor delivered"
    fi
}

_headrace_keep() {
    _headrace_unique
    _headrace_line=$(_headrace_document "at=$(_headrace_now)" "key=$_headrace_id" "$@")
    _headrace_count
    _headrace_name=$(printf '%s-000000000-%07d-%04d-%s.json' "${_headrace_id%%-*}" $$ "$_headrace_number" "${_headrace_id#*-}")
    [ -n "$_headrace_spool" ] && [ "$_headrace_waiting" -lt 10000 ] &&
        _headrace_put "$_headrace_spool" "$_headrace_name" "$_headrace_line"
}

# Sets _headrace_id to a unique id.
_headrace_unique() {
    _headrace_number=$((_headrace_number + 1))
    _headrace_id=$(od -An -N8 -tx1 /dev/urandom 2>/dev/null | tr -d ' \n')
    _headrace_id=$(date -u +%Y%m%dT%H%M%SZ)-${_headrace_id:-$(uname -n)-$$-$_headrace_number}
}

# Convert the FACT=VALUE words up to `--` to one line of JSON in ASCII. The last of duplicate names counts; empty values
# are omitted. The bytes are passed through od, so that awk's locale does not interpret them.
_headrace_document() {
    for _headrace_word in "$@"; do
        case $_headrace_word in
            --) break ;;
            [A-Za-z_]*=*) printf '%s\0%s\0' "${_headrace_word%%=*}" "${_headrace_word#*=}" ;;
            *) _headrace_complain "$_headrace_word is no FACT=VALUE" ;;
        esac
    done | od -An -v -tx1 | LC_ALL=C awk '
        BEGIN {
            for (i = 0; i < 256; i++) byte[sprintf("%02x", i)] = i
            split("attempt byte_size exit_code max_exit_success row_count", numbers, " ")
            for (i in numbers) is_number[numbers[i]] = 1
        }
        # A character: escaped, and raw.
        function put(code, high) {
            if (code == 34 || code == 92) { text = text "\\" sprintf("%c", code); plain = plain sprintf("%c", code) }
            else if (code > 31 && code < 127) { text = text sprintf("%c", code); plain = plain sprintf("%c", code) }
            else {
                if (code > 65535) {
                    code -= 65536
                    high = sprintf("\\u%04x", 55296 + int(code / 1024)) sprintf("\\u%04x", 56320 + code % 1024)
                } else high = sprintf("\\u%04x", code)
                text = text high
                plain = plain (code < 32 ? " " : high)
            }
        }
        # Bytes of an incomplete UTF-8 character are Latin-1.
        function give_up(k) { for (k = 1; k <= held; k++) put(kept[k]); held = 0; wanted = 0 }
        function take(b) {
            if (wanted) {
                if (b >= 128 && b < 192) {
                    kept[++held] = b
                    value = value * 64 + b - 128
                    if (held == wanted) {
                        if (value < least || value > 1114111 || (value > 55295 && value < 57344)) give_up()
                        else { put(value); held = 0; wanted = 0 }
                    }
                    return
                }
                give_up()
            }
            if (b < 128) put(b)
            else if (b >= 194 && b < 224) start(b, 2, b - 192, 128)
            else if (b >= 224 && b < 240) start(b, 3, b - 224, 2048)
            else if (b >= 240 && b < 245) start(b, 4, b - 240, 65536)
            else put(b)
        }
        function start(b, length_, first, smallest) { held = 1; kept[1] = b; wanted = length_; value = first; least = smallest }
        function finish() {
            if (wanted) give_up()
            if (!named) { name = text; named = 1 }
            else { named = 0; fact(name, text, plain) }
            text = ""; plain = ""
        }
        function fact(name, text, plain, raw) {
            raw = sub(/:$/, "", name)
            if (plain == "") return
            if (!(name in values)) order[++count] = name
            values[name] = raw || (name in is_number && plain ~ /^-?(0|[1-9][0-9]*)$/) ? plain : "\"" text "\""
        }
        { for (i = 1; i <= NF; i++) if ($i == "00") finish(); else take(byte[$i]) }
        END {
            for (i = 1; i <= count; i++) line = line (i > 1 ? ", " : "") "\"" order[i] "\": " values[order[i]]
            print "{" line "}"
        }
    '
}

# --- the spool, and delivery -----------------------------------------------------------------------------------------

# Sets _headrace_spool to the folder of waiting documents, created if needed, and _headrace_waiting to their number.
_headrace_count() {
    _headrace_waiting=0
    _headrace_spool=
    if [ -n "${HEADRACE_SPOOL-}" ]; then
        _headrace_is_spool "$HEADRACE_SPOOL"
    else
        _headrace_is_spool "${HOME:-/nowhere}/.headrace-spool" ||
            _headrace_is_spool "${TMPDIR:-/tmp}/headrace-spool-$(id -u)"
    fi || return
    set -- "$_headrace_spool"/*.json
    if [ -f "$1" ]; then _headrace_waiting=$#; fi
}

_headrace_is_spool() {
    [ -d "$1" ] || mkdir -p -m 700 "$1" 2>/dev/null
    # Another user may have created a folder with that name in the temporary folder.
    if [ -d "$1" ] && [ -w "$1" ] && { [ -n "${HEADRACE_SPOOL-}" ] || [ -O "$1" ]; }; then
        _headrace_spool=$1
    else
        return 1
    fi
}

# Write a file atomically: folder, name, content.
_headrace_put() {
    { printf '%s\n' "$3" >"$1/.$2.$$"; } 2>/dev/null && mv -f "$1/.$2.$$" "$1/$2" 2>/dev/null
}

# Deliver the oldest waiting documents.
_headrace_deliver() {
    _headrace_count
    [ "$_headrace_waiting" -gt 0 ] || return
    if [ -n "${HEADRACE_URL-}" ]; then
        _headrace_send 200
        # Too large: then one by one.
        if [ "$_headrace_http" = 413 ]; then _headrace_send 1; fi
    elif [ -n "${HEADRACE_COMPLETIONS-}" ]; then
        for _headrace_file in "$_headrace_spool"/*.json; do
            _headrace_read || continue
            if ! _headrace_put "$HEADRACE_COMPLETIONS" "${_headrace_file##*/}" "$_headrace_line"; then
                _headrace_complain "$HEADRACE_COMPLETIONS cannot be written to; it waits in $_headrace_spool"
                return
            fi
            rm -f "$_headrace_file"
        done
    else
        _headrace_complain "neither HEADRACE_URL nor HEADRACE_COMPLETIONS is set; it waits in $_headrace_spool"
    fi
}

# Another call may have delivered a document meanwhile.
_headrace_read() {
    _headrace_line=
    { IFS= read -r _headrace_line <"$_headrace_file"; } 2>/dev/null
}

# Post at most so many documents; refused ones are moved out of the way of the others.
_headrace_send() {
    _headrace_body=
    _headrace_sent=0
    _headrace_names=
    for _headrace_file in "$_headrace_spool"/*.json; do
        [ "$_headrace_sent" -lt "$1" ] || break
        _headrace_read || continue
        _headrace_body=$_headrace_body$_headrace_line$_headrace_newline
        _headrace_names="$_headrace_names ${_headrace_file##*/}"
        _headrace_sent=$((_headrace_sent + 1))
    done
    [ "$_headrace_sent" -gt 0 ] || return
    _headrace_post "$_headrace_body" || {
        [ "$_headrace_http" = 413 ] && [ "$_headrace_sent" -eq 1 ] || return
        _headrace_refused=" 1 "
        _headrace_others=
    }
    _headrace_sent=0
    for _headrace_name in $_headrace_names; do
        _headrace_sent=$((_headrace_sent + 1))
        case $_headrace_others in
            *" $_headrace_sent "*)
                _headrace_complain "$_headrace_spool/$_headrace_name belongs to another run than the token, and waits"
                continue
                ;;
        esac
        case $_headrace_refused in
            *" $_headrace_sent "*)
                mkdir -p -m 700 "$_headrace_spool/refused"
                mv "$_headrace_spool/$_headrace_name" "$_headrace_spool/refused/$_headrace_name" 2>/dev/null
                _headrace_complain "$_headrace_spool/refused/$_headrace_name is refused: $_headrace_answer"
                ;;
            *) rm -f "$_headrace_spool/$_headrace_name" ;;
        esac
    done
}

# Post some lines. Sets _headrace_http to the status, and _headrace_refused to the numbers of the refused lines.
_headrace_post() {
    _headrace_body=$1
    set --
    _headrace_token=${HEADRACE_TOKEN-}
    if [ -n "$_headrace_token" ]; then
        # In a file: command lines are visible to all users of the machine.
        (
            umask 077
            _headrace_put "$_headrace_spool" ".curl.$$" "header = \"Authorization: Bearer $(printf '%s' "$_headrace_token" |
                sed 's/[\\"]/\\&/g')\""
        )
        set -- --config "$_headrace_spool/.curl.$$"
    fi
    _headrace_answer=$(printf '%s' "$_headrace_body" | curl --silent --show-error --max-time "${HEADRACE_TIMEOUT:-3}" \
        --header 'Content-Type: application/x-ndjson' --data-binary @- --write-out '\n%{http_code}' "$@" \
        "${HEADRACE_URL%/}/api/v1/events" 2>&1)
    rm -f "$_headrace_spool/.curl.$$"
    _headrace_http=${_headrace_answer##*"$_headrace_newline"}
    _headrace_answer=${_headrace_answer%"$_headrace_newline"*}
    case $_headrace_http$_headrace_answer in
        202*'"rejected"'* | 400*'"rejected"'*)
            _headrace_refused=" $(printf '%s' "$_headrace_answer" | tr '{},' '\n\n\n' |
                sed -n 's/^ *"line" *: *\([0-9][0-9]*\) *$/\1/p' | tr '\n' ' ')"
            _headrace_others=" $(printf '%s' "$_headrace_answer" | tr -d ' \n' |
                sed -n 's/.*"forbidden":\[\([0-9,]*\)\].*/\1/p' | tr ',' ' ') "
            ;;
        413*)
            _headrace_answer="it is too large"
            return 1
            ;;
        *)
            _headrace_complain "$HEADRACE_URL did not accept it ($_headrace_http $_headrace_answer); it waits in $_headrace_spool"
            return 1
            ;;
    esac
}

_headrace_complain() {
    printf 'headrace: %.500s\n' "$(printf '%s' "$*" | tr '\n\r\t' '   ')" >&2
}

# When sourced, $0 is the wrapper's name.
case ${0##*/} in
    headrace.sh)
        _headrace_main "$@"
        exit $?
        ;;
esac
