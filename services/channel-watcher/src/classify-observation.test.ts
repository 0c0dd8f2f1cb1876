import { parseEvidence } from '@penstock/channel-proof/parse-evidence.ts'
import { judgeChannel } from '@penstock/channel-proof/judge.ts'
import type { ChannelFact } from '@penstock/contracts/channel.ts'
import type { EvidenceData } from '@penstock/contracts/settlement.ts'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { channelDecider, type EnrichedChannelCommand } from './channel.decide.ts'
import type { WatchedChannel } from './channel.ts'

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

/** A chain with three transactions: the funding, its double-spend (`RIVAL`), and the spend of the channel's output. */
type ChainModel = { blocks: { txs: string[]; salt: number }[]; mempool: string[] }
const RIVAL = 'rival'
const BASE = 90

const tipOf = (chain: ChainModel) => BASE + chain.blocks.length - 1
const blockOf = (chain: ChainModel, tx: string): number | null => {
  const index = chain.blocks.findIndex(({ txs }) => txs.includes(tx))
  return index < 0 ? null : BASE + index
}
const isKnown = (chain: ChainModel, tx: string) => chain.mempool.includes(tx) || blockOf(chain, tx) !== null

const chainMoves = {
  publish: (chain: ChainModel) => {
    if (!isKnown(chain, FUNDING) && !isKnown(chain, RIVAL)) chain.mempool.push(FUNDING)
  },
  /** Replaces the funding in the mempool; a funding in a block stays. */
  doubleSpend: (chain: ChainModel) => {
    if (blockOf(chain, FUNDING) !== null || isKnown(chain, RIVAL)) return
    chain.mempool = [RIVAL]
  },
  close: (chain: ChainModel) => {
    if (isKnown(chain, FUNDING) && !isKnown(chain, CLOSE)) chain.mempool.push(CLOSE)
  },
  drop: (chain: ChainModel) => {
    chain.mempool = chain.mempool.filter((tx) => tx === RIVAL)
  },
  mine: (chain: ChainModel, n: number) => {
    chain.blocks.push({ txs: chain.mempool, salt: n })
    chain.mempool = []
  },
  mineEmpty: (chain: ChainModel, n: number) => {
    for (let i = 0; i <= n % 3; i++) chain.blocks.push({ txs: [], salt: n })
  },
  reorganise: (chain: ChainModel, n: number) => {
    const dropped = chain.blocks.splice(Math.max(1, chain.blocks.length - 1 - (n % (n > 40 ? 12 : 3))))
    chain.mempool.unshift(...dropped.flatMap(({ txs }) => txs))
  },
}

function evidenceOf(chain: ChainModel, n: number): EvidenceData {
  const height = blockOf(chain, FUNDING)
  const tipHeight = tipOf(chain)
  const closedAt = blockOf(chain, CLOSE)
  const isAnnounced = height !== null && tipHeight - height >= 5 && closedAt === null
  const block = height === null ? undefined : chain.blocks[height - BASE]
  return {
    tipHeight,
    output: isKnown(chain, FUNDING)
      ? {
          outpoint,
          valueSat: '1000000',
          script: `0020${'ab'.repeat(32)}`,
          height,
          txIndex: block ? block.salt % 3 : null,
          spentBy: isKnown(chain, CLOSE) ? { txid: CLOSE, height: closedAt } : null,
        }
      : null,
    attestation: null,
    attestationSigner: null,
    graph: isAnnounced ? { capacitySat: '1000000', nodes: [seller, buyer], shortChannelId: '1x1x1' } : null,
    otherChannelsBetween: n % 5 === 0,
    probe: n % 2 ? 'reached' : 'not-reached',
  }
}

type Command = EnrichedChannelCommand extends infer C
  ? C extends { type: infer T; data: infer D }
    ? { type: T; data: D }
    : never
  : never
type Run = { state: WatchedChannel; facts: ChannelFact[] }

/** Decides a command, and expects its repetition to add no fact. A refused command adds none either. */
function carryOut(run: Run, command: Command): ChannelFact[] {
  const decide = (state: WatchedChannel) => {
    const decision = channelDecider.decide(state, { id: 'c', at: 0, ...command })
    if ('refused' in decision) expect(command.type).toBe('KeepAttestation')
    return 'refused' in decision ? [] : decision.facts
  }
  const added = decide(run.state)
  run.state = added.reduce(channelDecider.evolve, run.state)
  run.facts.push(...added)
  expect(decide(run.state)).toEqual([])
  return [...added]
}

const observing = (evidence: EvidenceData): Command => ({ type: 'Observe', data: { outpoint, evidence, seesMempool: true } })

