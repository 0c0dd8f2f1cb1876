import type { Invoice } from '@penstock/ports/lightning.ts'
import type { Ask } from '@penstock/runtime/service.ts'
import { until } from '@penstock/testkit/until.ts'
import { expect, test } from 'vitest'
import { E, HASH, stateAfter, stranger, toHeld, toOpen } from '../samples.contract.ts'
import type { Jobs } from './record.ts'
import { slots } from './slots.ts'
import { openWatch } from './watch.ts'

test('after a restart what is held already has its slots before a new payment takes one', async () => {
  const stop = new AbortController()
  const states = { paying: stateAfter(...toOpen), holding: stateAfter(...toHeld) }
  const arrived: Invoice = {
    paymentHash: HASH,
    request: '',
    amountMsat: 5_000_000n,
    state: 'held',
    htlcs: [{ amountMsat: 5_000_000n, expiryHeight: E, peer: stranger, state: 'held', acceptedAt: null }],
  }
  const said: Ask['command'][] = []
  const context = {
    ports: {
      config: { heldPerPeer: 1 },
      clock: {
        now: () => 0,
        monotonicMs: () => 0,
        sleep: (_: number, signal: AbortSignal) => new Promise<void>((end) => signal.addEventListener('abort', () => end())),
      },
      chain: { tip: () => Promise.resolve({ height: 900 }) },
      lightning: {
        info: () => Promise.resolve({ height: 901 }),
        holds: {
          async *changes() {
            yield arrived
          },
        },
      },
    },
    unfinished: () => Promise.resolve(['paying', 'holding']),
    load: (_: string, id: keyof typeof states) => Promise.resolve({ state: states[id], revision: 1 }),
    decide: ({ command }: Ask) => {
      said.push(command)
      return Promise.resolve({ outcome: 'accepted', revision: 1 })
    },
    advance: () => Promise.resolve(),
  }
  // Only what the watch calls is there.
  const running = openWatch(slots()).job.run(context as unknown as Jobs, stop.signal)
  await until('the payment is told', () => said.length > 0)
  expect(said).toMatchObject([{ type: 'RecordHeld', data: { crowdedPeer: stranger, height: 901 } }])
  stop.abort()
  await running
})
