import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { test } from 'vitest'
import { fetchPinned, PINNED } from './pinned.ts'

/** In a process of its own: the hooks of node are not those of the test runner. */
const program = `
  import { registerHooks } from 'node:module'
  import { importPinned } from './pinned.ts'
  const file = (name) => new URL(name, import.meta.url)
  const result = await import('../../packages/kernel/src/result.ts')
  const oldResult = await importPinned(file('../../packages/kernel/src/result.ts'))
  // From now on each module is noted by where its text is taken from.
  const texts = new Set()
  registerHooks({ load: (url, context, next) => (texts.add(url.split('?')[0]), next(url, context)) })
  const placesOf = async (load) => {
    texts.clear()
    const replica = await load(file('./replica.ts'))
    const { channel } = await load(file('../../packages/contracts/src/channel.ts'))
    const of = (part) => [...texts].filter((url) => url.includes(part) && !url.endsWith('.contract.ts'))
    const ours = [...of('/packages/contracts/src/'), ...of('/services/')]
    return {
      start: typeof replica.startReplica,
      seen: channel.facts.FundingSeen.v,
      pinned: ours.filter((url) => url.includes('/release-${PINNED}-')).length,
      today: ours.filter((url) => !url.includes('/release-')).length,
      settles: ours.some((url) => url.endsWith('services/settlement/src/service.ts')),
    }
  }
  const old = await placesOf(importPinned)
  const today = await placesOf((url) => import(url.href))
  console.log(JSON.stringify({ old, today, faults: result.Fault === oldResult.Fault }))`

type Places = {
  readonly start: string
  readonly seen: number
  readonly pinned: number
  readonly today: number
  readonly settles: boolean
}

test(`a process of the release ${PINNED} runs the contracts and services of that commit, and shares the rest`, (context) => {
  const missing = fetchPinned()
  if (missing !== undefined) return context.skip(missing)
  const folder = fileURLToPath(new URL('.', import.meta.url))
  const said = execFileSync(process.execPath, ['--no-warnings', '--input-type=module', '--eval', program], {
    cwd: folder,
    encoding: 'utf8',
  })
  const { old, today, faults } = JSON.parse(said) as { old: Places; today: Places; faults: boolean }
  assert.ok(faults, 'what is no contract is shared')
  // That commit wrote the first version of this fact; it has had a second one ever since.
  assert.deepEqual({ start: old.start, seen: old.seen, settles: old.settles }, { start: 'function', seen: 1, settles: true })
  assert.ok(today.seen > 1)
  // All of its services and contracts, and not a single one of today's.
  assert.ok(old.pinned > 100)
  assert.equal(old.today, 0)
  assert.ok(today.today > 100)
  assert.equal(today.pinned, 0)
})
