-- Datasets that were created for a name, and have no names or reports any more.
DELETE FROM catalog.dataset
WHERE organisation_id = %(organisation)s
  AND declaration_hash = ''
  AND status = 'DRAFT'
  AND position('#' IN full_name) > 0
  AND NOT EXISTS (SELECT FROM catalog.dataset_name named WHERE named.dataset_id = dataset.dataset_id)
  AND NOT EXISTS (SELECT FROM catalog.dataset_version version WHERE version.dataset_id = dataset.dataset_id)
  AND NOT EXISTS (SELECT FROM catalog.dataset_schema known WHERE known.dataset_id = dataset.dataset_id)
  AND NOT EXISTS (SELECT FROM catalog.published_pointer pointer WHERE pointer.dataset_id = dataset.dataset_id)
  AND NOT EXISTS (SELECT FROM catalog.pointer_move move WHERE move.dataset_id = dataset.dataset_id)
  AND NOT EXISTS (SELECT FROM catalog.dataset_registration asked WHERE asked.dataset_id = dataset.dataset_id)
  AND NOT EXISTS (SELECT FROM catalog.dataset_candidate candidate WHERE candidate.dataset_id = dataset.dataset_id)
  AND NOT EXISTS (SELECT FROM catalog.dataset_pin pin WHERE dataset.dataset_id IN (pin.dataset_id, pin.consumer_id))
  AND NOT EXISTS (SELECT FROM catalog.sla WHERE sla.dataset_id = dataset.dataset_id)
  AND NOT EXISTS (SELECT FROM catalog.quality_check_def def WHERE def.dataset_id = dataset.dataset_id)
  AND NOT EXISTS (SELECT FROM catalog.cleared_column cleared WHERE cleared.dataset_id = dataset.dataset_id)
  AND NOT EXISTS (
      SELECT FROM catalog.sensitivity_suggestion suggestion WHERE suggestion.dataset_id = dataset.dataset_id)
  AND NOT EXISTS (SELECT FROM catalog.personal_data_look look WHERE look.dataset_id = dataset.dataset_id)
