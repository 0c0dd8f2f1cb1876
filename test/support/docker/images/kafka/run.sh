#!/bin/bash
# As the official image: KAFKA_A_B__C___D=x becomes a.b_c-d=x in server.properties, and the folder is formatted at the first start.
set -eu
config=/opt/kafka/config/server.properties
env | sed -n 's/^KAFKA_\([A-Z_]*=\)/\1/p' | while IFS='=' read -r name value; do
  case $name in HEAP_OPTS | OPTS) continue ;; esac
  key=$(printf '%s' "$name" | sed 's/___/-/g; s/__/\x01/g; s/_/./g; s/\x01/_/g' | tr '[:upper:]' '[:lower:]')
  printf '%s=%s\n' "$key" "$value"
done >"$config"
folder=$(sed -n 's/^log\.dirs=//p' "$config")
quiet=-Dorg.slf4j.simpleLogger.defaultLogLevel=warn
if [ ! -f "$folder/meta.properties" ]; then
  java -Xmx256M $quiet -cp '/opt/kafka/libs/*' kafka.tools.StorageTool format \
    --cluster-id "${CLUSTER_ID:-5L6g3nShT-eMCtK--X86sw}" --config "$config" --ignore-formatted
fi
# shellcheck disable=SC2086 # lists of words
exec java ${KAFKA_HEAP_OPTS:--Xmx1G -Xms1G} -server -XX:+UseG1GC ${KAFKA_OPTS:-} $quiet -cp '/opt/kafka/libs/*' kafka.Kafka "$config"
