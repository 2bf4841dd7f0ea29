-- Text and identifiers of the OL_* views.

-- Return the text in at most `octets` bytes of UTF-8; a longer text ends in ~ and a hash, and so stays
-- distinct. Its body is bound to the functions it calls when it is created (RETURN), so that readers of the views need
-- no right on the schema `catalog`.
CREATE OR REPLACE FUNCTION catalog.fitted(value text, octets integer) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN octet_length(value) <= octets THEN value
            ELSE left(value, CASE WHEN octet_length(value) = length(value) THEN octets - 17
                                                           ELSE (octets - 17) / 4 END)
                 || '~' || left(encode(sha256(convert_to(value, 'UTF8')), 'hex'), 16) END;

CREATE OR REPLACE FUNCTION catalog.namespace_id(uri text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT left(encode(sha256(convert_to(uri, 'UTF8')), 'hex'), 32)
$$;

CREATE OR REPLACE FUNCTION catalog.within_namespace(uri text, name text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN catalog.fitted(catalog.namespace_id(uri) || '/' || name, 256);
