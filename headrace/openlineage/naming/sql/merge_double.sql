-- Reported for both, by a declaration or a person: the target's value is kept.
WITH sla AS (
    DELETE FROM catalog.sla
    WHERE dataset_id = %(old)s AND EXISTS (SELECT FROM catalog.sla other WHERE other.dataset_id = %(into)s)
), outcome AS (
    DELETE FROM catalog.sla_outcome outcome
    WHERE subject_id = %(old)s
      AND EXISTS (
          SELECT FROM catalog.sla_outcome other
          WHERE other.subject_id = %(into)s
            AND (other.kind, other.ordinal, other.deadline) = (outcome.kind, outcome.ordinal, outcome.deadline))
), arrivals AS (
    DELETE FROM catalog.sla_arrival_history
    WHERE subject_id = %(old)s
      AND EXISTS (SELECT FROM catalog.sla_arrival_history other WHERE other.subject_id = %(into)s)
), def AS (
    DELETE FROM catalog.quality_check_def def
    WHERE dataset_id = %(old)s
      AND EXISTS (
          SELECT FROM catalog.quality_check_def other WHERE other.dataset_id = %(into)s AND other.name = def.name)
), retirement AS (
    UPDATE catalog.dataset_retirement SET restored_at = now(), restored_by = 'merge'
    WHERE dataset_id = %(old)s AND restored_at IS NULL
), suggestion AS (
    -- An accepted one stays, from either side: the column remains sensitive.
    DELETE FROM catalog.sensitivity_suggestion suggestion
    WHERE dataset_id IN (%(old)s, %(into)s)
      AND EXISTS (
          SELECT FROM catalog.sensitivity_suggestion other
          WHERE other.dataset_id IN (%(old)s, %(into)s)
            AND other.column_name = suggestion.column_name
            AND (other.status = 'ACCEPTED', other.dataset_id = %(into)s)
                > (suggestion.status = 'ACCEPTED', suggestion.dataset_id = %(into)s))
), look AS (
    DELETE FROM catalog.personal_data_look WHERE dataset_id = %(old)s
), cleared AS (
    UPDATE catalog.cleared_column cleared SET withdrawn_at = now(), withdrawn_by = 'merge'
    WHERE dataset_id = %(old)s
      AND withdrawn_at IS NULL
      AND EXISTS (
          SELECT FROM catalog.cleared_column other
          WHERE other.dataset_id = %(into)s AND other.column_name = cleared.column_name AND other.withdrawn_at IS NULL)
)
UPDATE catalog.dataset_pin pin SET unpinned_at = now(), unpinned_by = 'merge'
WHERE unpinned_at IS NULL
  AND (dataset_id = %(old)s OR consumer_id = %(old)s)
  AND EXISTS (
      SELECT FROM catalog.dataset_pin other
      WHERE other.pin_id <> pin.pin_id
        AND other.unpinned_at IS NULL
        AND other.partition_key = pin.partition_key
        AND other.dataset_id = CASE pin.dataset_id WHEN %(old)s THEN %(into)s::uuid ELSE pin.dataset_id END
        AND other.consumer_id IS NOT DISTINCT FROM
            CASE pin.consumer_id WHEN %(old)s THEN %(into)s::uuid ELSE pin.consumer_id END
  )
