-- Indexes over the payees of requests and of what reviewers edited them to.
CREATE INDEX gp_approval_payee ON gp_approval USING gin (gp_payee_trigrams(args))
  WITH (fastupdate = on, gin_pending_list_limit = 64);
CREATE INDEX gp_decision_payee ON gp_decision USING gin (gp_payee_trigrams(args))
  WITH (fastupdate = on, gin_pending_list_limit = 64)
  WHERE args IS NOT NULL;
