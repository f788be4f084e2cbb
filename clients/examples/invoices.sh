#!/usr/bin/env bash
# invoices.sh MONTH: an agent in bash. Its first step is kept, its payment waits for a person, and the
# same command goes on where a killed one stopped. Needs curl, jq, GATEPOST_URL and GATEPOST_TOKEN.
set -euo pipefail

month=$1
ledger=${LEDGER:-paid.txt} # where a payment leaves its line
seconds=20                 # nobody else takes the thread for so long when this process dies
token=

call() { # METHOD PATH [BODY]: prints the answer; repeats what had none
  local args=(--silent --show-error --fail-with-body --request "$1" --max-time 60)
  args+=(--retry 8 --retry-connrefused --header "Authorization: Bearer $GATEPOST_TOKEN")
  if [ -n "$token" ]; then args+=(--header "Gatepost-Lease: $token"); fi
  # Sent again, a change with this key is done once.
  if [ "$1" = POST ]; then args+=(--header "Idempotency-Key: $$-$RANDOM-$RANDOM-$RANDOM"); fi
  if [ $# -gt 2 ]; then args+=(--header "Content-Type: application/json" --data "$3"); fi
  curl "${args[@]}" "$GATEPOST_URL/api/v1$2"
}

take_lease() { # waits, without holding anything, until the thread can be worked on
  local next after="" printed=""
  token=
  while :; do
    next=$(call GET "/threads/$thread/next/?wait=10${after:+&after=$after}")
    case $(jq --raw-output .do <<<"$next") in
    ended)
      jq --raw-output '"ended: \(.thread.status)"' <<<"$next"
      exit 0
      ;;
    take)
      if lease=$(call POST "/threads/$thread/lease/" "{\"name\": \"bash-$$\", \"seconds\": $seconds}"); then
        token=$(jq --raw-output .token <<<"$lease")
        return
      fi
      sleep 2
      continue
      ;;
    esac
    if [ "$(jq --raw-output .reason <<<"$next")" != "$printed" ]; then
      printed=$(jq --raw-output .reason <<<"$next")
      echo "$printed" >&2
    fi
    after=$(jq .seq <<<"$next")
    # The log says nothing when the lease of a killed process ends.
    if [ "$(jq --raw-output .lease <<<"$next")" = other ]; then
      after=
      sleep 2
    fi
  done
}

keep_lease() {
  while sleep $((seconds / 3)); do
    call POST "/threads/$thread/lease/renew/" "{\"seconds\": $seconds}" >/dev/null || return
  done
}

step() { echo $(($(jq .thread.step <<<"$lease") + 1)); }

commit() { # NODE DELTA: makes a step part of the record
  local body
  body=$(jq --null-input --arg node "$1" --argjson delta "$2" --argjson step "$(step)" \
    '{step: $step, nodes: [$node], delta: $delta}')
  lease=$(call POST "/threads/$thread/checkpoints/" "$body" |
    jq --argjson lease "$lease" '$lease + {thread: .thread}')
}

# 1. Start the thread of this month, or go on with it.
thread=$(call POST /threads/ "$(jq --null-input --arg month "$month" '{
  agent: "invoices-in-bash", name: $month, input: {month: $month},
  external: {framework: "curl", version: 1, channels: {steps: "merge"},
             tools: {pay: {idempotent: false}}}
}')" | jq --raw-output .id)
echo "thread: $thread"
take_lease
keep_lease &
keeper=$!
trap 'kill $keeper 2>/dev/null || true' EXIT

# 2. A step: done once, then its result is in the state.
total=$(jq '.state.steps.add_up // empty' <<<"$lease")
if [ -z "$total" ]; then
  echo "adding up $month"
  total=42
  commit add_up "{\"merge\": {\"steps\": {\"add_up\": $total}}}"
fi

# 3. An effect: people are asked first; exactly what they approved is done, once.
if [ "$(jq 'has("state") and (.state.steps | has("pay"))' <<<"$lease")" != true ]; then
  while :; do
    begun=$(call POST "/threads/$thread/activities/begin/" "$(jq --null-input --argjson total "$total" \
      --argjson step "$(step)" '{node: "pay", key: "pay", step: $step, kind: "effect", tool: "pay",
        args: {amount: $total}, gate: {title: "Pay \($total) EUR?", risk: "medium"}}')")
    case $(jq --raw-output .do <<<"$begun") in
    call) # with the decided arguments; the key lets a bank refuse a second one
      jq --raw-output '"\(.args.amount) \(.idempotency_key)"' <<<"$begun" >>"$ledger"
      call POST "/threads/$thread/activities/settle/" "$(jq '{node: "pay", key: "pay", kind: "effect",
        tool: "pay", state: "done", result: {paid: .args.amount}}' <<<"$begun")" >/dev/null
      result=$(jq '{paid: .args.amount}' <<<"$begun")
      break
      ;;
    answer)
      result=$(jq .result <<<"$begun")
      break
      ;;
    refused)
      call POST "/threads/$thread/lease/release/" \
        "$(jq '{as: "failed", reason: "Rejected: \(.reason)"}' <<<"$begun")" >/dev/null
      jq --raw-output '"refused: \(.reason)"' <<<"$begun"
      exit 1
      ;;
    *) # the lease is gone while people decide
      kill "$keeper" 2>/dev/null || true
      take_lease
      keep_lease &
      keeper=$!
      ;;
    esac
  done
  commit pay "{\"merge\": {\"steps\": {\"pay\": $result}}}"
fi

# 4. Done.
call POST "/threads/$thread/lease/release/" '{"as": "succeeded"}' >/dev/null
echo "ended: succeeded"
