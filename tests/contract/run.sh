#!/usr/bin/env bash
# Other people's programs judge the documents and the gateway behind them: validators of OpenAPI, schemathesis, clients
# that public generators made, and webhook libraries. Run by tests/bed/suite.sh with QUIPU_BIN, the binary under test.
#
#   QUIPU_CONTRACT_EXAMPLES  how many examples schemathesis makes for each operation (3)
#   QUIPU_CONTRACT_SECONDS   how long it may take for the operations of each document (30); half as long for its links
#   QUIPU_CONTRACT_SEED      where its randomness begins (1); `make soak` takes another each time
set -euo pipefail
cd "$(dirname "$0")"
here=$PWD
. ../bed/install.sh

: "${QUIPU_BIN:?the binary under test}"
need python3 python3
need node nodejs
need npm npm

tools=$(./tools.sh)
PATH="$tools/bin:$PATH"
npm ci --no-audit --no-fund --silent

work=$(mktemp -d "${TMPDIR:-/tmp}/quipu-contract.XXXXXX")
stop() {
    trap - EXIT INT TERM HUP
    [ -z "${gateway-}" ] || { kill -TERM "$gateway" 2>/dev/null || true; wait "$gateway" 2>/dev/null || true; }
    rm -rf "$work"
}
trap 'stop' EXIT
trap 'stop; exit 130' INT
trap 'stop; exit 143' TERM HUP

plenty=100000000
for limit in PAYMENT_CREATE_PER_MINUTE PAYMENT_CREATE_PER_10S STANDARD_PER_MINUTE CALLBACKS_PER_MINUTE \
    UNAUTHENTICATED_PER_MINUTE PAGES_PER_MINUTE; do
    export "QUIPU__LIMITS__$limit=$plenty"
done
QUIPU__LISTEN=127.0.0.1:0 QUIPU__METRICS_LISTEN=127.0.0.1:0 QUIPU__SIMULATOR__DELAY=100ms \
    QUIPU__DATABASE_URL="sqlite://$work/data/quipu.db" \
    setpriv --pdeathsig TERM "$QUIPU_BIN" serve --dev --data "$work/data" >"$work/printed" 2>"$work/log" &
gateway=$!
export QUIPU_CREDENTIALS="$work/data/dev-credentials.json"
for i in $(seq 600); do
    base=$(python3 -c 'import json, os; print(json.load(open(os.environ["QUIPU_CREDENTIALS"]))["base_url"])' 2>/dev/null) &&
        [ -n "$base" ] && curl -sf "$base/readyz" >/dev/null && break
    kill -0 "$gateway" 2>/dev/null || { cat "$work/log" >&2; bed_fail "The gateway ended."; }
    sleep 0.1
done
export QUIPU_BASE_URL="${base:?the gateway is not ready}"
token=$(python3 -c 'import json, os; print(json.load(open(os.environ["QUIPU_CREDENTIALS"]))["operator_token"])')
QUIPU_OPERATOR_ID=$(curl -sf "$base/operator/v1/operators" -H "Authorization: Bearer $token" |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["data"][-1]["operator_id"])')
export QUIPU_OPERATOR_ID

bed_say "both documents are OpenAPI 3.0.3"
for document in api/v1 operator/v1; do
    curl -sf "$base/$document/openapi.json" -o "$work/${document%%/*}.json"
    openapi-spec-validator --schema 3.0 "$work/${document%%/*}.json"
done

bed_say "a generated Python client creates, reads and lists, and the Python library verifies a delivery"
mkdir "$work/python"
# Files are sent and fetched by their URLs; the generator knows no pictures, and says so of four operations.
openapi-python-client generate --path "$work/api.json" --output-path "$work/python/quipu_client" --meta none \
    >"$work/generated" 2>&1 || { cat "$work/generated" >&2; exit 1; }
