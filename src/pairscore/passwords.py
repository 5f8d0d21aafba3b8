"""Addresses and words of a command without the passwords that may be in them."""

import re

# user:key of an address without an @; a setting of it behind a question mark or a #; password=...
# as the addresses of PostgreSQL have it; user:key@host: as ssh copies files
KEYS_OF_STORE = re.compile(
    r"""(\b[a-zA-Z][\w+.-]+:/{1,2}[^:@/\s?'"\[]+):(?![0-9]*(?:[/?,;.)'"\s]|$))[^'"\s]*"""
)
KEYS_BEHIND = re.compile(
    r"""([?&;#](?:sig|sas|[\w.-]*(?:pass|pwd|secret|token|key|signature|credential|auth)[\w.-]*)=)"""
    r"""[^&\s'";]+""",
    re.IGNORECASE,
)
PASSWORD = re.compile(
    r"""(password\s*=\s*)('(?:[^'\\]|\\.)*'?|"(?:[^"\\]|\\.)*"?|[^&\s]+)""", re.IGNORECASE
)
KEYS_OF_HOST = re.compile(r"""(?<![\w./:@-])([\w.+-]{2,}):(?![/\\])[^\s'"]*@(?=[\w.-]+[:/])""")


def without_password(text: str) -> str:
    """An address, or a word of a command, without the password that may be in it.

    Too much is left out rather than too little: up to the last @, which a password may have too.
    A word that only has an address in it, such as a query, is left alone beyond the next blank.

    >>> without_password("postgresql://ann:se/c@ret@host/db"), without_password("host:5432")
    ('postgresql://ann@host/db', 'host:5432')
    """
    if "=" not in text and ":" not in text:
        return text
    password = ".*" if re.match(r"(--[\w-]+=)?\w[\w+.-]*:/", text) else r"\S*"
    # a path has one slash of the two; a port has only digits
    text = re.sub(rf"(\w:/+[^:@\s]*):{password}@", r"\1@", text, flags=re.DOTALL)
    text = KEYS_OF_STORE.sub(r"\1:…", text)
    text = KEYS_OF_HOST.sub(r"\1@", text)
    text = KEYS_BEHIND.sub(r"\1…", text)
    return PASSWORD.sub(r"\1…", text)
