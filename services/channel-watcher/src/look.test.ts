import { judge } from '@penstock/bitcoin/channel-proof.ts'
import type { ChannelFact } from '@penstock/contracts/channel.ts'
import type { EvidenceData } from '@penstock/contracts/settlement.ts'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { channelDecider, type ChannelDecided } from './channel.decide.ts'
import type { Channel } from './channel.ts'
import { toEvidence } from './evidence.ts'

const FUNDING = 'aa'.repeat(32)
const CLOSE = 'cc'.repeat(32)
const outpoint = `${FUNDING}:1`
const [seller, buyer] = [`02${'11'.repeat(32)}`, `03${'22'.repeat(32)}`]
const HELD_AT = 93
const terms = {
  sellerPubkey: seller,
  buyerPubkey: buyer,
  capacitySat: '1000000',
  isPrivate: false,
  rails: true,
  heldAtHeight: HELD_AT,
  requiredConfirmations: 3,
}

/** A chain in which three transactions matter: the funding, one that takes its inputs, and one that spends the channel. */
type World = { blocks: { txs: string[]; salt: number }[]; mempool: string[] }
const RIVAL = 'rival'
const BASE = 90

const tipOf = (world: World) => BASE + world.blocks.length - 1
const blockOf = (world: World, tx: string): number | null => {
  const index = world.blocks.findIndex(({ txs }) => txs.includes(tx))
  return index < 0 ? null : BASE + index
}
const isKnown = (world: World, tx: string) => world.mempool.includes(tx) || blockOf(world, tx) !== null

const chainMoves = {
  publish: (world: World) => {
    if (!isKnown(world, FUNDING) && !isKnown(world, RIVAL)) world.mempool.push(FUNDING)
  },
  /** Replaces the funding in the mempool; one that is in a block stays. */
  doubleSpend: (world: World) => {
    if (blockOf(world, FUNDING) !== null || isKnown(world, RIVAL)) return
    world.mempool = [RIVAL]
  },
  close: (world: World) => {
    if (isKnown(world, FUNDING) && !isKnown(world, CLOSE)) world.mempool.push(CLOSE)
  },
  drop: (world: World) => {
    world.mempool = world.mempool.filter((tx) => tx === RIVAL)
  },
  mine: (world: World, n: number) => {
    world.blocks.push({ txs: world.mempool, salt: n })
    world.mempool = []
  },
  mineEmpty: (world: World, n: number) => {
    for (let i = 0; i <= n % 3; i++) world.blocks.push({ txs: [], salt: n })
  },
  reorganise: (world: World, n: number) => {
    const dropped = world.blocks.splice(Math.max(1, world.blocks.length - 1 - (n % (n > 40 ? 12 : 3))))
    world.mempool.unshift(...dropped.flatMap(({ txs }) => txs))
  },
}

function evidenceOf(world: World, n: number): EvidenceData {
  const height = blockOf(world, FUNDING)
  const tipHeight = tipOf(world)
  const closedAt = blockOf(world, CLOSE)
  const isAnnounced = height !== null && tipHeight - height >= 5 && closedAt === null
  const block = height === null ? undefined : world.blocks[height - BASE]
  return {
    tipHeight,
    output: isKnown(world, FUNDING)
      ? {
          outpoint,
          valueSat: '1000000',
          script: `0020${'ab'.repeat(32)}`,
          height,
          txIndex: block ? block.salt % 3 : null,
          spentBy: isKnown(world, CLOSE) ? { txid: CLOSE, height: closedAt } : null,
        }
      : null,
    attestation: null,
    attestationSigner: null,
    graph: isAnnounced ? { capacitySat: '1000000', nodes: [seller, buyer], shortChannelId: '1x1x1' } : null,
    otherChannelsBetween: n % 5 === 0,
    probe: n % 2 ? 'reached' : 'not-reached',
  }
}

type Command = ChannelDecided extends infer C
  ? C extends { type: infer T; data: infer D }
    ? { type: T; data: D }
    : never
  : never
type Run = { state: Channel; facts: ChannelFact[] }

/** Decides, and then decides the same once more: it must add nothing. */
function carryOut(run: Run, command: Command): ChannelFact[] {
  const decide = (state: Channel) => {
    const decision = channelDecider.decide(state, { id: 'c', at: 0, ...command })
    if ('refused' in decision) throw new Error(decision.refused.message)
    return decision.facts
  }
  const added = decide(run.state)
  run.state = added.reduce(channelDecider.evolve, run.state)
  run.facts.push(...added)
  expect(decide(run.state)).toEqual([])
  return [...added]
}

const observing = (evidence: EvidenceData): Command => ({ type: 'Observe', data: { outpoint, evidence, seesMempool: true } })

/** After a look, a state says of the chain what the chain shows. */
function agrees({ state }: Run, evidence: EvidenceData, added: readonly ChannelFact[]): void {
  const { output, tipHeight } = evidence
  switch (state.status) {
    case 'WATCHING':
      expect(output).toBeNull()
      expect(tipHeight).toBeLessThan(state.seenBefore)
      break
    case 'MISSING':
      expect(output).toBeNull()
      break
    case 'SEEN':
      expect(output).toMatchObject({ height: null })
      expect(state.wasConfirmed || tipHeight < state.confirmedBefore).toBe(true)
      break
    case 'CONFIRMED':
    case 'REACHED':
      expect(output?.height).toBe(state.place.height)
      expect(state.confirmations).toBe(Math.min(6, tipHeight - state.place.height + 1))
      if (state.status === 'CONFIRMED') expect(state.confirmations).toBeLessThan(3)
      break
    case 'LEASED':
      expect(output?.height ?? null).toBe(state.place?.height ?? null)
      expect(tipHeight < state.endsAtHeight || state.place === null).toBe(true)
      break
    default:
      break
  }
  const verdict = judge({ ...terms, capacitySat: 1_000_000n }, toEvidence(evidence), { lastHeight: false })
  for (const fact of added) {
    if (fact.type === 'FundingLost') expect(output?.height ?? null).toBeNull()
    if (fact.type === 'ChannelWrong') expect(verdict.verdict).toBe(fact.data.code === 'spent' ? 'spent' : 'wrong')
    if (fact.type === 'LeaseEnded' && fact.data.early)
      expect(output === null || output.height === null || output.spentBy !== null).toBe(true)
  }
}

