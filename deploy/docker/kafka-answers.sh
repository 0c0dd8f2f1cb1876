#!/bin/bash
# Asks the broker which versions it speaks. Every client may ask so before its log-in. Kafka's own tools start a JVM for that.
# The request: 10 bytes, ApiVersions (18) in version 0, correlation 7, no client's name.
set -eu
exec 3<>"/dev/tcp/127.0.0.1/${1:-9092}"
printf '\0\0\0\x0a\0\x12\0\0\0\0\0\x07\xff\xff' >&3
# The answer: its length, the correlation, and no error.
[ "$(timeout 5 head -c 10 <&3 | od -An -tx1 | tr -d ' \n' | cut -c 9-)" = 000000070000 ]
