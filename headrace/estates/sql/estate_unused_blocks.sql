DELETE FROM catalog.text_block block
WHERE organisation_id = %(organisation)s
  AND NOT EXISTS (SELECT FROM catalog.process_text WHERE process_text.block_id = block.block_id)
