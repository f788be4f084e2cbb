-- gp_parts: all pieces of three characters of a text, in lower case; the text is found by them,
-- whatever stands before and behind it.
CREATE OR REPLACE FUNCTION gp_parts(content text) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 200
RETURN ARRAY(SELECT DISTINCT substr(l.content, n, 3)
  FROM (SELECT lower(content)) l (content), generate_series(1, length(l.content) - 2) n);

-- gp_payee_parts: those of all payees in a proposal, by the names that say so, at any depth; NULL
-- where there is none. A value of more than 1,000 characters is no name: its piece is `*`, which a
-- search takes for any name. A test compares the names with `dashboard.wording.parties.PAYEES`.
-- Its body is bound when it is made: an index is built without the schema of gp_parts on the path.
CREATE OR REPLACE FUNCTION gp_payee_parts(args jsonb) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 500
-- To look for a name in the text costs a tenth of walking through the values.
RETURN CASE WHEN args::text
    ~ '"(payee|creditor|creditor_name|beneficiary|recipient|supplier|vendor|customer|to)": '
  THEN (SELECT array_agg(DISTINCT part) FROM jsonb_path_query(args,
      'strict $.** ? (@.type() == "object").keyvalue()', '{}', true) m,
      unnest(CASE WHEN length(m ->> 'value') > 1000 THEN '{*}'
        ELSE gp_parts(m ->> 'value') END) part
    WHERE m ->> 'key' IN ('payee', 'creditor', 'creditor_name', 'beneficiary', 'recipient',
      'supplier', 'vendor', 'customer', 'to')) END;
