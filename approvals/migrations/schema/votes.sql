-- gp_approval_former_code: clears the count of votes where code that does not know its columns
-- writes a request, so that the sweep counts anew. What that code closes is nobody's turn.
CREATE FUNCTION gp_approval_former_code() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.status <> 'pending' THEN
    IF NEW.due_seats <> '{}' THEN
      NEW.due_seats := '{}';
      NEW.due_except := '{}';
      NEW.tally := NULL;
    END IF;
  ELSIF NEW.due_seats = '{}' THEN
    NEW.tally := NULL;
  ELSIF TG_OP = 'UPDATE' AND OLD.status = 'pending' AND NEW.tally = OLD.tally THEN
    NEW.tally := NULL;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER gp_approval_former_code
  BEFORE INSERT OR UPDATE OF status, standing_hash, escalated_at ON gp_approval
  FOR EACH ROW EXECUTE FUNCTION gp_approval_former_code();

-- Requests by whose turn it is, and those that the sweep still has to count.
CREATE INDEX gp_approval_by_turn ON gp_approval USING gin (due_seats) WHERE status = 'pending';
CREATE INDEX gp_approval_uncounted ON gp_approval (id) WHERE tally IS NULL;
