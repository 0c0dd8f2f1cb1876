import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { test } from 'vitest'
import { fetchPinned, PINNED } from './pinned.ts'

/** In a process of its own: the hooks of node are not those of the test runner. */
const program = `
  import { importPinned } from './pinned.ts'
  const file = (name) => new URL(name, import.meta.url)
  const today = { replica: await import('./replica.ts'), contracts: await import('../../packages/contracts/src/all.ts') }
  const old = { replica: await importPinned(file('./replica.ts')), contracts: await importPinned(file('../../packages/contracts/src/all.ts')) }
  const result = await import('../../packages/kernel/src/result.ts')
  const oldResult = await importPinned(file('../../packages/kernel/src/result.ts'))
  console.log(JSON.stringify({
    replicas: today.replica.startReplica !== old.replica.startReplica,
    contracts: today.contracts.contracts !== old.contracts.contracts,
    place: old.contracts.contractOf.toString() !== '',
    faults: result.Fault === oldResult.Fault,
  }))`

test(`a process of the release ${PINNED} has everything of its own that knows contracts, and shares the rest`, (context) => {
  const missing = fetchPinned()
  if (missing !== undefined) return context.skip(missing)
  const folder = fileURLToPath(new URL('.', import.meta.url))
  const said = execFileSync(process.execPath, ['--no-warnings', '--input-type=module', '--eval', program], {
    cwd: folder,
    encoding: 'utf8',
  })
  assert.deepEqual(JSON.parse(said), { replicas: true, contracts: true, place: true, faults: true })
})
