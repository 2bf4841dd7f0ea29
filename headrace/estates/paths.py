"""Convert paths to patterns: the parts of a name that change per run become placeholders, so that daily files are one
dataset.

`{YYYYMMDD}` and the like stand for dates (written out, or created by `date`), `$$NAME` for global variables, `${NAME}`
for unknown environment variables, `{RUN}` for the run number, `{...}` for the output of another command.
"""

import re
from collections.abc import Mapping

_SUBSTITUTION = re.compile(r"`([^`]*)`|\$\(((?:[^()]|\([^()]*\))*)\)")
_DATE_COMMAND = re.compile(r"\s*(?:/bin/|/usr/bin/)?date\b[^+]*\+['\"]?(%[^'\"]*?)['\"]?\s*")
_STRFTIME = {
    f"%{code}": placeholder
    for code, placeholder in (
        *(("Y", "YYYY"), ("y", "YY"), ("m", "MM"), ("d", "DD"), ("H", "HH"), ("M", "MI"), ("S", "SS")),
        *(
            ("j", "DDD"),
            ("b", "MON"),
            ("B", "MONTH"),
            ("e", "D"),
            ("u", "W"),
            ("V", "WW"),
            ("a", "DAY"),
            ("A", "DAY"),
        ),
        *(("F", "YYYY-MM-DD"), ("T", "HH:MI:SS"), ("D", "MM/DD/YY"), ("s", "EPOCH")),
    )
}
_GLOBAL = re.compile(r"\$\$(?:\{(\w+)\}|\((\w+)\)|(\w+))")
_VARIABLE = re.compile(r"(?<!\$)\$(?:\{(\w+)\}|(\w+))|%{1,2}(\w+)%{1,2}")
_YEAR, _MONTH, _DAY = r"(?:19|20)\d\d", r"(?:0[1-9]|1[0-2])", r"(?:0[1-9]|[12]\d|3[01])"
_DATES = (
    (re.compile(rf"(?<!\d){_YEAR}{_MONTH}{_DAY}(?:[01]\d|2[0-3])[0-5]\d[0-5]\d(?!\d)"), "{YYYYMMDDHHMISS}"),
    (re.compile(rf"(?<!\d){_YEAR}{_MONTH}{_DAY}(?!\d)"), "{YYYYMMDD}"),
    (re.compile(rf"(?<!\d){_YEAR}-{_MONTH}-{_DAY}(?!\d)"), "{YYYY-MM-DD}"),
    (re.compile(rf"(?<!\d){_YEAR}_{_MONTH}_{_DAY}(?!\d)"), "{YYYY_MM_DD}"),
    (
        re.compile(r"(?<![\w{])YYYYMMDD(?![\w}])|(?<![a-z{])yyyymmdd(?![a-z}])|(?<=_)YYYYMMDD(?=[._])"),
        "{YYYYMMDD}",
    ),
    (re.compile(r"(?<![\w{])YYYY-MM-DD(?![\w}])|(?<=_)YYYY-MM-DD(?=[._])"), "{YYYY-MM-DD}"),
)
_SCHEMES = r"(?:hdfs|s3|s3a|s3n|gs|abfss?|wasbs?|adl|dbfs|ftp|sftp|file|viewfs)://"
_PLACEHOLDER = r"(?:\$\$?\{?\w+\}?|\{[^}]*\}|%\w+%)"
_PATH = re.compile(
    rf"(?:{_SCHEMES}|[A-Za-z]:[\\/]|\\\\\w|(?:[\w.-]+@)?[\w.-]+:/(?!/)|~?/|\.\.?/|{_PLACEHOLDER}[/\\]|[\w.-]+/[\w./*-]*\.\w+$)[^\s]*"
)
_NOT_DATA = re.compile(
    r"(?:/dev/|/proc/|/bin/|/usr/bin/|/usr/local/bin/|/sbin/)|^/$|^\.\.?/?$"
    r"|\.(?:sh|ksh|bash|csh|pl|py|rb|jar|war|exe|bat|cmd|ps1|sql|btq|bteq|ctl|hql|pig|class|profile|env|cfg|conf|ini|properties|"
    r"yaml|yml|lock|pid|so|dll|vbs|awk|sed|xsl)$",
    re.IGNORECASE,
)
_LOG = re.compile(r"\.(?:log|out|err|stdout|stderr|trc|lst)$|/logs?/", re.IGNORECASE)
_SLASHES = re.compile("/{2,}")
_LITERAL = re.compile(r"[A-Za-z0-9]")
_NO_LITERAL = re.compile(f"{_SCHEMES}|{_PLACEHOLDER}")
_MAY_BE_PLACEHOLDERS = re.compile(r"[{$%:]")
_MAY_HOLD_A_DATE = re.compile(r"(?:19|20)\d\d|[Yy]{4}")


def pattern_of(text: str, *, job: str, variables: Mapping[str, str]) -> str | None:
    """Return the pattern of a word as a path to data; None for a program, for placeholders alone, for anything but a
    path.

    job: replaces `AUTO_JOB_NAME`. variables: the environment variables that the job sets.
    """
    if "/" not in text and "\\" not in text:
        return None
    named = with_placeholders(text.strip(), job=job, variables=variables)
    if _PATH.fullmatch(named) is None or _NOT_DATA.search(named):
        return None
    if _MAY_HOLD_A_DATE.search(named) is not None:
        for dates, placeholder in _DATES:
            named = dates.sub(placeholder, named)
    scheme, separator, rest = named.rpartition("://")
    if "//" in rest:
        rest = _SLASHES.sub("/", rest)
    named = scheme + separator + rest.rstrip("/\\")
    if named.startswith("./"):
        named = named[2:]
    literal = _NO_LITERAL.sub("", named) if _MAY_BE_PLACEHOLDERS.search(named) is not None else named
    return named if _LITERAL.search(literal) is not None else None


def with_placeholders(text: str, *, job: str, variables: Mapping[str, str]) -> str:
    """Replace substitutions and variables by placeholders, or by their values if known."""
    if "$$" in text:
        text = _GLOBAL.sub(lambda found: f"$${found[1] or found[2] or found[3]}", text)
    if "`" in text or "$(" in text:
        text = _SUBSTITUTION.sub(_substituted, text)
    if "$" in text or "%" in text:
        text = _VARIABLE.sub(lambda found: _variable(found, job, variables), text)
    return text


def is_log(pattern: str) -> bool:
    """Return True if a path looks like a log rather than data."""
    return _LOG.search(pattern) is not None


def is_certain(pattern: str) -> bool:
    """Return True if it contains no unknown value; dates, run numbers and global variables are not unknown."""
    return "{...}" not in pattern and "${" not in pattern


def _substituted(found: re.Match[str]) -> str:
    date = _DATE_COMMAND.fullmatch(found[1] if found[1] is not None else found[2])
    if date is None:
        return "{...}"
    return "{" + re.sub(r"%[A-Za-z]", lambda code: _STRFTIME.get(code[0], "?"), date[1]) + "}"


def _variable(found: re.Match[str], job: str, variables: Mapping[str, str]) -> str:
    name = found[1] or found[2] or found[3]
    if name == "AUTO_JOB_NAME":
        return job
    if name == "AUTORUN":
        return "{RUN}"
    return variables.get(name, f"${{{name}}}")
