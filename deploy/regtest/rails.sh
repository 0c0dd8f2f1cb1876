#!/bin/sh
# Admits the sellers to the rails cluster, as the market's operator: the cheap offers that buyers ask for are of it.
set -eu
for seller in ada bob; do
  penstock seller grant "$(cat "${KEYS:-/keys}/$seller")" --reason 'Seller of the demonstration.'
done
