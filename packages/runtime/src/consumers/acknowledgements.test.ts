import assert from 'node:assert/strict'
import { contractOf } from '@penstock/contracts/contracts.ts'
import { v1 } from '@penstock/contracts/define.ts'
import { accept, type Decider, refuse } from '@penstock/kernel/decider.ts'
import type { Command, Fact } from '@penstock/kernel/message.ts'
import { command, commandStep } from '@penstock/kernel/process.ts'
import { createMemoryPlatform } from '@penstock/testkit/memory-platform.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { test } from 'vitest'
import { z } from 'zod'
import type { Clock } from '@penstock/ports/clock.ts'
import { bind, run } from '../run.ts'
import { defineAggregate, defineService } from '../service.ts'

const ORDER = '00000000-0000-4000-8000-000000000001'
const claimShape = { ...v1(z.strictObject({ orderId: z.uuid() })), from: ['order'] }
const payhash = { ...contractOf('payhash'), commands: { ClaimPayhash: claimShape } }
const outpoint = { ...contractOf('outpoint'), owner: 'order' }
const hashed = { version: 1, projections: { 1: (state: unknown) => state } }

type Claim = { readonly by: string | null }
type ClaimCommand = Command<string, { orderId: string; attempt?: number }>

/** The order sends a command for each claim and records nothing afterwards. */
const sender = defineService('order', {
  aggregates: [
    defineAggregate({
      contract: outpoint,
      decider: {
        initial: { by: null },
        evolve: (_, { data }) => ({ by: data.orderId }),
        decide: ({ by }, { data }) => (by ? accept() : accept({ type: 'OutpointClaimed', v: 1, data: { ...data, attempt: 1 } })),
      } satisfies Decider<Claim, ClaimCommand, Fact<'OutpointClaimed', { orderId: string }>>,
      hashed,
      process: ({ by }: Claim, id) =>
        by === null ? [] : [commandStep('claim', command('payhash', id, { type: 'ClaimPayhash', data: { orderId: by } }))],
      sentUntilHandled: ['payhash.ClaimPayhash'],
    }),
  ],
})

/** Starts the order with a receiver that decides each command by `decide`. */
async function startPair(decide: (nth: number) => ReturnType<Decider<Claim, ClaimCommand, Fact>['decide']>) {
  const { platform, caller } = await createMemoryPlatform()
  // Short waits let the recovery repeat its checks quickly.
  const clock: Clock = { ...platform.clock, sleep: (ms, signal) => platform.clock.sleep(Math.min(ms, 5), signal) }
  const decided: string[] = []
  const receiver = defineService('settlement', {
    aggregates: [
      defineAggregate({
        contract: payhash,
        decider: {
          initial: { by: null },
          evolve: (state) => state,
          decide: (_, { id }: ClaimCommand) => decide(decided.push(id)),
        } satisfies Decider<Claim, ClaimCommand, Fact>,
        hashed,
      }),
    ],
  })
  const { send } = await caller('order')
  const tables = platform.views.db.$extendTables<Record<'unfinished_streams', { stream: string }>>()
  return {
    decided,
    start: () => run([bind(receiver, {}), bind(sender, {})], { ...platform, clock }),
    claim: () => send(command('outpoint', 'x', { type: 'ClaimOutpoint', data: { orderId: ORDER, attempt: 1 } }), 'c1'),
    isOpen: async () => (await tables.selectFrom('unfinished_streams').select('stream').execute()).length > 0,
  }
}

test('a stream ends when a fact of the receiver shows that its command was handled', async () => {
  const { start, claim, isOpen, decided } = await startPair(() =>
    accept({ type: 'PayhashClaimed', v: 1, data: { orderId: ORDER } }),
  )
  const running = await start()
  await claim()
  await waitUntil('the command was handled', () => decided.length === 1)
  await waitUntil('the stream has ended', async () => !(await isOpen()))
  await running.close()
  assert.equal(decided.length, 1)
})

test('a stream ends when the receiver answers that nothing has to change', async () => {
  const { start, claim, isOpen, decided } = await startPair(() => accept())
  const running = await start()
  await claim()
  await waitUntil('the command was handled', () => decided.length === 1)
  await waitUntil('the stream has ended', async () => !(await isOpen()))
  await running.close()
})

test('a refused command was not handled: a restart sends it again, until it is accepted', async () => {
  const { start, claim, isOpen, decided } = await startPair((nth) => (nth === 1 ? refuse('EARLY', 'not yet') : accept()))
  const first = await start()
  await claim()
  await waitUntil('the command was refused', () => decided.length === 1)
  await first.close()
  assert.equal(await isOpen(), true)
  const second = await start()
  await waitUntil('the command was sent again', () => decided.length === 2)
  await waitUntil('the stream has ended', async () => !(await isOpen()))
  await second.close()
  assert.equal(new Set(decided).size, 1)
})
