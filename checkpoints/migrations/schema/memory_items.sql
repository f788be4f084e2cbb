-- The place of an item of a store: its namespace and key, in the memory of an owner.
CREATE INDEX gp_memory_item ON gp_memory (workspace_id, scope, owner,
  (metadata -> '$item' ->> 'namespace'), (metadata -> '$item' ->> 'key'))
  WHERE metadata ? '$item' AND gone_at IS NULL;
