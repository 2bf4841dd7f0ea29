-- The session with this digest and the grants of its user in its organisation; a row without a grant if there are none.
-- organisations: those in which the user has a role.
SELECT
    session.subject,
    session.role AS session_role,
    session.expires_at,
    session.organisation_id,
    organisation.name AS organisation,
    access_grant.role,
    access_grant.domain,
    ARRAY (
        SELECT DISTINCT other.name
        FROM catalog.access_grant AS elsewhere
        JOIN catalog.organisation AS other USING (organisation_id)
        WHERE elsewhere.subject = session.subject AND elsewhere.revoked_at IS NULL
        ORDER BY other.name
    ) AS organisations
FROM catalog.page_session AS session
JOIN catalog.organisation USING (organisation_id)
LEFT JOIN catalog.access_grant
    ON access_grant.organisation_id = session.organisation_id
    AND access_grant.subject = session.subject
    AND access_grant.revoked_at IS NULL
WHERE session.digest = %(digest)s AND session.expires_at > now()
