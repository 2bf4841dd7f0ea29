UPDATE catalog.text_block block SET moved = block.moved + move.by
FROM unnest(%(blocks)s::bigint[], %(bys)s::integer[]) AS move (block_id, by)
WHERE block.block_id = move.block_id
