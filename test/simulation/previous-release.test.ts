import assert from 'node:assert/strict'
import { fileURLToPath } from 'node:url'
import { test } from 'vitest'
import { fetchPreviousRelease, PREVIOUS_RELEASE } from './previous-release.ts'
import { runSuccessfullySync } from '../support/processes.ts'

/** The program runs in a separate process, because the test runner has its own module hooks. */
const program = `
  import { registerHooks } from 'node:module'
  import { importPreviousRelease } from './previous-release.ts'
  const file = (name) => new URL(name, import.meta.url)
  const result = await import('../../packages/kernel/src/result.ts')
  const oldResult = await importPreviousRelease(file('../../packages/kernel/src/result.ts'))
  // From now on the hook records the URL from which each module is loaded.
  const texts = new Set()
  registerHooks({ load: (url, context, next) => (texts.add(url.split('?')[0]), next(url, context)) })
  const placesOf = async (load) => {
    texts.clear()
    const replica = await load(file('./replica.ts'))
    const { channelContract } = await load(file('../../packages/contracts/src/channel.ts'))
    const filesOf = (part) => [...texts].filter((url) => url.includes(part) && !/\\.(contract|fixture)\\.ts$/.test(url))
    const ours = [...filesOf('/packages/contracts/src/'), ...filesOf('/services/')]
    return {
      start: typeof replica.startReplica,
      seen: channelContract.facts.FundingSeen.v,
      pinned: ours.filter((url) => url.includes('/release-${PREVIOUS_RELEASE}-')).length,
      today: ours.filter((url) => !url.includes('/release-')).length,
      settles: ours.some((url) => url.endsWith('services/settlement/src/service.ts')),
    }
  }
  const old = await placesOf(importPreviousRelease)
  const today = await placesOf((url) => import(url.href))
  console.log(JSON.stringify({ old, today, faults: result.Fault === oldResult.Fault }))`

type Places = {
  readonly start: string
  readonly seen: number
  readonly pinned: number
  readonly today: number
  readonly settles: boolean
}

test(`a process of release ${PREVIOUS_RELEASE} runs its services and contracts with the current runtime`, (context) => {
  const skipReason = fetchPreviousRelease()
  if (skipReason !== undefined) return context.skip(skipReason)
  const folder = fileURLToPath(new URL('.', import.meta.url))
  const args = ['--no-warnings', '--input-type=module', '--eval', program]
  const { stdout } = runSuccessfullySync(process.execPath, args, { cwd: folder })
  const { old, today, faults } = JSON.parse(stdout) as { old: Places; today: Places; faults: boolean }
  assert.ok(faults, 'what is no contract is shared')
  assert.deepEqual({ start: old.start, settles: old.settles }, { start: 'function', settles: true })
  assert.ok(old.seen <= today.seen, 'a fact of that commit has a newer version than the current one')
  // The previous release loads all services and contracts from its own commit, and none from the current checkout.
  assert.ok(old.pinned > 100)
  assert.equal(old.today, 0)
  assert.ok(today.today > 100)
  assert.equal(today.pinned, 0)
})
