#!/bin/sh
# All benchmarks of streams on Spark, one after another, and the projection from their numbers.
#
#   benchmarks/run_spark_benchmarks.sh [FOLDER] [--full]
#
# FOLDER (build/spark-benchmarks) gets a log and a JSON file of each. The quick suite takes about
# fifteen minutes on two quiet cores, the full one an hour or two.
set -eu
folder=build/spark-benchmarks
size=--quick
kills="--kills 3 --executors 1 --pieces 8 --cases window,join,collision_warning"
for given in "$@"; do
    case "$given" in
    --full)
        size=
        kills="--kills 30 --executors 2"
        ;;
    *) folder=$given ;;
    esac
done
here=$(dirname "$0")
python=${PYTHON:-python}
mkdir -p "$folder"

run() { # NAME SCRIPT ARGUMENTS…
    name=$1
    shift
    echo "== $*"
    began=$(date +%s)
    if "$python" "$here/$@" >"$folder/$name.log" 2>&1; then
        cat "$folder/$name.log"
    else
        cat "$folder/$name.log"
        echo "$name failed" >&2
        failed="$failed $name"
    fi
    echo "   $(($(date +%s) - began)) s"
}

failed=
run stream bench_spark_stream.py $size --json "$folder/stream.json"
run growth bench_spark_growth.py $size --json "$folder/growth.json"
run memory bench_spark_memory.py $size --json "$folder/memory.json"
run kills kill_spark.py $kills
run projection spark_projection.py "$folder/stream.json" "$folder/growth.json"
if [ -n "$failed" ]; then
    echo "failed:$failed" >&2
    exit 1
fi
