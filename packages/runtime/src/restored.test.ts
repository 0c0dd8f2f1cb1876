import assert from 'node:assert/strict'
import { payhash } from '@penstock/contracts/settlement.ts'
import { memoryWorld } from '@penstock/testkit/memory-world.ts'
import { until } from '@penstock/testkit/until.ts'
import { test } from 'vitest'
import { bind, run } from './run.ts'
import { ask, on, service } from './service.ts'

test('after a restore only what looks runs: it can neither decide nor send, and nobody is answered', async () => {
  const world = await memoryWorld({ PENSTOCK_RESTORED: '1' })
  const claim = ask(payhash, 'aa'.repeat(32), 'ClaimPayhash', { orderId: '00000000-0000-4000-8000-000000000001' })
  const seen: string[] = []
  const looking = service('settlement', {
    reactions: [on(payhash, 'PayhashClaimed', () => [])],
    jobs: [
      {
        name: 'looks',
        looksOnly: true,
        async run({ decide, send }) {
          await assert.rejects(decide(claim, 'c1'), /read-only after a restore/)
          await assert.rejects(send(claim, { commandId: 'c2', correlation: 'x' }), /PENSTOCK_RESTORED/)
          seen.push('looked')
        },
      },
      { name: 'acts', run: () => Promise.resolve(void seen.push('acted')) },
    ],
  })
  const running = await run([bind(looking, {})], world.platform)
  const { send, outcomes } = await world.caller('settlement')
  await send(claim, 'c3')
  await until('it has looked', () => seen.length > 0)
  await running.close()
  assert.deepEqual(seen, ['looked'])
  assert.deepEqual(outcomes, [])
  assert.deepEqual(await world.store.readAll('start', 10), [])
})
