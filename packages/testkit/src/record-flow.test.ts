import assert from 'node:assert/strict'
import { contractOf } from '@penstock/contracts/contracts.ts'
import { accept, type Decider } from '@penstock/kernel/decider.ts'
import type { Command, Fact } from '@penstock/kernel/message.ts'
import { command, commandStep, deadline, effect, type Process } from '@penstock/kernel/process.ts'
import {
  defineAggregate,
  defineEffect,
  defineService,
  type EffectContext,
  type ServiceContext,
} from '@penstock/runtime/service.ts'
import { test } from 'vitest'
import { listDeclaredLinks, recordFlow } from './record-flow.ts'

type Ports = { readonly lightning: { readonly peers: { readonly connect: () => Promise<null> } } }
const ports: Ports = { lightning: { peers: { connect: () => Promise.resolve(null) } } }

/** The state counts the facts of a stream. */
const counting: Decider<number, Command<'ClaimPayhash'>, Fact<'PayhashClaimed' | 'PayhashRefused'>> = {
  initial: 0,
  evolve: (count) => count + 1,
  decide: () => accept({ type: 'PayhashClaimed', v: 1, data: {} }, { type: 'PayhashRefused', v: 1, data: {} }),
}
const claim = { type: 'ClaimPayhash', data: {} } as const
const process: Process<number, Command<'ClaimPayhash'>, 'reach'> = (count) => [
  ...(count === 1 ? [effect('reach' as const)] : []),
  ...(count >= 1 ? [commandStep('place', command('order', 'o', { type: 'PlaceOrder', data: {} }))] : []),
  ...(count >= 2 ? [deadline('claim', { at: 1 }, claim)] : []),
]
const reach = async (_: number, context: EffectContext<Ports>) => {
  await context.ports.lightning.peers.connect()
  return claim
}
const payhash = { category: 'payhash', id: 'h', command: claim }

const service = defineService<Ports>('settlement', {
  aggregates: [
    defineAggregate({
      contract: contractOf('payhash'),
      decider: counting,
      hashed: { version: 1, projections: { 1: (state: number) => state } },
      process,
      effects: { reach: defineEffect({ calls: ['lightning.peers.connect'], outcomes: ['ClaimPayhash'], act: reach }) },
      follows: { PayhashClaimed: ['order.PlaceOrder'], PayhashRefused: ['ClaimPayhash'] },
    }),
  ],
  jobs: [{ name: 'guard', sends: ['payhash.ClaimPayhash'], run: async ({ decide }) => void (await decide(payhash, 'c')) }],
})

test('the links that a service follows are recorded, and are those that it declares', async () => {
  const links = new Set<string>()
  const { aggregates, jobs } = recordFlow(service, (link) => links.add(link))
  const [aggregate] = aggregates
  assert.ok(aggregate)
  aggregate.decider.decide(0, { ...claim, id: 'c', at: 0 })
  // The effect and the job use only these fields.
  await aggregate.effects?.['reach']?.act(0, { ports } as never)
  await jobs[0]?.run(
    { decide: () => Promise.resolve({ outcome: 'accepted', revision: 0 }) } as unknown as ServiceContext<Ports>,
    new AbortController().signal,
  )
  assert.deepEqual(
    links,
    new Set([
      'payhash.ClaimPayhash > PayhashClaimed',
      'payhash.ClaimPayhash > PayhashRefused',
      // The last state requests no effect any more, so no fact of this append starts it.
      'payhash.PayhashClaimed > order.PlaceOrder',
      'payhash.PayhashRefused > ClaimPayhash',
      'effect payhash.reach > lightning.peers.connect',
      'effect payhash.reach > ClaimPayhash',
      'job settlement.guard > payhash.ClaimPayhash',
    ]),
  )
  assert.deepEqual(links, new Set(listDeclaredLinks(service)))
})
