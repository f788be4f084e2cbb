-- gp_thread_status and its siblings: the allowed values of the columns that each step writes.
-- Domains and not CHECKs: PostgreSQL reads a table's CHECK expressions anew in every statement that
-- writes the table (a fifth of a step's time in the server), and those of a domain once per
-- connection. The lists repeat checkpoints.states; a test compares them.
CREATE DOMAIN gp_thread_status AS varchar(20) CONSTRAINT gp_thread_status CHECK (VALUE IN (
  'queued', 'running', 'waiting', 'sleeping', 'paused', 'attention', 'succeeded', 'failed',
  'cancelled', 'rolling_back'));
CREATE DOMAIN gp_thread_effects AS varchar(10) CONSTRAINT gp_thread_effects CHECK (VALUE IN (
  'run', 'ask'));
CREATE DOMAIN gp_checkpoint_source AS varchar(10) CONSTRAINT gp_checkpoint_source CHECK (VALUE IN (
  'input', 'step', 'edit', 'fork', 'rollback', 'upgrade', 'import'));
CREATE DOMAIN gp_activity_state AS varchar(12) CONSTRAINT gp_activity_state CHECK (VALUE IN (
  'planned', 'started', 'done', 'failed', 'unknown', 'compensated'));
CREATE DOMAIN gp_activity_kind AS varchar(10) CONSTRAINT gp_activity_kind CHECK (VALUE IN (
  'activity', 'effect', 'model', 'node', 'value'));
-- noun.past_participle
CREATE DOMAIN gp_event_kind AS varchar(50) CONSTRAINT gp_event_kind
  CHECK (VALUE ~ '^[a-z]+[.][a-z_]+$');
-- The bar separates the parts of an event's hashed text.
CREATE DOMAIN gp_event_actor AS varchar(200) CONSTRAINT gp_event_actor
  CHECK (position('|' in VALUE) = 0);

ALTER TABLE gp_thread ALTER status TYPE gp_thread_status, ALTER effects TYPE gp_thread_effects;
ALTER TABLE gp_checkpoint ALTER source TYPE gp_checkpoint_source;
ALTER TABLE gp_activity ALTER state TYPE gp_activity_state, ALTER kind TYPE gp_activity_kind;
ALTER TABLE gp_event ALTER kind TYPE gp_event_kind, ALTER actor TYPE gp_event_actor;
ALTER TABLE gp_workspace_event ALTER kind TYPE gp_event_kind, ALTER actor TYPE gp_event_actor;
