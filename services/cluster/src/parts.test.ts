import assert from 'node:assert/strict'
import { test } from 'vitest'
import { ROLES } from './launcher/roles.ts'
import { parts } from './parts.ts'

test('every process with facts and tables has one part, and appends to no log but its own', () => {
  assert.deepEqual(
    parts()
      .map(({ service }) => service)
      .toSorted(),
    [...ROLES].toSorted(),
  )
  for (const { service, reads, appends } of parts()) assert.ok(!appends || reads.includes(service))
  assert.deepEqual(
    parts()
      .filter(({ appends }) => !appends)
      .map(({ service }) => service),
    ['gateway', 'audit'],
  )
})

test('a part reads what its service follows and no more', () => {
  const reads = (name: string) => parts().find(({ service }) => service === name)?.reads
  assert.deepEqual(reads('settlement')?.toSorted(), ['channel-watcher', 'settlement'])
  assert.deepEqual(reads('accounts')?.toSorted(), ['accounts', 'order'])
})