/** Expects the state after an observation to agree with the chain. */
function expectAgreement({ state }: Run, evidence: EvidenceData, added: readonly ChannelFact[]): void {
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
      expect(output?.height).toBe(state.location.height)
      expect(state.confirmations).toBe(Math.min(6, tipHeight - state.location.height + 1))
      if (state.status === 'CONFIRMED') expect(state.confirmations).toBeLessThan(3)
      break
    case 'LEASED':
      expect(output?.height ?? null).toBe(state.location?.height ?? null)
      expect(tipHeight < state.endsAtHeight || state.location === null).toBe(true)
      break
    default:
      break
  }
  const verdict = judgeChannel({ ...terms, capacitySat: 1_000_000n }, parseEvidence(evidence), { lastHeight: false })
  for (const fact of added) {
    if (fact.type === 'FundingLost') expect(output?.height ?? null).toBeNull()
    if (fact.type === 'ChannelInvalid') expect(verdict.verdict).toBe(fact.data.code === 'spent' ? 'spent' : 'wrong')
    if (fact.type === 'LeaseEnded' && fact.data.early)
      expect(output === null || output.height === null || output.spentBy !== null).toBe(true)
  }
}

const weighted = (...moves: readonly (readonly [number, string])[]) =>
  fc.record({
    move: fc.oneof(...moves.map(([weight, move]) => ({ weight: weight * 10, arbitrary: fc.constant(move) }))),
    n: fc.nat(50),
  })
// After a stop, a lease or a close few transitions are possible, so these moves have a low weight.
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

function command(move: string, n: number, chain: ChainModel, observed: readonly EvidenceData[]): Command {
  const height = tipOf(chain)
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
          outpointNumber: 1,
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
          outpointNumber: n % 3,
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
        data: { outpoint, evidence: observed[n % Math.max(1, observed.length)] ?? evidenceOf(chain, n) },
      }
    case 'stale':
      return observing(observed[n % Math.max(1, observed.length)] ?? evidenceOf(chain, n))
    default:
      return observing(evidenceOf(chain, n))
  }
}

function runMoves(steps: readonly { readonly move: string; readonly n: number }[]): { chain: ChainModel; run: Run } {
  const chain: ChainModel = { blocks: Array.from({ length: 11 }, (_, salt) => ({ txs: [], salt })), mempool: [] }
  const run: Run = { state: channelDecider.initial, facts: [] }
  const observed: EvidenceData[] = []
  carryOut(run, command('watch', 0, chain, observed))
  for (const { move, n } of steps) {
    if (move in chainMoves) {
      chainMoves[move as keyof typeof chainMoves](chain, n) // the line before checks that it is one of its keys
      continue
    }
    const evidence = evidenceOf(chain, n)
    const added = carryOut(run, command(move, n, chain, observed))
    if (move === 'look') expectAgreement(run, evidence, added)
    observed.push(evidence)
  }
  return { chain, run }
}

/** Mines until no change is possible, even past the end of a lease that began before a deep re-organisation. */
function runToEnd({ chain, run }: { chain: ChainModel; run: Run }): void {
  const leaseEnd = 'endsAtHeight' in run.state ? run.state.endsAtHeight : 0
  for (let block = 0; block < 40 || tipOf(chain) <= leaseEnd; block++) {
    chainMoves.mine(chain, block)
    const evidence = evidenceOf(chain, 1)
    expectAgreement(run, evidence, carryOut(run, observing(evidence)))
  }
}

test('after every observation of a random chain, the state agrees with the chain and no fact repeats', () => {
  fc.assert(
    fc.property(steps, (moves) => {
      const { chain, run } = runMoves(moves)
      runToEnd({ chain, run })
      // Every watch ends, except that of a confirmed channel that is not closed.
      const isThere = blockOf(chain, FUNDING) !== null && blockOf(chain, CLOSE) === null
      expect([...(isThere ? ['REACHED'] : []), 'LOST', 'WRONG', 'STOPPED', 'ENDED']).toContain(run.state.status)
    }),
    { numRuns: 1500 },
  )
})

test('a channel that confirms in time and stays is never lost or invalid', () => {
  const harmless = weighted([1, 'publish'], [1, 'mine'], [1, 'look'])
  fc.assert(
    fc.property(fc.array(harmless, { maxLength: 30 }), (noise) => {
      const { chain, run } = runMoves([{ move: 'publish', n: 0 }, { move: 'mine', n: 1 }, ...noise])
      runToEnd({ chain, run })
      expect(run.state.status).toBe('REACHED')
      expect(run.facts.filter(({ type }) => type === 'ConfirmationsReached')).toHaveLength(1)
      expect(run.facts.filter(({ type }) => type === 'ChannelProven')).toHaveLength(1)
    }),
    { numRuns: 200 },
  )
})
