-- gp_trigrams: every three characters in a row of a text, in lower case. A text that stands inside
-- of another has no trigram that the other lacks.
CREATE FUNCTION gp_trigrams(content text) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 200
RETURN ARRAY(SELECT DISTINCT substr(l.content, n, 3)
  FROM (SELECT lower(content)) l (content), generate_series(1, length(l.content) - 2) n);

-- gp_payee_trigrams: those of all payees in a proposal, under the keys that say so, at any depth;
-- NULL where there is none. A value of more than 1,000 characters is no name: it has the entry `*`
-- alone, which every search accepts. A test compares the keys with
-- `dashboard.wording.parties.PAYEES`.
-- Its body is bound when it is made: the path of who builds an index has no schema of ours.
CREATE FUNCTION gp_payee_trigrams(args jsonb) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 500
-- Looking for a key in the text costs a tenth of walking through the values.
RETURN CASE WHEN args::text
    ~ '"(payee|creditor|creditor_name|beneficiary|recipient|supplier|vendor|customer|to)": '
  THEN (SELECT array_agg(DISTINCT trigram) FROM jsonb_path_query(args,
      'strict $.** ? (@.type() == "object").keyvalue()', '{}', true) m,
      unnest(CASE WHEN length(m ->> 'value') > 1000 THEN '{*}'
        ELSE gp_trigrams(m ->> 'value') END) trigram
    WHERE m ->> 'key' IN ('payee', 'creditor', 'creditor_name', 'beneficiary', 'recipient',
      'supplier', 'vendor', 'customer', 'to')) END;