const weighted = (...moves: readonly (readonly [number, string])[]) =>
  fc.record({
    move: fc.oneof(...moves.map(([weight, move]) => ({ weight: weight * 10, arbitrary: fc.constant(move) }))),
    n: fc.nat(50),
  })
// Stops, leases and closes end the interesting part, so they are rare.
const step = weighted(
  [3, 'publish'],
  [10, 'mine'],
  [3, 'mineEmpty'],
  [6, 'reorganise'],
  [1, 'doubleSpend'],
  [1, 'drop'],
  [1, 'close'],
  [16, 'look'],
  [2, 'notice'],
  [2, 'watch'],
  [1, 'stale'],
  [1, 'attest'],
  [1, 'lease'],
  [0.3, 'stop'],
)
const steps = fc.array(step, { minLength: 10, maxLength: 80, size: 'max' })

function command(move: string, n: number, world: World, looked: readonly EvidenceData[]): Command {
  const height = tipOf(world)
  switch (move) {
    case 'watch':
      return {
        type: 'WatchOutpoint',
        data: {
          attempt: 1,
          outpoint,
          terms,
          attestation: null,
          fundingSeenBlocks: 6,
          fundingConfirmsWithinBlocks: 8,
          leaseBlocks: 20,
          naming: 1,
          height,
          seesMempool: true,
        },
      }
    case 'lease':
      return { type: 'StartLease', data: { outpoint, height } }
    case 'stop':
      return { type: 'StopWatch', data: { reason: 'The order is closed.' } }
    case 'attest':
      return {
        type: 'KeepAttestation',
        data: {
          outpoint,
          naming: n % 3,
          attestation: {
            outpoint,
            capacitySat: '1000000',
            nodeKeys: [seller, buyer],
            channelType: `${n}`,
            pushSat: '0',
            reserveSat: '0',
            signature: 's',
          },
        },
      }
    case 'notice':
      return {
        type: 'NoticeFunding',
        data: { outpoint, evidence: looked[n % Math.max(1, looked.length)] ?? evidenceOf(world, n) },
      }
    case 'stale':
      return observing(looked[n % Math.max(1, looked.length)] ?? evidenceOf(world, n))
    default:
      return observing(evidenceOf(world, n))
  }
}

function walk(steps: readonly { readonly move: string; readonly n: number }[]): { world: World; run: Run } {
  const world: World = { blocks: Array.from({ length: 11 }, (_, salt) => ({ txs: [], salt })), mempool: [] }
  const run: Run = { state: channelDecider.initial, facts: [] }
  const looked: EvidenceData[] = []
  carryOut(run, command('watch', 0, world, looked))
  for (const { move, n } of steps) {
    if (move in chainMoves) {
      chainMoves[move as keyof typeof chainMoves](world, n) // it is one of its keys: asked the line before
      continue
    }
    const evidence = evidenceOf(world, n)
    const added = carryOut(run, command(move, n, world, looked))
    if (move === 'look') agrees(run, evidence, added)
    looked.push(evidence)
  }
  return { world, run }
}

/** Blocks come until nothing more can change: past the end of a lease too that began before a deep re-organisation. */
function rest({ world, run }: { world: World; run: Run }): void {
  const leaseEnd = 'endsAtHeight' in run.state ? run.state.endsAtHeight : 0
  for (let block = 0; block < 40 || tipOf(world) <= leaseEnd; block++) {
    chainMoves.mine(world, block)
    const evidence = evidenceOf(world, 1)
    agrees(run, evidence, carryOut(run, observing(evidence)))
  }
}

test('whatever the chain does, every look folds, adds nothing twice, and says what is there', () => {
  fc.assert(
    fc.property(steps, (moves) => {
      const { world, run } = walk(moves)
      rest({ world, run })
      // Nothing waits for ever: only a channel in its block that nobody closed may still be watched.
      const isThere = blockOf(world, FUNDING) !== null && blockOf(world, CLOSE) === null
      expect([...(isThere ? ['REACHED'] : []), 'LOST', 'WRONG', 'STOPPED', 'ENDED']).toContain(run.state.status)
    }),
    { numRuns: 1500 },
  )
})

test('a channel that confirms in time and stays is never called lost or wrong', () => {
  const harmless = weighted([1, 'publish'], [1, 'mine'], [1, 'look'])
  fc.assert(
    fc.property(fc.array(harmless, { maxLength: 30 }), (noise) => {
      const { world, run } = walk([{ move: 'publish', n: 0 }, { move: 'mine', n: 1 }, ...noise])
      rest({ world, run })
      expect(run.state.status).toBe('REACHED')
      expect(run.facts.filter(({ type }) => type === 'ConfirmationsReached')).toHaveLength(1)
      expect(run.facts.filter(({ type }) => type === 'ChannelProven')).toHaveLength(1)
    }),
    { numRuns: 200 },
  )
})
