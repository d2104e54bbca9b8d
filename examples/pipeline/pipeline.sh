#!/bin/sh
# Hold the debates of study.yaml, or resume them, and hold the study against gate.yaml.
# Exit code: 0 the gate holds, 1 it is exceeded, 3 it cannot be told, 2 a usage error.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-candidate}

offrecord run --out "$out" "$here/study.yaml"
offrecord audit "$out" --gate "$here/gate.yaml" \
    --json "$out/audit.json" --junit "$out/audit.xml" --review "$out/review.csv"
