-- find -- The thread that holds a checkpoint: this one or, of a first checkpoint, one of its forks.
-- Forks are sought from this thread on: checkpoints have no index but by their thread.
WITH RECURSIVE fork AS (
  SELECT t.id FROM gp_thread t
  WHERE t.forked_from IN (SELECT id FROM gp_checkpoint WHERE thread_id = %s::uuid)
  UNION
  SELECT t.id FROM fork f JOIN gp_checkpoint c ON c.thread_id = f.id AND c.number = 0
  JOIN gp_thread t ON t.forked_from = c.id
)
SELECT c.thread_id FROM gp_checkpoint c WHERE c.thread_id = %s::uuid AND c.id = %s::uuid
UNION ALL
SELECT c.thread_id FROM fork f JOIN gp_checkpoint c ON c.thread_id = f.id AND c.number = 0
WHERE c.id = %s::uuid
LIMIT 1

-- version_at_head -- The agent version that wrote the head of a thread.
SELECT c.agent_version_id FROM gp_thread t
JOIN gp_checkpoint c ON c.thread_id = t.id AND c.id = t.head
WHERE t.id = %s::uuid
