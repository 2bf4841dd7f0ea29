"""The kinds of personal data, and how a column's name and its values show them.

Check digits and formats of identifiers are those of python-stdnum and phonenumbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from ipaddress import ip_address

import phonenumbers
from stdnum import iban, luhn

_EMAIL = re.compile(r"[A-Za-z0-9._%+'-]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}")
_CARD = re.compile(r"[2-6]\d{3}(?:[ -]?\d{2,6}){2,4}")
_GB_NINO = re.compile(
    r"(?i)(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D]"
)
_US_SSN = re.compile(r"(?!000|666|9\d\d)\d{3}-(?!00)\d{2}-(?!0000)\d{4}")
_PHONE = re.compile(r"\+?[\d ()./x-]{7,25}")
_NUMBER_OR_DAY = re.compile(r"-?\d+(?:\.\d+)?|\d{4}[-./]\d{1,2}[-./]\d{1,2}|\d{1,2}[-./]\d{1,2}[-./]\d{2,4}")
_NAME = re.compile(r"[^\W\d_][^\W\d_.'\u2019-]*(?:[ .'\u2019-]{1,2}[^\W\d_][^\W\d_.'\u2019-]*){0,4}")
_STREET = re.compile(r"\d+[A-Za-z]?,? +[^\W\d].*|[^\W\d].* \d+ ?[A-Za-z]?(?:[,\n].*)?", re.DOTALL)
_GENDERS = frozenset(
    ["m", "f", "x", "d", "u", "male", "female", "other", "diverse", "unknown", "0", "1", "2", "9"]
)
_REGIONS = ("US", "GB", "DE", "FR", "NL", "ES", "IT", "IN", "BR", "AU")  # of numbers without a country code
# Identifiers of people with check digits, by their module in stdnum.
_NATIONAL_IDS = (
    "be.nn", "br.cpf", "ch.ssn", "de.idnr", "dk.cpr", "ee.ik", "es.dni", "es.nie", "fi.hetu", "fr.nir", "gb.nhs",
    "hr.oib", "in_.aadhaar", "it.codicefiscale", "lt.asmens", "nl.bsn", "no.fodselsnummer", "pl.pesel",
    "pt.nif", "ro.cnp", "se.personnummer", "tr.tckimlik", "za.idnr",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of personal data.

    name: a pattern of a column's words, joined by `_`. by_name: the confidence that a name alone gives, from 0 to 1.
    matches: the test of a value. by_value: the confidence if all values pass; 0: the test only confirms or refutes the
    name. what: of the values, in a reason.
    """

    label: str
    name: re.Pattern[str]
    by_name: float
    matches: Callable[[str], bool] | None = None
    by_value: float = 0.0
    what: str = ""


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?:^|_)(?:{pattern})(?:_|$)")


def _is_email(value: str) -> bool:
    return _EMAIL.fullmatch(value) is not None


def _is_iban(value: str) -> bool:
    return bool(iban.is_valid(value))


def _is_card(value: str) -> bool:
    return _CARD.fullmatch(value) is not None and bool(luhn.is_valid(re.sub(r"\D", "", value)))


def _is_ip(value: str) -> bool:
    try:
        ip_address(value)
    except ValueError:
        return False
    return not value.isdigit()


def _is_phone(value: str) -> bool:
    """Return True for a valid number with a country code, or one that is written with separators."""
    if _PHONE.fullmatch(value) is None or _NUMBER_OR_DAY.fullmatch(value):
        return False
    for region in [None] if value.startswith("+") else _REGIONS:
        try:
            if phonenumbers.is_valid_number(phonenumbers.parse(value, region)):
                return True
        except phonenumbers.NumberParseException:
            continue
    return False


def _is_number_of(module: str) -> Callable[[str], bool]:
    test = import_module(f"stdnum.{module}").is_valid

    def matches(value: str) -> bool:
        return bool(test(value))

    return matches


def _is_us_ssn(value: str) -> bool:
    return _US_SSN.fullmatch(value) is not None


def _is_gb_nino(value: str) -> bool:
    return _GB_NINO.fullmatch(value) is not None


