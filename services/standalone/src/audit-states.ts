#!/usr/bin/env node
import { once } from 'node:events'
import { openAnywhere } from '@penstock/platforms/stored.ts'
import { stateLines } from '@penstock/runtime/audit-states.ts'
import { audited } from './services.ts'

// What `penstock audit diff` of another version runs here: see packages/runtime/src/audit-states.ts for the lines.
const store = await openAnywhere(process.argv[2] ?? '')
const LINES = 256
let lines: string[] = []
const flush = async (): Promise<void> => {
  const isTaken = process.stdout.write(lines.map((line) => `${line}\n`).join(''))
  lines = []
  if (!isTaken) await once(process.stdout, 'drain')
}
for await (const line of stateLines(store, audited())) if (lines.push(line) === LINES) await flush()
await flush()
await store.close()