python3 - "$work/generated" <<'PYTHON'
import re, sys
text = open(sys.argv[1]).read()
said = set(re.findall(r"^WARNING parsing (.*?) within", text, re.M))
expected = {
    "GET /files/{environment}/{merchant}/{ticket}/{attachment}",
    "GET /files/{environment}/{merchant}/{ticket}/{attachment}/thumbnail",
    "GET /logos/{name}",
    "PUT /uploads/{environment}/{merchant}/{ticket}/{attachment}",
}
sys.exit(f"{text}\nthe generator warns of other operations: {said ^ expected}" if said != expected else 0)
PYTHON
openapi-python-client generate --path "$work/operator.json" --output-path "$work/python/quipu_operator" --meta none \
    --fail-on-warning >"$work/generated" 2>&1 || { cat "$work/generated" >&2; exit 1; }
PYTHONPATH="$work/python" timeout 120 python3 client.py

bed_say "a generated TypeScript client does the same, and the JavaScript library verifies a delivery"
mkdir "$work/typescript"
ln -s "$PWD/node_modules" "$work/typescript/node_modules"
echo '{"type": "module"}' >"$work/typescript/package.json"
cp client.ts "$work/typescript/client.ts"
npx --no-install openapi-typescript "$work/api.json" --output "$work/typescript/quipu.d.ts" >/dev/null
(cd "$work/typescript" && npx --no-install tsc --strict --target es2022 --module nodenext --skipLibCheck client.ts)
timeout 120 node "$work/typescript/client.js"

# What it holds against single operations is in its configuration.
cp schemathesis.toml "$work/"
judge() {
    local document=$1 phases=$2 seconds=$3
    # Left out is only positive_data_acceptance: whether a payment is accepted depends on balances, routes and earlier
    # payments, which no schema can say.
    (cd "$work" && SCHEMATHESIS_HOOKS=hooks PYTHONPATH="$here" PYTHONDONTWRITEBYTECODE=1 schemathesis run "$base/$document" --workers 1 \
        --phases "$phases" --max-examples "${QUIPU_CONTRACT_EXAMPLES:-3}" --max-time "$seconds" \
        --seed "${QUIPU_CONTRACT_SEED:-1}" --continue-on-failure --no-color --warnings off \
        --exclude-checks positive_data_acceptance) >"$work/judged-${document%%/*}" 2>&1
}
judge_both() {
    judge api/v1/openapi.json "$@" &
    local merchants=$! failed=no
    judge operator/v1/openapi.json "$@" &
    wait "$merchants" || failed=yes
    wait "$!" || failed=yes
    [ "$failed" = no ] || { cat "$work"/judged-* >&2; exit 1; }
}
# When its time is over it ends without a word.
no_time() { bed_fail "schemathesis had no time for every $1 of ${2##*-}: give it more QUIPU_CONTRACT_SECONDS."; }
seconds=${QUIPU_CONTRACT_SECONDS:-30}

bed_say "schemathesis calls every operation of both documents"
judge_both examples,coverage,fuzzing "$seconds"
for judged in "$work/judged-api" "$work/judged-operator"; do
    sed -n '/= SUMMARY/,$p' "$judged"
    selected=$(sed -n 's|^ *Selected: *\([0-9]*\)/.*|\1|p' "$judged")
    [ "${selected:-0}" -gt 0 ] && [ "$selected" = "$(sed -n 's|^ *Tested: *||p' "$judged")" ] || no_time operation "$judged"
done

bed_say "schemathesis follows links from one operation to the next"
judge_both stateful "$((seconds / 2))"
for judged in "$work/judged-api" "$work/judged-operator"; do
    sed -n '/API Links/p; /= SUMMARY/,$p' "$judged"
    grep -qE 'API Links: +[1-9][0-9]* covered' "$judged" || no_time link "$judged"
done

# Whatever was sent, nothing failed by our own fault.
! grep -E 'panicked|"level":"ERROR"| ERROR ' "$work/log" >&2 || bed_fail "The gateway's log has errors."
