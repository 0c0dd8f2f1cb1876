import { command } from '@penstock/kernel/process.ts'
import assert from 'node:assert/strict'
import { paymentHashClaimContract, type PayhashTarget } from '@penstock/contracts/settlement.ts'
import { createMemoryPlatform } from '@penstock/testkit/memory-platform.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { test } from 'vitest'
import { bind, run } from './run.ts'
import { on, defineService } from './service.ts'

test('after a restore only read-only jobs run, which can neither decide nor send, and no command gets an outcome', async () => {
  const world = await createMemoryPlatform({ PENSTOCK_RESTORED: '1' })
  const claim = command<PayhashTarget>('payhash', 'aa'.repeat(32), {
    type: 'ClaimPayhash',
    data: {
      orderId: '00000000-0000-4000-8000-000000000001',
    },
  })
  const seen: string[] = []
  const service = defineService('settlement', {
    reactions: [on(paymentHashClaimContract, 'PayhashClaimed', 'outpoint.ClaimOutpoint', () => [])],
    jobs: [
      {
        name: 'reads',
        isReadOnly: true,
        async run({ decide, send }) {
          await assert.rejects(decide(claim, 'c1'), /read-only after a restore/)
          await assert.rejects(send(claim, { commandId: 'c2', correlation: 'x' }), /PENSTOCK_RESTORED/)
          seen.push('read')
        },
      },
      { name: 'writes', run: () => Promise.resolve(void seen.push('written')) },
    ],
  })
  const running = await run([bind(service, {})], world.platform)
  const { send, outcomes } = await world.caller('settlement')
  await send(claim, 'c3')
  await waitUntil('the read-only job has run', () => seen.length > 0)
  await running.close()
  assert.deepEqual(seen, ['read'])
  assert.deepEqual(outcomes, [])
  assert.deepEqual(await world.store.readAll('start', 10), [])
})
