-- Indexes of the ground floor that Django cannot say or that another app's queries need.

-- An index over what cost money, by the database's time of its end: caps per day add it up.
CREATE INDEX gp_activity_usage ON gp_activity (workspace_id, finished_at)
  WHERE usage ? 'cost' OR usage ? 'tokens';

-- An index over effects without a request, by the database's time: policies are tested on them.
CREATE INDEX gp_activity_effects ON gp_activity (workspace_id, started_at DESC, id DESC)
  WHERE kind = 'effect' AND approval_id IS NULL;

-- Indexes over family trees: the children of a thread, all threads of a tree, news that is due.
CREATE INDEX gp_thread_children ON gp_thread (parent) WHERE parent IS NOT NULL;
CREATE INDEX gp_thread_tree ON gp_thread (root) WHERE root IS NOT NULL;
CREATE INDEX gp_wake_due ON gp_wake (due_at) WHERE kind <> 'input';

-- An index over the few calls whose price nobody knows, so that a thread can say how many it has.
CREATE INDEX gp_activity_unpriced ON gp_activity (thread_id) WHERE usage ? 'unpriced';

-- An index over the threads that a board shows first: those that no other thread started.
CREATE INDEX gp_thread_top ON gp_thread (workspace_id, status, status_since DESC, id DESC)
  WHERE parent IS NULL OR status = 'attention';

-- Indexes for the board's filters by agent and label.
CREATE INDEX gp_thread_agent ON gp_thread (workspace_id, agent, status, status_since DESC, id
    DESC);
CREATE INDEX gp_thread_labels ON gp_thread USING gin (labels) WHERE labels <> '{}'::jsonb;

-- Indexes of the overview over beginnings of threads and resumes.
CREATE INDEX gp_thread_created ON gp_thread (workspace_id, created_at);
CREATE INDEX gp_event_resumed ON gp_event (workspace_id, at)
  WHERE kind IN ('lease.taken_over', 'thread.retried');

-- Indexes over the time of events that auditors ask for across threads; steps are in neither. The
-- kinds repeat DECISIONS and, but for migrations since, NOTABLE of approvals.records.
CREATE INDEX gp_event_decisions ON gp_event (workspace_id, at, thread_id, seq)
  WHERE kind IN ('approval.requested', 'approval.decided', 'approval.withdrawn',
    'approval.expired', 'approval.settled', 'approval.escalated', 'approval.reminded',
    'approval.replied', 'decision.recorded', 'decision.taken_back', 'decision.refused',
    'operation.done', 'operation.failed');
CREATE INDEX gp_event_notable ON gp_event (workspace_id, at, thread_id, seq)
  WHERE kind IN ('approval.requested', 'approval.decided', 'approval.withdrawn',
    'approval.expired', 'approval.settled', 'approval.escalated', 'approval.reminded',
    'approval.replied', 'decision.recorded', 'decision.taken_back', 'decision.refused',
    'operation.done', 'operation.failed', 'thread.started', 'thread.forked', 'thread.paused',
    'thread.resumed', 'thread.retried', 'thread.succeeded', 'thread.failed', 'thread.cancelled',
    'thread.parked', 'thread.imported', 'thread.handed_off', 'state.edited', 'rollback.started',
    'rollback.retried', 'rollback.finished', 'rollback.run_on', 'input.received',
    'effect.started', 'effect.finished', 'effect.failed', 'effect.settled',
    'compensation.started', 'compensation.finished', 'compensation.failed', 'pause.requested',
    'code.changed', 'code.pinned', 'code.unpinned', 'checkpoint.skipped', 'node.skipped');

-- An index over the searchable values of threads, which the board's query looks for.
CREATE INDEX gp_thread_searchable ON gp_thread USING gin (searchable jsonb_path_ops)
  WHERE searchable IS NOT NULL;

-- An index over verdicts by their time: a search for one that few gave looks at no others.
CREATE INDEX gp_event_verdicts ON gp_event (workspace_id, (data ->> 'verdict'), at, thread_id,
    seq)
  WHERE kind IN ('approval.requested', 'approval.decided', 'approval.withdrawn',
    'approval.expired', 'approval.settled', 'approval.escalated', 'approval.reminded',
    'approval.replied', 'decision.recorded', 'decision.taken_back', 'decision.refused',
    'operation.done', 'operation.failed');

-- An index over the undos that failed, by their effect: few rows however long the log.
CREATE INDEX gp_event_failed_undo ON gp_event (thread_id, (data ->> 'activity'), seq)
  WHERE kind = 'compensation.failed';

-- An index over the payees of effects, by which the record is searched at any depth.
CREATE INDEX gp_activity_payee ON gp_activity USING gin (gp_payee_trigrams(args))
  WITH (fastupdate = on, gin_pending_list_limit = 64)
  WHERE kind = 'effect';

-- An index over the sign-ins that began: each login of a browser is looked up by it.
CREATE INDEX gp_workspace_event_login ON gp_workspace_event ((data ->> 'login'))
  WHERE kind = 'login.begun';

-- An index over the effects that began and are not settled: few rows however long the thread.
CREATE INDEX gp_activity_open ON gp_activity (thread_id)
  WHERE kind = 'effect' AND state = 'started';

-- One index over titles, agents, labels, errors and starters. Each change of a status writes the
-- words again: gathered in a short list that costs half of writing them at once, and that a search
-- reads through and a commit empties in a moment.
CREATE INDEX gp_thread_terms ON gp_thread USING gin (gp_thread_terms(title, id, agent, labels,
    status, status_reason, started_by))
  WITH (fastupdate = on, gin_pending_list_limit = 64);
