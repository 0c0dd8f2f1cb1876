import { paymentHashOf } from '@penstock/bitcoin/hex.ts'
import { Fault } from '@penstock/kernel/result.ts'
import { OpenRefused } from '@penstock/ports/lightning.ts'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { NODE_BEHAVIOURS } from './nodes.ts'
import { openTemporaryNetwork } from './temporary-network.ts'
import type { Simnet } from './simnet.ts'

const NOW = 1_790_000_000_000
const BTC = 100_000_000n
/** A clock whose sleeps end at once, so that calls to an offline node return at once. */
const clock = { now: () => NOW, monotonicMs: () => NOW, sleep: async () => {} }
const nodes = (['market', 'buyer', 'seller', 'spare'] as const).map((role) => ({ alias: role, role, walletSat: BTC }))

const alias = fc.constantFrom(...nodes.map((node) => node.alias))
const index = fc.nat(20)
const operation = fc.oneof(
  fc.record({ do: fc.constant('pay' as const), from: alias, to: alias, sats: fc.bigInt({ min: 1n, max: 3n * BTC }) }),
  fc.record({
    do: fc.constant('hold' as const),
    from: alias,
    to: alias,
    sats: fc.bigInt({ min: 1n, max: BTC }),
    /** The paid part of the amount. */
    percent: fc.integer({ min: 90, max: 210 }),
    parts: fc.integer({ min: 1, max: 2 }),
  }),
  fc.record({
    do: fc.constantFrom(
      'settle' as const,
      'cancel' as const,
      'abandon' as const,
      'publish' as const,
      'close' as const,
      'double-spend' as const,
      'bump' as const,
    ),
    index,
  }),
  fc.record({
    do: fc.constant('prepare' as const),
    from: alias,
    to: alias,
    sats: fc.bigInt({ min: 0n, max: BTC }),
    isPrivate: fc.boolean(),
  }),
  fc.record({ do: fc.constant('mine' as const), count: fc.integer({ min: 1, max: 8 }) }),
  fc.record({ do: fc.constant('reorg' as const), count: fc.integer({ min: 1, max: 8 }), remine: fc.boolean() }),
  fc.record({ do: fc.constant('mine' as const), count: fc.integer({ min: 100, max: 170 }) }),
  fc.record({
    do: fc.constant('behave' as const),
    from: alias,
    how: fc.constantFrom(...NODE_BEHAVIOURS.filter((how) => how !== 'silent' && how !== 'slow')),
  }),
  fc.record({ do: fc.constant('online' as const), from: alias, online: fc.boolean() }),
)
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never
type Memory = {
  readonly holds: { node: string; preimage: string }[]
  readonly fundings: { node: string; outpoint: string; handle: string }[]
}

async function perform(simnet: Simnet, memory: Memory, op: Operation, step: number): Promise<void> {
  const { control } = simnet
  const pubkey = (name: string): string => control.nodes().find((node) => node.alias === name)?.pubkey ?? ''
  switch (op.do) {
    case 'pay':
      return void control.pay(op.from, control.invoice(op.to, op.sats, 3600).invoice)
    case 'hold': {
      const preimage = step.toString(16).padStart(64, '0')
      const amountMsat = op.sats * 1000n
      const { request } = await simnet
        .lightning(op.to)
        .holds.create({ paymentHash: paymentHashOf(preimage), amountMsat, cltvDelta: 144, expirySeconds: 3600, description: '' })
      memory.holds.push({ node: op.to, preimage })
      const totalMsat = (amountMsat * BigInt(op.percent)) / 100n
      // The second part may never arrive, or only after the first was cancelled.
      return void control.pay(op.from, request, { amountMsat: totalMsat / BigInt(op.parts), totalMsat })
    }
    case 'prepare':
      await simnet.lightning(op.from).peers.connect(pubkey(op.to), `${op.to}.sim:9735`)
      return void memory.fundings.push({
        node: op.from,
        ...(await simnet
          .lightning(op.from)
          .channels.prepare({ peer: pubkey(op.to), capacitySat: op.sats, isPrivate: op.isPrivate, feeRateSatPerVbyte: 3 })),
      })
    case 'mine':
      return void control.mine(op.count)
    case 'reorg':
      return void control.reorg(op.count, op)
    case 'behave':
      return control.behave(op.from, op.how)
    case 'online':
      return control.setOnline(op.from, op.online)
    default:
      return performOnEarlier(simnet, memory, op)
  }
}

/** Acts on the result of an earlier operation, if there is one. */
async function performOnEarlier(
  { control, lightning }: Simnet,
  { holds, fundings }: Memory,
  op: Extract<Operation, { index: number }>,
): Promise<void> {
  const hold = holds[op.index % Math.max(1, holds.length)]
  const funding = fundings[op.index % Math.max(1, fundings.length)]
  if (op.do === 'settle') return void (hold && (await lightning(hold.node).holds.settle(hold.preimage)))
  if (op.do === 'cancel') return void (hold && (await lightning(hold.node).holds.cancel(paymentHashOf(hold.preimage))))
  if (!funding) return
  switch (op.do) {
    case 'publish':
      return lightning(funding.node).channels.publish(funding)
    case 'abandon':
      return void (await lightning(funding.node).channels.abandon(funding))
    case 'bump':
      return lightning(funding.node).channels.bumpFee(funding.outpoint, 10, 100)
    case 'double-spend':
      return void control.doubleSpend(funding.outpoint.split(':')[0] ?? '')
    case 'close':
      return void control.close(funding.outpoint, { force: true })
  }
}

/** Errors that an operation may cause; any other error is a defect of the simulated network. */
const isExpected = (error: unknown): boolean =>
  error instanceof OpenRefused ||
  error instanceof Fault ||
  error instanceof RangeError ||
  (error instanceof Error && /no open channel|payments are under way|no wallet's payment/.test(error.message))

test('no sequence of operations creates or loses a satoshi or makes a balance negative', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { minLength: 30, maxLength: 100 }), async (operations) => {
      const network = openTemporaryNetwork({
        clock,
        nodes,
        topology: [
          { from: 'buyer', to: 'market', capacitySat: 2n * BTC },
          { from: 'market', to: 'seller', capacitySat: BTC },
        ],
      })
      try {
        const total = network.simnet().control.balances().totalMsat
        const memory: Memory = { holds: [], fundings: [] }
        for (const [step, op] of operations.entries()) {
          await perform(network.simnet(), memory, op, step).catch((error: unknown) => {
            if (!isExpected(error)) throw error
          })
          const { totalMsat, nodes: parts, inFlightMsat } = network.simnet().control.balances()
          expect(totalMsat).toBe(total)
          for (const { onChainMsat, channelMsat } of [...parts, { onChainMsat: inFlightMsat, channelMsat: 0n }])
            expect(onChainMsat >= 0n && channelMsat >= 0n).toBe(true)
        }
        await network.reopen()
        expect(network.simnet().control.balances().totalMsat).toBe(total)
      } finally {
        await network.drop()
      }
    }),
    { numRuns: 30 },
  )
}, 240_000)
