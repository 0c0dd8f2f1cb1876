#!/usr/bin/env node
import { once } from 'node:events'
import { openStoreAt } from '@penstock/platforms/open-store.ts'
import { printStates } from '@penstock/audit/diff.ts'
import { createStreamServices } from './registry.ts'

// The `penstock audit diff` of another version runs this program; packages/audit/src/diff.ts describes the lines.
const store = await openStoreAt(process.argv[2] ?? '')
const LINES = 256
let lines: string[] = []
const flush = async (): Promise<void> => {
  const isTaken = process.stdout.write(lines.map((line) => `${line}\n`).join(''))
  lines = []
  if (!isTaken) await once(process.stdout, 'drain')
}
for await (const line of printStates(store, createStreamServices())) if (lines.push(line) === LINES) await flush()
await flush()
await store.close()
