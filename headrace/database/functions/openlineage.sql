-- Text and identifiers of the OL_* views.

-- Return the text with secrets replaced, by the patterns of headrace.access.redaction in the same order: tokens, and
-- passwords in URLs and options. In the collation C only ASCII letters are letters, whatever the collation of the
-- database.
CREATE OR REPLACE FUNCTION catalog.without_secrets(value text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN value COLLATE "C" ~* '@|=|:[^/]|hr[st]_|ey[ja]|bearer|basic'
    THEN regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(value COLLATE "C",
    '\y(hr[st]_)[0-9a-f]{32}_[\w-]+', '\1***', 'g'),
    '\y(ey)[JA][\w-]{7,}\.[\w-]+\.[\w-]*', '\1***', 'g'),
    '(\y[\w+.-]+://[^\s:/@]*:)[^\s/@]+(?=@)', '\1***', 'g'),
    '(\y(Bearer|Basic)\s+)[\w.~+/=-]{8,}', '\1***', 'gi'),
    '(\y(\w*_)?(password|passwd|pwd|passphrase|(client|shared)?secret([._-]?key)?|(access|auth|refresh|session|sas|id)?token'
    || '|(api|access|account|private)[._-]?key(\.[\w.-]+)?|sig|x-amz-signature)'
    || '["'']?\s*[=:]\s*)("[^"]*"|''[^'']*'')', '\1***', 'gi'),
    '(\y(\w*_)?(password|passwd|pwd|passphrase|(client|shared)?secret([._-]?key)?|(access|auth|refresh|session|sas|id)?token'
    || '|(api|access|account|private)[._-]?key(\.[\w.-]+)?|sig|x-amz-signature)'
    || '["'']?[=:])[^\s"''=&;,]+', '\1***', 'gi')
    ELSE value END;

-- Return the text without secrets in at most `octets` bytes of UTF-8; a longer text ends in ~ and a hash, and so stays
-- distinct. Its body is bound to the functions it calls when it is created (RETURN), so that readers of the views need
-- no right on the schema `catalog`.
CREATE OR REPLACE FUNCTION catalog.fitted(value text, octets integer) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN octet_length(catalog.without_secrets(value)) <= octets THEN catalog.without_secrets(value)
            ELSE left(catalog.without_secrets(value), CASE WHEN octet_length(value) = length(value) THEN octets - 17
                                                           ELSE (octets - 17) / 4 END)
                 || '~' || left(encode(sha256(convert_to(value, 'UTF8')), 'hex'), 16) END;

CREATE OR REPLACE FUNCTION catalog.namespace_id(uri text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT left(encode(sha256(convert_to(uri, 'UTF8')), 'hex'), 32)
$$;

CREATE OR REPLACE FUNCTION catalog.within_namespace(uri text, name text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN catalog.fitted(catalog.namespace_id(uri) || '/' || name, 256);
