-- look -- The clock in microseconds; breakers, budgets and numbers of what is stuck; a mark.
-- A board shows the newest threads of all and of each lane the first: these show whether it moved,
-- however many others there are. A thread that a late commit brings is among the newest.
SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS clock,
  ({stuck}) AS stuck, ({open_ones}) AS open_ones, ({reached}) AS reached, ({damage}) AS damage,
  newest.since, newest.mark AS newest, first.mark AS first
FROM (SELECT max(x.status_since) AS since,
    sum(extract(epoch FROM x.status_since) + x.last_seq) AS mark
  FROM (SELECT th.status_since, th.last_seq FROM gp_thread th WHERE th.workspace_id = %s::uuid
    ORDER BY th.status_since DESC, th.id DESC LIMIT {shown}) x) newest,
  (SELECT sum(extract(epoch FROM x.status_since) + x.last_seq) AS mark
  FROM unnest(%s::text[]) AS lane(status) CROSS JOIN LATERAL (SELECT th.status_since, th.last_seq
    FROM gp_thread th WHERE th.workspace_id = %s::uuid AND th.status = lane.status AND {top}
    ORDER BY th.status_since, th.id LIMIT {shown}) x) first
