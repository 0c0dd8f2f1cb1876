import { systemChance } from '@penstock/adapters/system/chance.ts'
import type { Invoice } from '@penstock/ports/lightning.ts'
import type { AddressedCommand } from '@penstock/kernel/process.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { expect, test } from 'vitest'
import { E, HASH, stateAfter, stranger, heldHistory, openHistory } from '../../samples.fixture.ts'
import type { SettlementJobContext } from '../stream-access.ts'
import { newPeerSlots } from './peer-slots.ts'
import { openInvoiceWatch } from './invoice-watch.ts'

test('after a restart, held payments take their slots before a new payment', async () => {
  const stop = new AbortController()
  const states = { paying: stateAfter(...openHistory), holding: stateAfter(...heldHistory) }
  const arrived: Invoice = {
    paymentHash: HASH,
    request: '',
    amountMsat: 5_000_000n,
    state: 'held',
    htlcs: [{ amountMsat: 5_000_000n, expiryHeight: E, peer: stranger, state: 'held', acceptedAt: null }],
  }
  const commands: AddressedCommand['command'][] = []
  const context = {
    ports: {
      config: { heldPerPeer: 1 },
      clock: {
        now: () => 0,
        monotonicMs: () => 0,
        sleep: (_: number, signal: AbortSignal) => new Promise<void>((end) => signal.addEventListener('abort', () => end())),
      },
      ids: systemChance,
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
    listOpenStreams: () => Promise.resolve(['paying', 'holding']),
    load: (_: string, id: keyof typeof states) => Promise.resolve({ state: states[id], revision: 1 }),
    decide: ({ command }: AddressedCommand) => {
      commands.push(command)
      return Promise.resolve({ outcome: 'accepted', revision: 1 })
    },
    runProcess: () => Promise.resolve(),
  }
  // The fake contains only what the watch calls.
  const running = openInvoiceWatch(newPeerSlots()).job.run(context as unknown as SettlementJobContext, stop.signal)
  await waitUntil('the payment is recorded', () => commands.length > 0)
  expect(commands).toMatchObject([{ type: 'RecordHeld', data: { crowdedPeer: stranger, height: 901 } }])
  stop.abort()
  await running
})