def _is_name(value: str) -> bool:
    return _NAME.fullmatch(value) is not None and value[0].isupper() and not value.isupper()


def _is_street(value: str) -> bool:
    return _STREET.fullmatch(value) is not None


def _is_day(value: str) -> bool:
    return re.match(r"\d{4}-\d{2}-\d{2}|\d{1,2}[./-]\d{1,2}[./-]\d{2,4}", value) is not None


def _is_gender(value: str) -> bool:
    return value.lower() in {
        "m",
        "f",
        "x",
        "d",
        "u",
        "male",
        "female",
        "other",
        "diverse",
        "unknown",
        "0",
        "1",
        "2",
        "9",
    }


_NATIONAL = _words(
    r"ssn|social_security(?:_\w+)?|bsn|nino|national_(?:id|insurance)(?:_\w+)?|personal_(?:id|code)(?:_\w+)?|personnummer|"
    r"cpf|aadhaar|pesel|tax_id|taxpayer(?:_\w+)?|passport(?:_\w+)?|id_card(?:_\w+)?|drivers?_licen[cs]e(?:_\w+)?|nhs_\w+"
)

KINDS: Sequence[Kind] = (
    Kind("e-mail address", _words(r"e_?mails?(?:_\w+)?"), 0.7, _is_email, 0.97, "e-mail addresses"),
    Kind(
        "phone number",
        _words(r"(?:tele)?phones?(?:_\w+)?|mobile(?:_\w+)?|cell(?:_?phone)?|tel|fax|msisdn"),
        0.6,
        _is_phone,
        0.9,
        "valid phone numbers",
    ),
    Kind(
        "IBAN",
        _words(r"iban|bank_account(?:_\w+)?|account_iban"),
        0.7,
        _is_iban,
        0.99,
        "IBANs with valid check digits",
    ),
    Kind(
        "payment card number",
        _words(r"(?:credit|debit|payment)?_?card_(?:no|num|number)|pan|cc_num(?:ber)?|credit_card(?:_\w+)?"),
        0.7,
        _is_card,
        0.95,
        "card numbers with valid check digits",
    ),
    Kind("national identifier", _NATIONAL, 0.75, _is_us_ssn, 0.9, "written like US social security numbers"),
    Kind("national identifier", _NATIONAL, 0.75, _is_gb_nino, 0.9, "British national insurance numbers"),
    *(
        Kind(
            "national identifier",
            _NATIONAL,
            0.75,
            _is_number_of(module),
            0.9,
            f"valid as {module.replace('_', '')} of python-stdnum",
        )
        for module in _NATIONAL_IDS
    ),
    Kind(
        "IP address",
        _words(r"(?:client|remote|source|user|login)?_?ip(?:v[46])?(?:_addr(?:ess)?)?"),
        0.6,
        _is_ip,
        0.9,
        "IP addresses",
    ),
    Kind(
        "name of a person",
        _words(
            r"(?:first|last|middle|given|family|full|maiden|sur|fore|birth|nick)_?names?|surname|forename|initials|"
            r"(?:customer|client|patient|employee|person|passenger|contact|holder|cardholder|guest|member|owner)_name"
        ),
        0.65,
        _is_name,
        0.0,
        "written like names",
    ),
    Kind(
        "postal address",
        _words(
            r"street(?:_\w+)?|(?:home|postal|mailing|billing|shipping|delivery)?_?address(?:_\w+)?|addr(?:_\w+)?|house_n\w+"
        ),
        0.6,
        _is_street,
        0.0,
        "written like a street and number",
    ),
    Kind("postal code", _words(r"zip(?:_?code)?|post_?code|postal_code|plz"), 0.55),
    Kind(
        "date of birth",
        _words(r"birth_?(?:date|day|dt)|date_of_birth|dob|born(?:_\w+)?"),
        0.8,
        _is_day,
        0.0,
        "dates",
    ),
    Kind("gender", _words(r"gender|sex"), 0.6, _is_gender, 0.0, "of the words for genders"),
    Kind("user name", _words(r"login(?:_name)?|user_?name|user_login|screen_name"), 0.55),
)
