-- stranded -- Threads that need a doorbell; those that lost their worker come first.
-- A slot that is rung for a locked row waits for the lock and serves nobody else.
-- What was queued "in the future" was queued before the clock stepped back.
WITH served AS MATERIALIZED ({served})
SELECT th.id, th.queue FROM gp_thread th
WHERE th.status IN ('queued', 'rolling_back', 'running') AND th.queue <> '{external}'
  AND ((th.status = 'queued' AND (th.status_since {ahead}
      OR th.status_since < clock_timestamp() - make_interval(secs => %s)))
    OR (th.status = 'rolling_back' AND th.lease_token IS NULL
      AND (th.wake_at IS NULL OR th.wake_at <= clock_timestamp()))
    OR (th.status <> 'queued' AND th.lease_until < clock_timestamp() AND th.crash_count < %s))
  AND (NOT th.pinned OR EXISTS (SELECT 1 FROM served s
    WHERE s.version = th.agent_version_id::text AND s.queues ? th.queue))
  AND NOT EXISTS ({stopped_by})
ORDER BY th.status = 'queued', th.status_since LIMIT %s
FOR NO KEY UPDATE OF th SKIP LOCKED

-- is_anything_due -- Whether a sweep may find a thread to work on; true more often than its parts find one.
-- Where a clock stepped back, each part looks for itself.
SELECT EXISTS (SELECT FROM gp_thread th WHERE th.status IN ('queued', 'running', 'rolling_back'))
  OR EXISTS (SELECT FROM gp_thread th WHERE th.status = 'sleeping' AND th.wake_at <= clock_timestamp())
  OR EXISTS (SELECT FROM gp_wake w WHERE w.kind NOT IN ('input', 'reach', 'signal')
    AND w.due_at <= clock_timestamp())
  OR EXISTS (SELECT FROM gp_wake w WHERE w.kind = 'reach')
  OR EXISTS (SELECT FROM gp_erasure r WHERE r.state = 'approved')
  OR EXISTS (SELECT FROM gp_clock_step WHERE seconds < 0)
